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


def changed_files() -> str:
    watched = ["--", "Pulumi.yaml", "Pulumi.dev.yaml", "Pulumi.prod.yaml", "uv.lock", "tools/toolchain"]
    return subprocess.run(["git", "status", "--porcelain", *watched], cwd=ROOT, capture_output=True, text=True, check=False).stdout


def test_up_deploys_says_so_changes_nothing_the_second_time_and_down_removes_all(own_home: Path) -> None:
    before = changed_files()
    first = run()
    assert first.returncode == 0, first.stdout + first.stderr
    for expected in (
        "control plane dev started",
        "1 simulated node is ready",
        "What is deployed",
        "Stack outputs",
        "Three things to try",
    ):
        assert expected in first.stdout
    second = run()
    assert second.returncode == 0
    assert "control plane dev runs already" in second.stdout
    assert not {"created", "updated", "deleted", "replaced"} & set(second.stdout.split())
    assert changed_files() == before
    cluster = Cluster("dev")
    assert len(processes.find(cluster)) == 5
    assert run("--down").returncode == 0
    assert processes.find(cluster) == []
    assert not any(
        os.path.exists(path)
        for path in (cluster.folder, f"/run/netns/{network.names(cluster)[0]}", f"/sys/class/net/{network.names(cluster)[1]}")
    )


def test_a_stack_that_contradicts_itself_ends_in_its_finding_and_converges_once_it_is_mended(own_home: Path, checkout: Path) -> None:
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
    mended = run(folder=checkout)
    assert mended.returncode == 0, mended.stdout + mended.stderr


def test_the_prod_stack_is_rehearsed_with_stand_ins_that_are_said_and_its_file_stays_as_it_is(own_home: Path) -> None:
    before = changed_files()
    first = run("--stack", "prod")
    assert first.returncode == 0, first.stdout + first.stderr
    for expected in (
        "stand-in: context prod -> local control plane dev",
        "stand-in: Secret inference/models-tls",
        "stand-in: Gateway gateways/inference",
        "stand-in: CRDs of keda",
        "7 simulated nodes are ready",
        "deployment.apps/large",
    ):
        assert expected in first.stdout
    second = run("--stack", "prod")
    assert second.returncode == 0, second.stdout + second.stderr
    assert not {"created", "updated", "deleted", "replaced"} & set(second.stdout.split())
    assert "stand-in: Secret inference/models-tls" in second.stdout
    assert changed_files() == before


def test_a_stack_that_does_not_exist_is_refused_in_one_message(own_home: Path) -> None:
    refused = run("--stack", "nowhere")
    assert refused.returncode == 2
    assert "Pulumi.nowhere.yaml" in refused.stderr
    assert not Cluster("dev").folder.exists()
    assert "Traceback" not in refused.stderr
