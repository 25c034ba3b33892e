"""`make up` from nothing, again, after a mistake, and `make down`."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tools.cluster import network, processes
from tools.cluster.state import Cluster
from tools.common import ROOT, home

# Each test deploys more than once.
pytestmark = pytest.mark.timeout(1200)


@pytest.fixture
def own_home(toolchain: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A home of its own with the tools that are built already, so that a person's own cluster ``dev`` is left alone."""
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "tools").symlink_to(home() / "tools")
    monkeypatch.setenv("INTERLOCK_HOME", str(tmp_path / "home"))
    yield tmp_path / "home"
    run("--down")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy of the repository in which a stack can be edited."""
    copy = tmp_path / "checkout"
    ignored = shutil.ignore_patterns(".venv", ".git", "__pycache__", ".*_cache", "tests", "docs", "node_modules")
    shutil.copytree(ROOT, copy, symlinks=True, ignore=ignored)
    (copy / ".venv").symlink_to(sys.prefix)
    return copy


def run(*arguments: str, folder: Path = ROOT) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tools.up", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=550, check=False)


def contents(folder: Path) -> dict[str, bytes]:
    """What a deployment may not change in a checkout."""
    found = [*folder.glob("Pulumi*.yaml"), folder / "uv.lock", *(folder / "tools" / "toolchain").rglob("*")]
    return {str(path): path.read_bytes() for path in found if path.is_file()}


def same(done: subprocess.CompletedProcess[str]) -> None:
    """Nothing was changed by it."""
    assert done.returncode == 0, done.stdout + done.stderr
    assert not {"created", "updated", "deleted", "replaced"} & set(done.stdout.split())


def test_up_refuses_then_deploys_then_changes_nothing_rehearses_prod_and_down_removes_all(own_home: Path, checkout: Path) -> None:
    """One life, on one control plane: a contradiction, mended, deployed twice, the prod stack beside it twice, gone."""
    stack = checkout / "Pulumi.dev.yaml"
    good = stack.read_text()
    stack.write_text(good.replace("        pool: l4\n", "        pool: l4\n        replicas: 5\n"))
    assert stack.read_text() != good
    refused = run(folder=checkout)
    assert refused.returncode == 1
    assert "Traceback" not in refused.stdout + refused.stderr
    assert refused.stderr.strip().splitlines()[-1].startswith("error: stack dev is refused, for the findings above")
    assert "GPU-00" in refused.stdout
    assert not Cluster("dev").folder.exists()

    stack.write_text(good)
    before = contents(checkout)
    first = run(folder=checkout)
    assert first.returncode == 0, first.stdout + first.stderr
    for expected in (
        "control plane dev started",
        "1 simulated node is ready",
        "What is deployed",
        "Stack outputs",
        "Three things to try",
    ):
        assert expected in first.stdout
    second = run(folder=checkout)
    same(second)
    assert "control plane dev runs already" in second.stdout
    cluster = Cluster("dev")
    assert len(processes.find(cluster)) == 5

    rehearsed = run("--stack", "prod", folder=checkout)
    assert rehearsed.returncode == 0, rehearsed.stdout + rehearsed.stderr
    for expected in (
        "stand-in: context prod -> local control plane dev",
        "stand-in: Secret inference/models-tls",
        "stand-in: Gateway gateways/inference",
        "stand-in: CRDs of keda",
        "7 simulated nodes are ready",
        "deployment.apps/large",
    ):
        assert expected in rehearsed.stdout
    again = run("--stack", "prod", folder=checkout)
    same(again)
    assert "stand-in: Secret inference/models-tls" in again.stdout
    assert contents(checkout) == before

    assert len(processes.find(cluster)) > 5, "with what plays the stand-ins"
    assert run("--down").returncode == 0
    assert processes.find(cluster) == []
    assert not any(
        os.path.exists(path)
        for path in (cluster.folder, f"/run/netns/{network.names(cluster)[0]}", f"/sys/class/net/{network.names(cluster)[1]}")
    )


def test_a_stack_that_does_not_exist_is_refused_in_one_message(own_home: Path) -> None:
    refused = run("--stack", "nowhere")
    assert refused.returncode == 2
    assert "Pulumi.nowhere.yaml" in refused.stderr
    assert not Cluster("dev").folder.exists()
    assert "Traceback" not in refused.stderr
