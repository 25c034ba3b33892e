"""A better prediction restarts nothing: in a pod template only probe budgets are predicted, and they stand on a ladder."""

from pathlib import Path
from typing import Any

import pytest

from interlock.cli.stackfile import read_stack
from interlock.infra.config import ClusterConfig
from interlock.infra.manifests.placed import leaves
from interlock.infra.manifests.render import render
from interlock.infra.plan.plan import plan
from interlock.infra.plan.rungs import RUNGS, STEP, rung
from interlock.infra.sizing import start
from interlock.infra.sizing.result import Estimate
from tools.common import ROOT
from tools.golden import stacks

EXAMPLES = sorted(path.name for path in (ROOT / "examples").glob("*.yaml"))
CONSTANTS = ("seconds_of", "rate_of")
BUDGETS = ("startupProbe.failureThreshold", "env[")


def config(name: str) -> ClusterConfig:
    return (read_stack(None, Path(ROOT / "examples" / name)) if name in EXAMPLES else read_stack(name, None, ROOT)).config


def pods(made: ClusterConfig) -> dict[str, Any]:
    return {
        f"{each['metadata']['name']} {path}": value
        for each in render(made, plan(made, "any"))
        if each["kind"] == "Deployment"
        for path, value in leaves(each["spec"]["template"])
    }


@pytest.mark.parametrize("name", [*stacks(), *EXAMPLES])
@pytest.mark.parametrize("constants", CONSTANTS)
@pytest.mark.parametrize("factor", [0.95, 1.05])
def test_moving_the_calibration_constants_changes_no_pod_but_a_budget_that_crosses_a_rung(
    name: str, constants: str, factor: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = config(name)
    before, first = pods(made), {server.name: server.times.startup for server in plan(made, "any").servers}
    stated = getattr(start, constants)

    def moved(asked: str) -> Estimate:
        found: Estimate = stated(asked)
        return Estimate(low=found.low * factor, likely=found.likely * factor, high=found.high * factor)

    monkeypatch.setattr(start, constants, moved)
    after, second = pods(made), {server.name: server.times.startup for server in plan(made, "any").servers}
    changed = {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
    crossing = {server for server in first if first[server] != second[server]}
    assert {path.partition(" ")[0] for path in changed} == crossing
    assert all(any(budget in path for budget in BUDGETS) for path in changed)


def test_the_ladder_is_climbed_only_when_the_estimate_crosses_a_rung() -> None:
    assert [rung(seconds) for seconds in (1, 300, 300.1, 455, 3600, 3601, 5400.5)] == [300, 300, 450, 600, 3600, 5400, 7200]
    assert all(rung(each) == each for each in (*RUNGS, 3 * STEP))
