"""A local cluster is always found again and removed whole, whatever happened to it."""

import os
import signal
import socket
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from tools.cluster import lifecycle, network, processes
from tools.cluster.state import Cluster, Process, load
from tools.cluster.testing import LocalCluster
from tools.common import ROOT, ToolError, home


@pytest.fixture
def name(toolchain: Path) -> Iterator[str]:
    chosen = f"t-{uuid.uuid4().hex[:8]}"
    yield chosen
    lifecycle.down(chosen)


def leftovers(cluster: Cluster) -> dict[str, list[str]]:
    """Everything on this machine that belongs to ``cluster``."""
    namespace, interface = network.names(cluster)
    kernel = [Path("/run/netns", namespace), Path("/sys/class/net", interface)]
    return {
        "processes": [str(pid) for pid in processes.find(cluster)],
        "mounts": [line for line in Path("/proc/mounts").read_text().splitlines() if str(cluster.folder) in line or namespace in line],
        "kernel": [str(path) for path in kernel if path.exists()],
        "files": [str(path) for path in (home() / "run").glob(f"*{cluster.name}*")],
    }


def run(*arguments: str, given: str = "[]") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tools.cluster", *arguments]
    return subprocess.run(command, cwd=ROOT, input=given, capture_output=True, text=True, timeout=400, check=False)


def test_two_clusters_run_side_by_side_a_dead_one_is_made_anew_and_after_a_crash_down_leaves_nothing(
    cluster: LocalCluster, name: str, toolchain: Path
) -> None:
    other, started = lifecycle.up(name, toolchain)
    assert started
    before = dict(other.processes)
    again, started = lifecycle.up(name, toolchain)
    assert not started
    assert again.processes == before
    assert other.server != cluster.cluster.server
    assert other.context != cluster.context
    identities = {
        lifecycle.kubectl(at, "get", "namespace", "kube-system", "-o", "jsonpath={.metadata.uid}") for at in (other, cluster.cluster)
    }
    assert len(identities) == 2

    os.kill(other.processes["kube-apiserver"].pid, signal.SIGKILL)
    refused = run("nodes", "--name", name, "-")
    assert refused.returncode == 2
    assert f"the local cluster {name} is dead: kube-apiserver not running" in refused.stderr
    assert "make up" in refused.stderr
    assert run("status", "--name", name).returncode == 1
    fresh, was_started = lifecycle.up(name, toolchain)
    assert was_started
    assert lifecycle.what_is_dead(fresh) == []

    for program in ("etcd", "kube-scheduler"):
        os.kill(fresh.processes[program].pid, signal.SIGKILL)
    (fresh.folder / "state.json").unlink()
    stray = processes.spawn(fresh, "stray", ["sleep", "600"])
    (fresh.folder / "state.json").unlink()
    assert processes.alive(stray)
    lifecycle.down(name)
    assert leftovers(fresh) == {"processes": [], "mounts": [], "kernel": [], "files": []}


def test_a_start_that_is_killed_half_way_leaves_nothing_after_down(name: str) -> None:
    starting = subprocess.Popen([sys.executable, "-m", "tools.cluster", "up", "--name", name], cwd=ROOT, stdout=subprocess.DEVNULL)
    cluster = Cluster(name)
    while len((load(name) or cluster).processes) < 2:
        assert starting.poll() is None
    starting.kill()
    starting.wait()
    assert leftovers(cluster)["processes"]
    assert run("down", "--name", name).returncode == 0
    assert leftovers(cluster) == {"processes": [], "mounts": [], "kernel": [], "files": []}


def test_a_recycled_process_id_is_not_taken_for_the_clusters_process(name: str) -> None:
    cluster = Cluster(name)
    cluster.folder.mkdir(parents=True)
    innocent = subprocess.Popen(["sleep", "600"])
    try:
        cluster.processes["etcd"] = Process(innocent.pid, started=1, argv=["etcd"])
        cluster.save()
        assert not processes.alive(cluster.processes["etcd"])
        lifecycle.down(name)
        assert innocent.poll() is None
    finally:
        innocent.kill()
        innocent.wait()


def test_on_loopback_without_a_namespace_the_cluster_works(name: str, toolchain: Path) -> None:
    started, _ = lifecycle.up(name, toolchain, loopback=True)
    assert started.namespace == ""
    assert started.server.startswith("https://127.0.0.1:")
    assert "default" in lifecycle.kubectl(started, "get", "namespaces")
    lifecycle.down(name)
    assert leftovers(started) == {"processes": [], "mounts": [], "kernel": [], "files": []}


def test_a_port_in_use_is_refused_by_name(name: str) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        refused = run("up", "--name", name, "--loopback", "--api-port", port)
    assert refused.returncode == 2
    assert f"--api-port {port}: the port is in use" in refused.stderr
    assert "Traceback" not in refused.stderr
    assert leftovers(Cluster(name))["files"] == []


def test_a_program_that_ends_at_once_is_named_with_its_log(name: str, toolchain: Path, tmp_path: Path) -> None:
    for program in toolchain.iterdir():
        (tmp_path / program.name).symlink_to(program.readlink())
    (tmp_path / "kube-apiserver").unlink()
    (tmp_path / "kube-apiserver").write_text("#!/bin/sh\necho no such flag\nexit 3\n")
    (tmp_path / "kube-apiserver").chmod(0o755)
    with pytest.raises(ToolError, match=r"(?s)kube-apiserver of cluster .* ended while it started.*no such flag") as refused:
        lifecycle.up(name, tmp_path)
    kept = str(refused.value).rpartition("its log: ")[2].rstrip(")\n")
    assert Path(kept).read_text() == "no such flag\n"
    assert leftovers(Cluster(name)) == {"processes": [], "mounts": [], "kernel": [], "files": []}


def test_without_a_cluster_the_message_says_how_to_start_one(name: str) -> None:
    refused = run("nodes", "--name", name, "-")
    assert (refused.returncode, refused.stderr) == (2, f"error: there is no local cluster {name}; `make up` starts it\n")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("{", "standard input: it is not JSON"),
        ("3", "standard input: expected a Node"),
        ('[{"kind": "Pod"}]', "standard input: item 0 is not a Node with a name"),
        ('[{"kind": "Node", "metadata": {"name": "a"}}, {"kind": "Node", "metadata": {"name": "a"}}]', "node names occur twice: a"),
    ],
)
def test_what_is_not_a_list_of_nodes_is_refused(given: str, message: str) -> None:
    refused = run("nodes", "--name", "any", "-", given=given)
    assert refused.returncode == 2
    assert message in refused.stderr


def test_a_name_that_no_namespace_can_have_is_refused() -> None:
    refused = run("up", "--name", "Not_a_name")
    assert refused.returncode == 2
    assert "--name Not_a_name" in refused.stderr
