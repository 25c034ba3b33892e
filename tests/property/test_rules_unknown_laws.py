"""Laws over the examples of every rule: what is not known is never an error; splitting, names and neighbours change nothing."""

import copy
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from interlock.cli.check.config import CheckConfig
from interlock.cli.check.run import check_reading
from interlock.cli.reading import load_text, read_paths
from interlock.infra.recognise import UNKNOWN, Document, recognise
from interlock.infra.rules.findings import Finding, Severity
from interlock.infra.rules.judge import judge
from tests.support import TODAY
from tools.findings.examples import Example, examples

LAW = settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
MANIFESTS = [each for each in examples().values() if each.form == "manifest" and each.code not in ("DOC-001", "DOC-003")]
Steps = tuple[str | int, ...]


def _documents(text: str) -> list[Any]:
    return [document for document in yaml.safe_load_all(text) if document]


def _judge(documents: list[Any]) -> tuple[Finding, ...]:
    return judge(recognise([Document(each, "a.yaml", index) for index, each in enumerate(documents)], parse=load_text), today=TODAY)


def _errors(findings: tuple[Finding, ...]) -> set[tuple[str, str]]:
    return {(each.code, each.fault) for each in findings if each.severity is Severity.ERROR}


@cache
def _before(code: str) -> frozenset[tuple[str, str]]:
    return frozenset(_errors(_judge(_documents(examples()[code].bad))))


def _nodes(value: Any, steps: Steps = ()) -> Iterator[Steps]:
    """Every value below a document, whole mappings and lists among them."""
    if steps and steps[-1] not in ("apiVersion", "kind"):
        yield steps
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _nodes(inner, (*steps, key))


def _set(document: Any, steps: Steps, value: Any) -> Any:
    made = copy.deepcopy(document)
    inner = made
    for step in steps[:-1]:
        inner = inner[step]
    inner[steps[-1]] = value
    return made


@LAW
@given(st.sampled_from(MANIFESTS), st.data())
def test_a_value_that_is_not_known_makes_no_error(example: Example, data: st.DataObject) -> None:
    documents = _documents(example.bad)
    index = data.draw(st.integers(0, len(documents) - 1))
    steps = data.draw(st.sampled_from(sorted(_nodes(documents[index]), key=str)))
    documents[index] = _set(documents[index], steps, UNKNOWN)
    assert _errors(_judge(documents)) - _before(example.code) == set(), steps


def _essence(findings: Any) -> set[tuple[str, str, str, str, str]]:
    return {(each.code, each.severity.value, each.subject.kind, each.subject.name, each.summary) for each in findings}


@LAW
@given(st.sampled_from([each for each in MANIFESTS if len(_documents(each.bad)) > 1]))
def test_documents_in_files_of_their_own_say_the_same(example: Example) -> None:
    documents = _documents(example.bad)
    with TemporaryDirectory() as folder:
        for index, document in enumerate(documents):
            (Path(folder) / f"{index}.yaml").write_text(yaml.safe_dump(document))
        result = check_reading(read_paths([folder]), CheckConfig(), today=TODAY)
    told = [located.finding for located in result.findings if not located.finding.code.startswith("CHECK-")]
    assert _essence(told) == _essence(_judge(documents))


def _renamed(value: Any, names: set[str]) -> Any:
    if isinstance(value, dict):
        return {key: _renamed(inner, names) for key, inner in value.items()}
    if isinstance(value, list):
        return [_renamed(inner, names) for inner in value]
    named = isinstance(value, str) and value.rpartition("=")[2] in names  # app=chat in the words of a router
    return f"{value}-of-ours" if named else value


@LAW
@given(st.sampled_from(MANIFESTS))
def test_other_names_change_no_finding(example: Example) -> None:
    documents = _documents(example.bad)
    # A Service called vllm is the fault itself.
    names = {each["metadata"]["name"] for each in documents if isinstance(each, dict) and each.get("metadata", {}).get("name")} - {"vllm"}
    names |= {each["metadata"]["namespace"] for each in documents if isinstance(each, dict) and each.get("metadata", {}).get("namespace")}
    codes = {(each.code, each.severity) for each in _judge(_renamed(documents, names))}
    assert codes == {(each.code, each.severity) for each in _judge(documents)}


NEIGHBOURS = [
    {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "robot", "namespace": "elsewhere"}},
    {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"args": ["--tensor-parallel-size=64"]}},
    {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "words", "namespace": "elsewhere"}, "data": {"a": "b"}},
    {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "elsewhere"},
        "spec": {
            "selector": {"matchLabels": {"app": "web"}},
            "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "web", "image": "nginx:1.29"}]}},
        },
    },
    {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "web", "namespace": "elsewhere"},
        "spec": {"selector": {"app": "web"}, "ports": [{"port": 80}]},
    },
]


@LAW
@given(st.sampled_from(MANIFESTS), st.lists(st.sampled_from(NEIGHBOURS), min_size=1, max_size=3))
def test_documents_of_others_change_no_finding(example: Example, others: list[Any]) -> None:
    documents = _documents(example.bad)
    assert _essence(_judge([*documents, *others])) == _essence(_judge(documents))
