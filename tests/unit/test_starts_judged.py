"""What the judge of starts says."""

import pytest

from interlock.infra.sizing.result import Estimate
from tools.starts.judged import Starts

PLANNED = Estimate(low=1, likely=5, high=20)


@pytest.fixture(autouse=True)
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.getloadavg", lambda: (2.0, 2.0, 2.0))
    monkeypatch.setattr("os.cpu_count", lambda: 2)


def test_starts_within_the_plan_are_no_problem_and_one_of_twenty_may_be_late() -> None:
    starts = Starts()
    for index in range(19):
        starts.add(f"s{index}", 4, PLANNED)
    assert starts.add("late", 21, PLANNED) == "late: 21.0 s; planned 1, 5, 20; load 1 a core"
    assert starts.problem() == ""


def test_more_late_starts_are_told_with_their_times() -> None:
    starts = Starts()
    starts.add("fine", 4, PLANNED)
    starts.add("late", 30, PLANNED)
    assert starts.problem() == "1 of 2 starts took longer than planned: late: 30.0 s; planned 1, 5, 20; load 1 a core"


def test_a_start_on_a_machine_that_has_no_time_for_it_is_kept_and_not_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    starts = Starts()
    monkeypatch.setattr("os.getloadavg", lambda: (40.0, 40.0, 40.0))
    assert starts.add("late", 300, PLANNED).endswith("load 20 a core")
    assert starts.problem() == ""
