"""Laws of the rules: what does not matter changes nothing, waivers hold until their day, and no bundle makes them raise."""

import copy
import datetime as dt
import random
from functools import cache
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from interlock.cli.reading import load_text
from interlock.infra.recognise import Document, recognise
from interlock.infra.rules.findings import Finding, Severity, Waiver
from interlock.infra.rules.judge import RULES, judge
from interlock.infra.rules.waivers import WAIVE, read_waivers
from tools.findings.examples import Example, examples

LAW = settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
MANIFESTS = [given for given in examples().values() if given.form == "manifest" and given.code not in ("DOC-001", "DOC-003")]
TODAY = dt.date(2026, 11, 29)


@cache
def _documents(example: Example) -> tuple[Any, ...]:
    return tuple(document for document in yaml.safe_load_all(example.bad) if document)


def _judge(documents: Any) -> tuple[Finding, ...]:
    return judge(recognise([Document(each, "a.yaml", index) for index, each in enumerate(documents)], parse=load_text), today=TODAY)


def _essence(findings: tuple[Finding, ...]) -> set[tuple[str, str, str, str]]:
    return {(each.code, each.severity.value, each.subject.kind, each.summary) for each in findings}


def _shuffled(value: Any, seed: int) -> Any:
    """Mappings in another order of keys; lists as they are, since their order means something."""
    if isinstance(value, dict):
        keys = list(value)
        random.Random(seed).shuffle(keys)
        return {key: _shuffled(value[key], seed + 1) for key in keys}
    return [_shuffled(each, seed) for each in value] if isinstance(value, list) else value


@LAW
@given(st.sampled_from(MANIFESTS), st.integers(0, 1000))
def test_the_order_of_keys_and_documents_changes_no_finding(example: Example, seed: int) -> None:
    documents = list(_documents(example))
    shuffled = [_shuffled(each, seed) for each in documents]
    random.Random(seed).shuffle(shuffled)
    assert _essence(_judge(shuffled)) == _essence(_judge(documents))


@LAW
@given(st.sampled_from(MANIFESTS), st.text("abcdefghij", min_size=3, max_size=9), st.text("xyz123", min_size=1, max_size=9))
def test_labels_that_nothing_selects_change_no_finding(example: Example, key: str, value: str) -> None:
    labelled = copy.deepcopy(list(_documents(example)))
    for document in labelled:
        document.setdefault("metadata", {}).setdefault("labels", {})[f"example.com/{key}"] = value
    assert _essence(_judge(labelled)) == _essence(_judge(_documents(example)))


def _respelled(words: list[str], form: int) -> list[str]:
    """The same arguments as ``--a=b``, ``--a b``, with underscores, or with short names."""
    spelled: list[str] = []
    for word in words:
        head, equals, tail = word.partition("=")
        if not word.startswith("--") or not equals or tail.startswith("{"):
            spelled.append(word)
        elif form == 0:
            spelled += [head, tail]
        elif form == 1:
            spelled.append("--" + head[2:].replace("-", "_") + "=" + tail)
        else:
            short = {"--tensor-parallel-size": "-tp", "--pipeline-parallel-size": "-pp"}.get(head, head)
            spelled += [short, tail]
    return spelled


@LAW
@given(st.sampled_from([each for each in MANIFESTS if each.code not in ("ARG-002", "ARG-004", "ARG-005")]), st.integers(0, 2))
def test_the_spelling_of_arguments_changes_no_finding(example: Example, form: int) -> None:
    respelled = copy.deepcopy(list(_documents(example)))
    for document in respelled:
        for container in document.get("spec", {}).get("template", {}).get("spec", {}).get("containers", []):
            container["args"] = _respelled(container.get("args") or [], form)
    before = {(each.code, each.severity) for each in _judge(_documents(example))}
    assert {(each.code, each.severity) for each in _judge(respelled)} == before


@given(st.sampled_from(MANIFESTS))
@LAW
def test_findings_come_once_and_in_a_stable_order(example: Example) -> None:
    findings = _judge(_documents(example))
    assert len(findings) == len({(f.code, f.subject, f.path, f.value, f.summary) for f in findings})
    assert findings == _judge(_documents(example))


@LAW
@given(st.sampled_from(MANIFESTS), st.dates(dt.date(2026, 1, 1), dt.date(2027, 12, 31)), st.sampled_from(["", "; expires 2026-12-31"]))
def test_an_annotation_waives_its_code_until_its_day(example: Example, today: dt.date, until: str) -> None:
    annotated = copy.deepcopy(list(_documents(example)))
    for document in annotated:
        document.setdefault("metadata", {}).setdefault("annotations", {})[WAIVE] = f"{example.code}: seen and accepted{until}"
    bundle = recognise([Document(each, "a.yaml", index) for index, each in enumerate(annotated)], parse=load_text)
    found = [each for each in judge(bundle, today=today) if each.code == example.code]
    valid = not until or today <= dt.date(2026, 12, 31)
    assert found
    assert all((each.waiver is not None) == valid for each in found)


@LAW
@given(st.sampled_from(MANIFESTS))
def test_a_waiver_of_another_code_waives_nothing(example: Example) -> None:
    bundle = recognise([Document(each, "a.yaml", index) for index, each in enumerate(_documents(example))], parse=load_text)
    findings = judge(bundle, waivers=(Waiver(code="XYZ-999", reason="not this one"),), today=TODAY)
    assert all(each.waiver is None for each in findings)


@LAW
@given(st.text(max_size=60))
def test_any_text_can_stand_in_a_waiver_annotation(text: str) -> None:
    for waiver in read_waivers(text):
        assert len(waiver.reason) >= 3


@pytest.mark.parametrize("level", ["off", "info", "warning", "error"])
def test_the_level_of_a_rule_can_be_chosen(level: str) -> None:
    example = examples()["VER-001"]
    bundle = recognise([Document(each, "a.yaml", index) for index, each in enumerate(_documents(example))])
    found = [each.severity for each in judge(bundle, {"VER-001.severity": level}, today=TODAY) if each.code == "VER-001"]
    assert found == ([] if level == "off" else [Severity(level)])


def test_a_threshold_can_be_set() -> None:
    example = examples()["NET-006"]
    bundle = recognise([Document(each, "a.yaml", index) for index, each in enumerate(_documents(example))])
    assert "NET-006" not in {
        each.code for each in judge(bundle, {"NET-006.silence_seconds": 30, "NET-006.advised_seconds": 30}, today=TODAY)
    }


def test_every_setting_has_a_rule_of_its_name() -> None:
    assert all(isinstance(value, str | int | float | bool) for rule in RULES for value in rule.settings.values())
