"""Recognition answers for any data: mutated manifests, unknown values anywhere, arbitrary text as script and arguments."""

import copy
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from interlock.cli.reading import load_text
from interlock.infra.engine.arguments import read_arguments
from interlock.infra.engine.words import Word
from interlock.infra.facts import Bundle, Fact
from interlock.infra.recognise import UNKNOWN, Document, recognise
from interlock.infra.recognise.shell import Shell
from interlock.infra.rules.judge import judge
from tests.support import TODAY

MANIFESTS = Path(__file__).parents[1] / "data" / "manifests"
LAW = settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
ODD = st.sampled_from(
    [
        None,
        UNKNOWN,
        [],
        {},
        "",
        "x",
        0,
        -1,
        1.5,
        True,
        "{{ x }}",
        "${X}",
        "$(Y)",
        [None],
        {"a": None},
        float("nan"),
        10**50,
        "\0",
        "9" * 400,
    ]
)


def _documents() -> list[Any]:
    found: list[Any] = []
    for path in sorted(MANIFESTS.glob("*.yaml")):
        found.extend(yaml.safe_load_all(path.read_text()))
    return [document for document in found if document]


DOCUMENTS = _documents()


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Every (container, key) pair of a structure."""
    children = list(value.items()) if isinstance(value, dict) else list(enumerate(value)) if isinstance(value, list) else []
    found = [(value, key) for key, _ in children]
    for _, child in children:
        found.extend(_places(child))
    return found


@st.composite
def mutated(draw: st.DrawFn) -> Any:
    document = copy.deepcopy(draw(st.sampled_from(DOCUMENTS)))
    for _ in range(draw(st.integers(1, 4))):
        places = _places(document)
        if not places:
            break
        parent, key = places[draw(st.integers(0, len(places) - 1))]
        action = draw(st.integers(0, 3))
        if action == 0:
            del parent[key]
        elif action == 1:
            parent[key] = [parent[key], copy.deepcopy(parent[key])]
        else:
            parent[key] = copy.deepcopy(draw(ODD))
    return document


def _bundle(documents: list[Any]) -> Bundle:
    return recognise([Document(data, "x", index) for index, data in enumerate(documents)], parse=load_text)


@LAW
@given(st.lists(mutated(), min_size=1, max_size=3))
def test_no_mutation_of_a_manifest_makes_recognition_or_the_rules_raise(documents: list[Any]) -> None:
    judge(_bundle(documents), today=TODAY)


@LAW
@given(st.recursive(ODD, lambda children: st.lists(children) | st.dictionaries(st.sampled_from(["kind", "spec", "items", "a"]), children)))
def test_any_data_at_all_is_answered(data: Any) -> None:
    assert isinstance(_bundle([data]), Bundle)


@LAW
@given(st.text(alphabet="ab $\"'`\\(){}[]<>|&;#=\n\t-vllmserve", max_size=200))
def test_any_text_can_be_read_as_a_script(text: str) -> None:
    for command in Shell(text, lambda name: Fact()).read():
        assert command.words


@LAW
@given(st.lists(st.text(alphabet='-=_.tpmodel{}" 019', max_size=20), max_size=12))
def test_any_list_of_words_can_be_read_as_arguments(words: list[str]) -> None:
    read = read_arguments([Word(word, path=f"args[{index}]") for index, word in enumerate(words)])
    assert all(flag.path.startswith("args[") for flag in read.flags)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: str(document.get("kind", "Values")))
def test_everything_unknown_below_the_top_is_tolerated(document: Any) -> None:
    judge(_bundle([{key: value if key in ("kind", "apiVersion") else UNKNOWN for key, value in document.items()}]), today=TODAY)


def _wrap(value: Any) -> Any:
    """Every scalar but the names replaced by the sentinel."""
    if isinstance(value, dict):
        return {key: inner if key in ("kind", "apiVersion", "name") else _wrap(inner) for key, inner in value.items()}
    return [_wrap(inner) for inner in value] if isinstance(value, list) else UNKNOWN


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: str(document.get("kind", "Values")))
def test_unknown_scalars_everywhere_yield_no_error_finding(document: Any) -> None:
    errors = [finding for finding in judge(_bundle([_wrap(document)]), today=TODAY) if finding.severity == "error"]
    assert errors == []
