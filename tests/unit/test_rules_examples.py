"""Each rule's examples: the bad one has its finding, the good one (the remedy applied) has not."""

import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from interlock.cli.reading import load_text, read_paths
from interlock.infra.facts import Bundle
from interlock.infra.recognise import recognise
from interlock.infra.rules.findings import Finding, Severity
from interlock.infra.rules.judge import RULES, judge
from interlock.infra.rules.rule import Rule
from tests.support import TODAY
from tools.cases.facts import bundle_of
from tools.findings.__main__ import PAGE
from tools.findings.examples import examples
from tools.findings.page import page

EXAMPLES = examples()


def _bundle(form: str, text: str, folder: Path) -> Bundle:
    if form == "case":
        made = bundle_of(json.loads(text))
        assert made is not None
        return made
    file = folder / "example.yaml"
    file.write_text(text, encoding="utf-8")
    reading = read_paths([str(file)])
    read = recognise(reading.documents, parse=load_text)
    return replace(read, problems=(*read.problems, *reading.problems))


@cache
def _findings(code: str, which: str) -> tuple[Finding, ...]:
    given = EXAMPLES[code]
    with TemporaryDirectory() as folder:
        return judge(_bundle(given.form, given.bad if which == "bad" else given.good, Path(folder)), today=TODAY)


def test_every_rule_has_an_example_and_every_example_a_rule() -> None:
    assert set(EXAMPLES) == {rule.code for rule in RULES}


@pytest.mark.parametrize("code", EXAMPLES)
def test_the_bad_example_has_its_finding_with_reason_and_way_out(code: str) -> None:
    found = [finding for finding in _findings(code, "bad") if finding.code == code]
    assert found
    for finding in found:
        assert min(len(finding.summary), len(finding.remedy), len(finding.detail)) > 4
        assert finding.path or code.startswith("DOC-")


@pytest.mark.parametrize("code", EXAMPLES)
def test_the_remedy_applied_removes_the_finding_and_brings_no_error(code: str) -> None:
    findings = _findings(code, "good")
    assert code not in {finding.code for finding in findings}
    assert [finding.text() for finding in findings if finding.severity is Severity.ERROR] == []


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_a_rule_is_published_with_all_its_words(rule: Rule) -> None:
    assert min(len(text) for text in (rule.demand, rule.reason, rule.source, rule.remedy)) > 8
    assert rule.demand.endswith(".")
    assert (rule.workload is None) != (rule.bundle is None)


def test_codes_are_unique() -> None:
    assert len({rule.code for rule in RULES}) == len(RULES) >= 60


def test_the_page_of_findings_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == page()
