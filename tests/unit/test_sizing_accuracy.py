"""The planner against public logs and measured runs: what must never happen, and how near it must be."""

import json
from functools import cache

import pytest

from interlock.infra.catalog.overheads import Overheads, fitted, priors
from tools.accuracy.cases import Record, Scored, records, scored
from tools.accuracy.fit import fit, observations
from tools.accuracy.halves import Judged, halves, judged, pooled
from tools.accuracy.report import report
from tools.accuracy.score import errors, kv_bytes_error, kv_tokens_error, lower_bound, quantity, upper_bound
from tools.accuracy.validation import WHY, missed_logs, unsure_logs


@cache
def logs() -> tuple[Record, ...]:
    return tuple(records())


@cache
def cases() -> tuple[Scored, ...]:
    return tuple(scored(logs()))


@cache
def splits() -> tuple[Judged, ...]:
    public = [each for each in logs() if each.group == "logs"]
    return judged(public, [each for each in logs() if each.group == "h200"])


def clear(case: Scored) -> bool:
    """A log of an NVIDIA card and vLLM itself whose record does not doubt itself."""
    return case.states_the_basics and not case.foreign and not case.doubted and not case.contradicts_itself


def named() -> list[Scored]:
    return [case for case in cases() if case.group == "logs" and case.named and not case.foreign and not case.doubted]


def test_nothing_that_failed_is_said_to_fit() -> None:
    assert [case.log["id"] for case in cases() if case.ran is False and case.answer["verdict"] == "fits"] == []


def test_nothing_that_ran_is_said_not_to_fit() -> None:
    wrong = [case.log["id"] for case in cases() if case.ran and case.answer["verdict"] == "does_not_fit"]
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


def test_on_logs_that_were_not_used_nothing_that_failed_fits_and_nothing_that_ran_is_refused() -> None:
    asked = [case for case in pooled(splits(), clear) if case.ran is not None]
    wrong = {True: "does_not_fit", False: "fits"}
    assert len(asked) > 100
    assert [case.log["id"] for case in asked if case.ran is not None and case.answer["verdict"] == wrong[case.ran]] == []


def test_on_logs_that_were_not_used_the_cache_is_near_and_inside_its_interval() -> None:
    found = errors(pooled(splits(), clear), kv_tokens_error)
    assert found.quantile(0.5) <= 0.05
    assert found.quantile(0.9) <= 0.15
    assert found.coverage >= 0.90
    assert found.width <= 0.15


def test_on_logs_that_were_not_used_few_are_left_without_an_answer() -> None:
    for keep in (clear, lambda case: case.states_the_basics and not case.foreign):
        asked = [case for case in pooled(splits(), keep) if case.ran is not None]
        assert sum(case.answer["verdict"] == "unsure" for case in asked) <= 0.12 * len(asked)


def test_every_log_that_is_missed_or_left_open_names_what_is_missing() -> None:
    known = set(json.loads(WHY.read_text("utf-8")))
    assert set(missed_logs(splits())) <= known
    assert {name for name, (case, _, _) in unsure_logs(splits()).items() if not case.foreign} <= known


def test_the_peak_of_the_sorting_sampler_is_that_of_logs_of_seven_places() -> None:
    figures = Overheads({**priors().figures, "sampler sorted": (0.0, 0.0, 0.0)})
    names = ("cal-003", "cal-005", "cal-006", "cal-015", "cal-038", "cal-138", "cal-142", "cal-151", "cal-161")
    for case in scored([each for each in logs() if each.log["id"] in names], figures):
        assert case.answer["activation_gib"]["likely"] == pytest.approx(case.log["activation_peak_gib"], abs=0.03), case.log["id"]


def test_what_any_model_holds_besides_is_not_learnt_as_a_share_of_its_weights() -> None:
    small = [each.value for log in logs() if log.group == "h200" for each in observations(log) if each.name == "weights 16 bit"]
    assert len(small) > 10
    assert max(small) == 0.0


def test_what_was_published_together_stays_in_one_half() -> None:
    public = [each for each in logs() if each.group == "logs"]
    for seed in range(5):
        one, other = halves(public, seed)
        assert not {each.thread for each in one} & {each.thread for each in other}
        assert len(one) + len(other) == len(public)
        assert min(len(one), len(other)) > len(public) / 4


def test_the_catalogs_figures_are_those_that_all_logs_give() -> None:
    found = fit([each for log in logs() for each in observations(log)])
    for name, figure in fitted().figures.items():
        assert found.of(name) == pytest.approx(figure, abs=1e-4), f"{name}: python -m tools.accuracy --fit"


def test_a_figure_that_no_log_shows_stays_as_it_was_believed() -> None:
    found, believed = fit([]).figures, priors().figures
    assert {name for name in believed if found[name] != believed[name]} <= {"fused 2", "fused 4"}


def test_the_report_holds_every_group() -> None:
    text = report(cases(), splits()[:1])
    for heading in ("On logs that were not used", "GB10", "V0 engine", "State everything".lower(), "By version band", "By model family"):
        assert heading in text


def test_confidence_bounds_are_those_of_clopper_and_pearson() -> None:
    assert upper_bound(0, 10) == pytest.approx(1 - 0.05 ** (1 / 10), abs=1e-6)
    assert lower_bound(10, 10) == pytest.approx(0.05 ** (1 / 10), abs=1e-6)
