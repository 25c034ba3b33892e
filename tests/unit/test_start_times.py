"""Predicted start-up times against starts that were measured: the high end covers them, the likely one is near."""

import json
import statistics
from typing import Any

import pytest

from interlock.infra.sizing.result import Estimate
from interlock.infra.sizing.start import Reading, Start, Step, start_time, total
from tools.common import ROOT

PUBLIC = [json.loads(line) for line in (ROOT / "tests/data/start_times.jsonl").read_text().splitlines()]
H200 = [json.loads(line) for line in (ROOT / "tests/data/h200_runs.jsonl").read_text().splitlines()]


def predicted(row: dict[str, Any]) -> Estimate:
    """The estimate of the steps that the observation covers."""
    covers = set(row["covers"])
    asked = Start(
        weights=row.get("weights_gb", 0.0) * 1e9 or 1.0,
        reading=Reading(row.get("store", "disk")),
        ranks=row.get("ranks", 1),
        provision="provision" in covers,
        image="image" in covers,
        compiled=row.get("compiled") == "cached",
    )
    found = {step.name.value: step.seconds for step in start_time(asked).steps}
    if "image" in covers:
        size = row["image_gb"] / 10.8
        image = found["image"]
        found["image"] = Estimate(low=image.low * size, likely=image.likely * size, high=image.high * size)
    return total(found[name] for name in covers & found.keys())


def measured() -> list[dict[str, Any]]:
    """The H200 runs: from loaded weights to a warm engine."""
    rows = []
    for run in H200:
        times = run["start_seconds"]
        if "warm" in times:
            covers = ["profile"] if run["enforce_eager"] else ["profile", "compile", "graphs"]
            rows.append({"id": run["id"], "covers": covers, "seconds": times["warm"] - times["weights_loaded"]})
    return rows


def share_below_high(rows: list[dict[str, Any]]) -> float:
    return sum(bool(row["seconds"] <= predicted(row).high) for row in rows) / len(rows)


def factor(row: dict[str, Any]) -> float:
    ratio: float = float(row["seconds"]) / predicted(row).likely
    return ratio if ratio > 1 else 1 / ratio


def test_the_high_end_covers_nineteen_of_twenty_measured_steps_and_starts() -> None:
    assert share_below_high(PUBLIC) >= 0.95
    assert share_below_high([*PUBLIC, *measured()]) >= 0.95


def test_half_of_the_single_steps_and_starts_are_within_a_factor_of_one_point_six_of_the_likely_time() -> None:
    assert statistics.median(factor(row) for row in PUBLIC) <= 1.6


@pytest.mark.parametrize("row", [row for row in PUBLIC if "process" in row["covers"] and len(row["covers"]) > 3], ids=lambda row: row["id"])
def test_whole_starts_are_below_the_high_end(row: dict[str, Any]) -> None:
    assert predicted(row).low <= row["seconds"] <= predicted(row).high


def test_half_of_the_whole_starts_are_within_a_factor_of_one_and_a_half() -> None:
    whole = [row for row in PUBLIC if "process" in row["covers"] and len(row["covers"]) > 3]
    assert len(whole) >= 8
    assert statistics.median(factor(row) for row in whole) <= 1.5


def test_every_observation_names_its_source_and_steps_that_there_are() -> None:
    assert all(row["source"] and set(row["covers"]) <= {step.value for step in Step} for row in PUBLIC)


@pytest.mark.parametrize(
    ("slower", "faster"),
    [
        (Start(weights=140e9, reading=Reading.HUB), Start(weights=140e9, reading=Reading.DISK)),
        (Start(weights=140e9), Start(weights=14e9)),
        (Start(weights=14e9), Start(weights=14e9, compiled=True)),
        (Start(weights=14e9, compiled=True), Start(weights=14e9, eager=True)),
        (Start(weights=14e9, image=True), Start(weights=14e9)),
        (Start(weights=14e9, provision=True), Start(weights=14e9)),
    ],
)
def test_more_to_do_takes_longer_at_every_end(slower: Start, faster: Start) -> None:
    more, less = start_time(slower).total, start_time(faster).total
    assert more.low > less.low
    assert more.likely > less.likely
    assert more.high > less.high


def test_the_image_and_a_new_node_pass_before_the_container_starts() -> None:
    start = start_time(Start(weights=14e9, provision=True, image=True))
    assert start.before == total(step.seconds for step in start.steps if step.name in (Step.PROVISION, Step.IMAGE))
    assert start.total.likely == pytest.approx(start.before.likely + start.container.likely)
    assert start_time(Start(weights=14e9)).before.high == 0
