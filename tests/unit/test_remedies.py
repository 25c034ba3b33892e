"""A remedy that is mechanical carries its changes, and the changes do what the remedy says."""

import re
from collections import defaultdict
from collections.abc import Mapping
from functools import cache

import pytest
import yaml

from interlock.cli.reading import load_text
from interlock.infra.recognise import Document, recognise
from interlock.infra.rules.findings import Finding, Fix, Severity
from interlock.infra.rules.judge import judge
from tests.support import TODAY, deployment
from tests.support.fixes import applied
from tools.findings.examples import Example, examples

MANIFESTS = {code: each for code, each in examples().items() if each.form == "manifest" and not code.startswith("DOC-001")}


def _documents(example: Example) -> list[object]:
    return [each for each in yaml.safe_load_all(example.bad) if isinstance(each, dict)]


def _judged(documents: list[object]) -> tuple[Finding, ...]:
    return judge(recognise([Document(each, "a.yaml", index) for index, each in enumerate(documents)], parse=load_text), today=TODAY)


@cache
def _of(code: str) -> tuple[list[object], list[Finding], tuple[Finding, ...]]:
    documents = _documents(MANIFESTS[code])
    judged = _judged(documents)
    return documents, [each for each in judged if each.code == code], judged


@pytest.mark.parametrize("code", MANIFESTS)
def test_the_changes_of_a_finding_remove_it_and_bring_no_error(code: str) -> None:
    documents, found, before = _of(code)
    fixes: dict[int, list[Fix]] = defaultdict(list)
    for finding in found:
        fixes[finding.subject.document] += finding.fixes
    if not any(fixes.values()):
        pytest.skip("a person has to choose")
    after = _judged([applied(each, fixes[index]) for index, each in enumerate(documents)])
    assert [each.text() for each in after if each.code == code] == []
    known = {(each.code, each.path) for each in before}
    assert [each.text() for each in after if each.severity is Severity.ERROR and (each.code, each.path) not in known] == []


@pytest.mark.parametrize("code", MANIFESTS)
def test_the_remedy_says_what_the_changes_do(code: str) -> None:
    for finding in _of(code)[1]:
        written = re.findall(r"write (\S+)", finding.remedy.lower())
        for fix in finding.fixes:
            done = f"{fix.path} {fix.flag} {fix.value}".lower()
            if fix.value is None:
                assert re.search(r"remove|write|instead", finding.remedy), finding.remedy
            else:
                said = str(fix.value).lower() in finding.remedy.lower().replace(" s ", "s ")
                assert said or any(word.lstrip("-") in done for word in written), finding.remedy


BY_HAND: Mapping[str, str] = {
    "ARG-005": "the words that were meant are not known",
    "DOC-004": "a key is renamed, with all that stands below it",
    "MEM-003": "several ways, each with its price",
    "GPU-021": "the name of the interface depends on the network plugin",
    "RAY-024": "requests, limits and what the head is started with",
    "VER-008": "the digest has to be looked up",
    "RAY-010": "half of max_num_seqs, which the deployment does not state",
    "SCALE-012": "some entries of a list of values",
    "SEC-008": "a volume has to be chosen",
    "VER-001": "the digest has to be looked up",
}
"""Rules whose remedy reads like one change and is none, with the reason."""


@pytest.mark.parametrize("code", sorted(set(MANIFESTS) - set(BY_HAND)))
def test_a_remedy_that_names_one_change_carries_it(code: str) -> None:
    for finding in _of(code)[1]:
        if re.match(r"(set|remove|write) ", finding.remedy):
            assert finding.fixes, finding.remedy


def test_most_of_what_can_be_mechanical_is() -> None:
    assert sum(any(finding.fixes for finding in _of(code)[1]) for code in MANIFESTS) >= 50


def test_a_variable_that_is_gone_is_not_answered_with_itself() -> None:
    container = "spec.template.spec.containers[0]"
    changed = deployment({f"{container}.env": [{"name": "VLLM_USE_V1", "value": "0"}]})
    (found,) = (each for each in _judged([changed]) if each.code == "ARG-007")
    assert found.remedy == "remove it"


def test_an_empty_list_of_visible_devices_hides_the_cards_that_are_asked_for() -> None:
    changed = deployment({"spec.template.spec.containers[0].env": [{"name": "CUDA_VISIBLE_DEVICES", "value": ""}]})
    (found,) = (each for each in _judged([changed]) if each.code == "GPU-010")
    assert (found.severity, found.path) == (Severity.ERROR, "spec.template.spec.containers[0].env[0].value")
