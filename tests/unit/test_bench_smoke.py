"""Every benchmark that needs no cluster runs to its end on small sizes; those that need one are in tests/cluster/test_bench.py."""

import subprocess
from pathlib import Path

import pytest

from tools.bench import __main__ as bench
from tools.bench import check, command, frame, plan, platform, prod, sizing
from tools.bench.goals import Goal
from tools.bench.projects import of_size, pairs, seconds, stack_config
from tools.cluster.testing import Outcome
from tools.common import ROOT, ToolError


def test_deciding_takes_longer_for_more_servers() -> None:
    validation, planned, whole = plan.measure(2, times=1)
    assert validation > 0
    assert 0 < planned < whole


def test_the_command_is_measured_from_start_to_end() -> None:
    found = command.measure(times=1)
    assert set(found) == set(command.GOALS)
    assert all(taken > 0.05 for taken in found.values())


def test_a_command_that_gives_no_answer_is_not_measured() -> None:
    with pytest.raises(ToolError, match=r"`interlock check /nowhere\.yaml` ended with 2: "):
        command.seconds(["check", "/nowhere.yaml"], times=1)


def test_sizings_are_counted() -> None:
    assert sizing.measure(count=60, times=1) > 0


def test_documents_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    assert check.main(["--documents", "30"]) == 0
    assert "documents/s on one core" in capsys.readouterr().out


def test_a_platform_stack_is_rendered() -> None:
    count, rate = platform.rendered()
    assert count > platform.POOLS
    assert rate > 0


def test_the_prod_program_runs_without_an_engine() -> None:
    assert prod.alone() > 0


def test_a_stack_of_a_size_has_that_many_servers_and_stays_as_it_was() -> None:
    before = stack_config("dev")
    made = of_size(before, 3)
    assert [server["name"] for server in made["servers"]] == ["chat-0", "chat-1", "chat-2"]
    assert before == stack_config("dev")


def test_the_ratio_is_of_pairs_so_that_a_slow_minute_slows_both(monkeypatch: pytest.MonkeyPatch) -> None:
    taken = iter([2.0, 1.0, 20.0, 10.0, 2.0, 1.0])
    monkeypatch.setattr("tools.bench.projects.seconds", lambda run: next(taken))
    assert pairs(lambda: Outcome(0, ""), lambda: Outcome(0, ""), 3) == (2.0, 1.0, 2.0)


def test_a_command_that_fails_ends_the_measurement_with_what_it_printed() -> None:
    with pytest.raises(ToolError, match=r"(?s)a measured command failed:.*did not end in 300 s"):
        seconds(lambda: Outcome(124, "`pulumi up` did not end in 300 s"))


def test_growth_is_the_exponent_between_the_smallest_and_the_largest_size() -> None:
    assert frame.growth({10: (0, 2.0, 1.0, 2.0), 1000: (0, 20.0, 1.0, 2.0), 100: (0, 5.0, 1.0, 2.0)}) == pytest.approx(0.5)


@pytest.mark.parametrize(("value", "at_least", "met"), [(1.3, False, True), (1.31, False, False), (1.31, True, True), (1.29, True, False)])
def test_a_goal_says_whether_it_is_met(value: float, at_least: bool, met: bool) -> None:
    said = str(Goal("preview", value, "times", 1.3, at_least))
    assert said.startswith("goal met: preview" if met else "goal missed: preview")


def test_one_benchmark_that_cannot_be_measured_does_not_stop_the_others(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bench, "run", lambda name: (1, []) if name == "frame" else (0, [f"goal met: {name}"]))
    with pytest.raises(ToolError, match=r"could not be measured \(see above\): frame$"):
        bench.main([])
    printed = capsys.readouterr().out
    assert "goal met: sizing" in printed
    assert "# prod" in printed


def test_the_output_of_a_benchmark_is_shown_and_its_goals_are_kept(capsys: pytest.CaptureFixture[str]) -> None:
    code, goals = bench.run("sizing")
    assert code == 0
    assert len(goals) == 1
    assert goals[0] in capsys.readouterr().out


def test_an_unknown_benchmark_is_refused_with_those_that_there_are() -> None:
    names = "check, command, frame, gate, gate_real, hostile, plan, platform, policies, prod, replicas, runtime, sizing"
    with pytest.raises(ToolError, match=f"no such benchmark; there are {names}"):
        bench.main(["skeleton"])


@pytest.mark.parametrize("name", ["frame", "platform", "policies", "prod"])
def test_without_the_toolchain_a_benchmark_on_a_cluster_ends_in_one_line(name: str, tmp_path: Path) -> None:
    python = ROOT / ".venv" / "bin" / "python"
    if not python.exists():
        pytest.skip("no .venv here")
    environment = {"PATH": str(tmp_path), "HOME": str(tmp_path), "INTERLOCK_HOME": str(tmp_path)}
    command = [str(python), "-m", f"tools.bench.{name}"]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 2
    assert done.stderr.startswith("error: no Go on PATH, and these have to be built")
    assert "Traceback" not in done.stderr


def test_the_flat_program_and_ours_differ_only_in_how_they_register() -> None:
    assert "pulumi_kubernetes" in frame.FLAT
    assert "interlock" not in frame.FLAT
