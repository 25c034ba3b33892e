import datetime as dt
from dataclasses import replace
from typing import Any

import pytest
from pydantic import TypeAdapter

from interlock.infra.rules.findings import Finding, Severity, Subject, Waiver, blocking
from interlock.infra.rules.waivers import apply_waivers

TODAY = dt.date(2026, 11, 29)
FINDINGS = TypeAdapter(Finding)
FINDING = Finding(
    code="GPU-001",
    severity=Severity.ERROR,
    path="servers[1].gpus",
    value="2",
    summary="TP 4 x PP 1 = 4 GPUs, but the replica asks for 2",
    remedy="ask for 4",
    subject=Subject(kind="Server", name="chat"),
)


def waiver(**changes: Any) -> Waiver:
    return Waiver(**{"code": "GPU-001", "reason": "two engines share the pod", **changes})


def test_a_finding_says_code_field_value_arithmetic_and_way_out() -> None:
    assert FINDING.text().splitlines() == [
        "GPU-001 error: servers[1].gpus = 2: TP 4 x PP 1 = 4 GPUs, but the replica asks for 2",
        "  fix: ask for 4",
    ]


@pytest.mark.parametrize("path", ["*", "servers[1].gpus", "servers[1].*", "chat", "Server/chat", "chat.*"])
def test_a_waiver_covers_a_finding_by_field_or_by_object(path: str) -> None:
    marked = apply_waivers([FINDING], [waiver(path=path)], TODAY)
    assert marked[0].waiver is not None
    assert not blocking(marked)
    assert "waived: two engines share the pod" in marked[0].text()


@pytest.mark.parametrize("path", ["servers[0].gpus", "other", "Server/other"])
def test_a_waiver_for_something_else_changes_nothing(path: str) -> None:
    assert apply_waivers([FINDING], [waiver(path=path)], TODAY) == (FINDING,)


def test_a_waiver_for_another_code_changes_nothing() -> None:
    assert apply_waivers([FINDING], [waiver(code="GPU-002")], TODAY) == (FINDING,)


def test_a_waiver_holds_on_its_last_day_and_an_expired_one_counts_as_absent_and_says_so() -> None:
    last_day = apply_waivers([FINDING], [waiver(expires=dt.date(2026, 11, 29))], TODAY)
    assert last_day[0].waiver is not None
    expired = apply_waivers([FINDING], [waiver(expires=dt.date(2026, 11, 28))], TODAY)
    assert blocking(expired) == expired
    assert "expired on 2026-11-28 and counts as absent" in expired[0].text()


def test_a_waiver_without_a_reason_is_refused() -> None:
    with pytest.raises(ValueError, match="reason"):
        waiver(reason="")


def test_findings_and_waivers_survive_json() -> None:
    marked = apply_waivers([FINDING], [waiver(expires=dt.date(2027, 1, 1))], TODAY)[0]
    assert FINDINGS.validate_json(FINDINGS.dump_json(marked)) == marked


def test_only_unwaived_findings_at_or_above_the_level_block() -> None:
    warning = replace(FINDING, severity=Severity.WARNING)
    assert blocking([warning]) == ()
    assert blocking([warning], at=Severity.WARNING) == (warning,)
