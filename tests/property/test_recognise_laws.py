"""Laws of recognition: what changes nothing for Kubernetes changes no finding, and any text is read in bounded time."""

import json
import random
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from interlock.cli.reading import load_text
from interlock.cli.reading.marked import read_stream
from interlock.infra.recognise import Document, recognise
from interlock.infra.rules.judge import judge
from tests.support import TODAY

MANIFESTS = Path(__file__).parents[1] / "data" / "manifests"
LAW = settings(max_examples=15, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
NAMES = sorted(path.stem for path in MANIFESTS.glob("*.yaml"))
TEXTS = {name: (MANIFESTS / f"{name}.yaml").read_text() for name in NAMES}


def codes(documents: list[Any]) -> list[tuple[str, str, str]]:
    """Code, object and severity of every finding; paths of reordered lists differ, so they are left out."""
    found = judge(recognise([Document(data, "x", index) for index, data in enumerate(documents)], parse=load_text), today=TODAY)
    return sorted((finding.code, finding.subject.name, finding.severity.value) for finding in found)


def load(name: str) -> list[Any]:
    return [data for data in yaml.safe_load_all(TEXTS[name]) if data is not None]


@cache
def expected(name: str) -> list[tuple[str, str, str]]:
    """The findings of a manifest as it stands."""
    return codes(load(name))


def shuffled(value: Any, order: random.Random) -> Any:
    """The same value with the keys of every mapping in another order."""
    if isinstance(value, dict):
        keys = list(value)
        order.shuffle(keys)
        return {key: shuffled(value[key], order) for key in keys}
    return [shuffled(item, order) for item in value] if isinstance(value, list) else value


@LAW
@given(st.sampled_from(NAMES), st.randoms(use_true_random=False))
def test_the_order_of_keys_and_of_documents_changes_no_finding(name: str, order: random.Random) -> None:
    documents = [shuffled(document, order) for document in load(name)]
    order.shuffle(documents)
    assert codes(documents) == expected(name)


@LAW
@given(st.sampled_from(NAMES))
def test_json_says_the_same_as_yaml(name: str) -> None:
    assert codes([json.loads(json.dumps(document)) for document in load(name)]) == expected(name)


FORMS = st.sampled_from(["--{0}={1}", "--{0}|{1}", "--{2}={1}", "--{2}|{1}"])
FLAGS = [("tensor-parallel-size", "2"), ("max-model-len", "8192"), ("gpu-memory-utilization", "0.9"), ("served-model-name", "chat")]


@LAW
@given(st.lists(FORMS, min_size=4, max_size=4), st.randoms(use_true_random=False), st.booleans())
def test_every_way_to_write_the_same_arguments_means_the_same(forms: list[str], order: random.Random, shell: bool) -> None:
    pairs = list(zip(FLAGS, forms, strict=True))
    order.shuffle(pairs)
    words = [word for (name, value), form in pairs for word in form.format(name, value, name.replace("-", "_")).split("|")]
    container = {"name": "c", "image": "vllm/vllm-openai:v0.11.0", "args": ["--model=m", *words]}
    if shell:
        container |= {"command": ["sh", "-c"], "args": ["exec vllm serve m " + " \\\n  ".join(words)]}
    (workload,) = recognise([Document({"kind": "Pod", "spec": {"containers": [container]}})]).workloads
    engine = workload.engine
    assert {name: engine.flag(name).value for name, _ in FLAGS} == dict(FLAGS)
    assert (engine.model.value, engine.tensor_parallel.value, engine.problems, engine.complete) == ("m", 2, (), True)


LABELS = st.dictionaries(st.text("abc-", min_size=1, max_size=8), st.text("abc", max_size=8), max_size=4)


@LAW
@given(st.sampled_from(["deployment", "lws", "one-string"]), LABELS)
def test_labels_that_nobody_reads_change_no_finding(name: str, labels: dict[str, str]) -> None:
    documents = load(name)
    for document in documents:
        document.setdefault("metadata", {})["labels"] = {**labels, **document.get("metadata", {}).get("labels", {})}
    assert codes(documents) == expected(name)


YAML_LIKE = st.text(alphabet="ab:-[]{}&*!|>'\"#%@`?,<>= \n\t~0.\x01\ufeff", max_size=120)


@settings(LAW, max_examples=150)
@given(YAML_LIKE)
def test_any_text_is_read_as_yaml_or_refused_with_a_place(text: str) -> None:
    for document in read_stream(text):
        if document.error:
            assert document.error.line >= 1
            assert document.error.why


@settings(LAW, max_examples=15)
@given(st.sampled_from(NAMES), st.data())
def test_a_manifest_with_a_character_changed_is_read_or_refused(name: str, data: st.DataObject) -> None:
    text = TEXTS[name]
    at = data.draw(st.integers(0, len(text) - 1))
    changed = text[:at] + data.draw(st.sampled_from("\t:{}[]&*'\"\n-#\x00 ")) + text[at + 1 :]
    documents = [document.data for document in read_stream(changed) if not document.error]
    judge(recognise([Document(document, "x", index) for index, document in enumerate(documents)], parse=load_text), today=TODAY)
