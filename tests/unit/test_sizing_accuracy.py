"""The planner against public logs and measured runs: what must never happen, and how near it must be."""

from functools import cache

import pytest

from tools.accuracy.cases import Scored, scored
from tools.accuracy.report import report
from tools.accuracy.score import errors, kv_bytes_error, lower_bound, quantity, upper_bound


@cache
def cases() -> tuple[Scored, ...]:
    return tuple(scored())


def named() -> list[Scored]:
    return [
        case for case in cases() if case.group == "logs" and case.named and not case.foreign and not case.inconsistent and not case.unified
    ]


def test_nothing_that_failed_is_said_to_fit() -> None:
    assert [case.log["id"] for case in cases() if case.ran is False and case.answer["verdict"] == "fits"] == []


def test_nothing_that_ran_is_said_not_to_fit() -> None:
    wrong = [case.log["id"] for case in cases() if case.ran and case.answer["verdict"] == "does_not_fit" and not case.inconsistent]
    assert wrong == []


def test_kv_memory_of_the_h200_runs_is_within_one_percent() -> None:
    runs = [case for case in cases() if case.group == "h200" and not case.disturbed and case.log.get("max_num_seqs")]
    assert len(runs) >= 20
    assert errors(runs, quantity("kv_available_gib")).quantile(1.0) < 0.01


def test_bytes_per_token_follow_the_logs() -> None:
    assert errors(named(), kv_bytes_error).quantile(1.0) < 0.012


def test_weights_of_fully_stated_logs_are_within_two_percent() -> None:
    full = [case for case in cases() if case.group == "logs" and case.fully_stated]
    assert errors(full, quantity("weights_gib")).quantile(0.9) < 0.02


def test_the_report_holds_every_group() -> None:
    text = report(cases())
    for heading in ("Cases that state everything", "By version band", "By model family", "Verdicts", "What would be used otherwise"):
        assert heading in text


def test_confidence_bounds_are_those_of_clopper_and_pearson() -> None:
    assert upper_bound(0, 10) == pytest.approx(1 - 0.05 ** (1 / 10), abs=1e-6)
    assert lower_bound(10, 10) == pytest.approx(0.05 ** (1 / 10), abs=1e-6)
