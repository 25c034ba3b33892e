"""What the judge of starts says."""

from interlock.infra.sizing.result import Estimate
from tools.starts.judged import Starts

PLANNED = Estimate(low=1, likely=5, high=20)


def test_starts_within_the_plan_are_no_problem_and_one_of_twenty_may_be_late() -> None:
    starts = Starts()
    for index in range(19):
        starts.add(f"s{index}", 4, PLANNED)
    assert starts.add("late", 21, PLANNED) == "late: 21.0 s; planned 1, 5, 20"
    assert starts.problem() == ""


def test_more_late_starts_are_told_with_their_times() -> None:
    starts = Starts()
    starts.add("fine", 4, PLANNED)
    starts.add("late", 30, PLANNED)
    assert starts.problem() == "1 of 2 starts took longer than planned: late: 30.0 s; planned 1, 5, 20"
