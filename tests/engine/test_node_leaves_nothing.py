"""Nothing of a real node stays on the machine: not after `down`, not after its first process was killed, not after a failed start."""

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tools import build, toolchain_families
from tools.cluster import lifecycle as clusters
from tools.cluster.state import Cluster
from tools.cluster.testing import LocalCluster
from tools.common import ToolError
from tools.images.root import TABLE
from tools.node import cgroups, configs, lifecycle, prepare, remains
from tools.node.settings import PROCESS, Node, cgroup_of, folder_of

SHARED_FOLDERS = (
    "/run/containerd",
    "/run/netns",
    "/var/lib/cni",
    "/var/lib/kubelet",
    "/var/lib/containerd",
    "/var/log/pods",
    "/var/log/containers",
)
#: In the mount table, only containers bring these. (Other clusters of this machine come and go while a test runs.)
CONTAINER_WORDS = ("overlay", "containerd", "kubelet", "cni-")


def machine() -> dict[str, list[str]]:
    """What this machine shows of anybody's containers: taken before and after, the two must be equal."""
    return {
        "mounts": [line for line in Path("/proc/mounts").read_text().splitlines() if any(word in line for word in CONTAINER_WORDS)],
        "interfaces": sorted(name for name in os.listdir("/sys/class/net") if name.startswith(("cni", "veth"))),
        "rules": subprocess.run(["iptables-save"], capture_output=True, text=True, check=False).stdout.splitlines(),
        "folders": [folder for folder in SHARED_FOLDERS if Path(folder).exists()],
    }


@pytest.fixture(scope="module")
def programs() -> Path:
    reason = prepare.unready()
    if reason:
        pytest.skip(reason)
    return build.ensure(toolchain_families.select([], prepare.SETS))


def started(name: str, programs: Path) -> Iterator[Cluster]:
    try:
        yield clusters.up(name, programs)[0]
    finally:
        clusters.down(name)


@pytest.fixture
def cluster(programs: Path) -> Iterator[Cluster]:
    """A cluster that the test takes down itself."""
    yield from started(f"leave-{os.getpid()}", programs)


@pytest.fixture(scope="module")
def lasting(programs: Path) -> Iterator[Cluster]:
    yield from started(f"last-{os.getpid()}", programs)


@pytest.fixture
def bare(lasting: Cluster) -> Iterator[Cluster]:
    """A cluster that outlives the test's node."""
    yield lasting
    lifecycle.down(lasting)


def join(cluster: Cluster) -> Node:
    node, _ = lifecycle.up(cluster, "real", cards=1, slices=1, labels=(), taints=())
    container = {"name": "sleep", "image": TABLE["python"], "command": ["sleep", "600"]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "sleep"}, "spec": {"containers": [container]}}
    local = LocalCluster(cluster, Path(node.bin_folder))
    local.apply(pod)
    local.wait("pod/sleep", "condition=Ready")
    return node


def nothing(cluster: Cluster) -> bool:
    left = {kind: items for kind, items in remains.count(cluster).items() if items}
    assert left == {}
    return True


def test_down_leaves_nothing_and_everything_was_counted_before(cluster: Cluster) -> None:
    before = machine()
    join(cluster)
    counted = remains.count(cluster)
    assert {kind for kind, items in counted.items() if items} == set(counted), "a kind that is never counted proves nothing"
    assert any("containerd-shim" in command for command in counted["shims"])
    clusters.down(cluster.name)
    assert nothing(cluster)
    assert machine() == before


def test_after_the_first_process_is_killed_nothing_runs_and_down_removes_the_rest(cluster: Cluster) -> None:
    before = machine()
    join(cluster)
    maker = cluster.processes[PROCESS].pid
    first = int(Path(f"/proc/{maker}/task/{maker}/children").read_text().split()[0])
    os.kill(first, signal.SIGKILL)
    os.waitid(os.P_PID, maker, os.WEXITED | os.WNOWAIT)
    counted = remains.count(cluster)
    assert counted["shims"] == counted["containers"] == []
    assert counted["control groups"]
    assert "is dead" in lifecycle.status(cluster)
    clusters.down(cluster.name)
    assert nothing(cluster)
    assert machine() == before


def test_a_half_dead_node_is_removed_and_joined_anew(bare: Cluster) -> None:
    node = join(bare)
    os.kill(bare.processes[PROCESS].pid, signal.SIGKILL)
    os.waitid(os.P_PID, bare.processes[PROCESS].pid, os.WEXITED)
    again, started = lifecycle.up(bare, node.name, cards=1, slices=1, labels=(), taints=())
    assert started
    assert again == node
    lifecycle.down(bare)
    assert not folder_of(bare).exists()
    assert cgroups.found(cgroup_of(bare)) == []
    assert clusters.what_is_dead(bare) == []
    assert json.loads(clusters.kubectl(bare, "get", "nodes", "-o", "json"))["items"] == []


def test_a_node_that_cannot_start_is_taken_away_and_its_logs_are_kept(bare: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(configs, "CONTAINERD", "this is no configuration\n")
    with pytest.raises(ToolError, match="containerd ended with") as raised:
        lifecycle.up(bare, "real", cards=1, slices=1, labels=(), taints=())
    assert "what was started is stopped again; its logs: " in str(raised.value)
    kept = Path(str(raised.value).rsplit("its logs: ", 1)[1])
    assert "failed to unmarshal TOML" in (kept / "node-containerd.log").read_text()
    assert remains.end_processes(bare) is False
    assert cgroups.found(cgroup_of(bare)) == []
    assert clusters.what_is_dead(bare) == []


def test_another_node_beside_the_first_is_refused(bare: Cluster) -> None:
    join(bare)
    with pytest.raises(ToolError, match=r"has the real node real with 1 GPUs; `python -m tools.node down` first"):
        lifecycle.up(bare, "second", cards=1, slices=1, labels=(), taints=())
