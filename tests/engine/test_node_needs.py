"""What a machine must have for a real node: every bad case is one clear message, before anything is started."""

from pathlib import Path
from typing import Any

import pytest

from tools.cluster.state import Cluster
from tools.common import ToolError
from tools.engine_env import env
from tools.node import cgroups, lifecycle, needs


@pytest.fixture(autouse=True)
def linux_root(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that has everything, whatever this one has; each test takes one thing away."""
    monkeypatch.setattr("tools.node.needs.sys.platform", "linux")
    monkeypatch.setattr("tools.node.needs.os.geteuid", lambda: 0)
    monkeypatch.setattr("tools.node.needs.shutil.which", lambda name, **_: f"/usr/sbin/{name}")
    monkeypatch.setattr(needs, "_kernel", list)
    monkeypatch.setattr(needs, "CNI_PLUGINS", ())


def hierarchies(root: Path, *names: str) -> Path:
    for name in names:
        (root / name).mkdir()
        (root / name / "cgroup.procs").touch()
    return root


def unified(root: Path, *controllers: str) -> Path:
    (root / "cgroup.controllers").write_text(" ".join(controllers) + "\n")
    return root


def test_a_machine_that_has_everything_lacks_nothing(tmp_path: Path) -> None:
    assert needs.missing(hierarchies(tmp_path, *needs.V1_CONTROLLERS)) == []


def test_without_root_one_message_says_what_else_works(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tools.node.needs.os.geteuid", lambda: 1000)
    (message,) = needs.missing()
    assert "needs root" in message
    assert "leave out NODE=1" in message


def test_another_system_than_linux_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tools.node.needs.sys.platform", "darwin")
    (message,) = needs.missing()
    assert message.startswith("a real node needs Linux, this is darwin")


def test_missing_programs_are_one_message_with_their_packages(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("tools.node.needs.shutil.which", lambda name, **_: None if name in ("iptables", "runc") else f"/usr/sbin/{name}")
    (message,) = needs.missing(hierarchies(tmp_path, *needs.V1_CONTROLLERS))
    assert "no runc, iptables here" in message
    assert "apt-get install iptables runc" in message


def test_version_2_alone_is_enough_when_it_has_the_controllers(tmp_path: Path) -> None:
    root = unified(tmp_path, *needs.V2_CONTROLLERS, "io")
    assert needs.version(root) == 2
    assert needs.missing(root) == []


def test_version_2_without_a_controller_names_it(tmp_path: Path) -> None:
    (message,) = needs.missing(unified(tmp_path, "cpu", "pids", "cpuset"))
    assert "control groups version 2" in message
    assert "offer no memory" in message


def test_version_1_without_a_hierarchy_names_it(tmp_path: Path) -> None:
    (message,) = needs.missing(hierarchies(tmp_path, *(name for name in needs.V1_CONTROLLERS if name != "pids")))
    assert "version 1" in message
    assert "lack pids" in message


def test_a_home_that_the_node_would_cover_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("INTERLOCK_HOME", "/var/lib/somewhere")
    (message,) = needs.missing(hierarchies(tmp_path, *needs.V1_CONTROLLERS))
    assert "INTERLOCK_HOME /var/lib/somewhere lies below /var/lib" in message


def test_a_full_disk_is_told_before_anything_is_built(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    usage: Any = type("Usage", (), {"free": 3 * 10**9})
    monkeypatch.setattr("tools.engine_env.env.shutil.disk_usage", lambda _: usage)
    with pytest.raises(ToolError, match=r"3\.0 GB are free and the images need 16 GB; free some, or set INTERLOCK_HOME"):
        env.require_disk(tmp_path / "not" / "there", 16 * 10**9, "the images")


def test_a_cluster_on_loopback_cannot_carry_a_node(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(needs, "missing", list)
    with pytest.raises(ToolError, match="runs on loopback, where pods have no addresses: `make down`, then `make up` as root"):
        lifecycle.up(Cluster("flat"), "real", cards=1, slices=1, labels=(), taints=())


def test_all_that_is_missing_is_listed_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(needs, "missing", lambda: ["no this", "no that"])
    with pytest.raises(ToolError, match="cannot carry a real node:\n  - no this\n  - no that") as raised:
        needs.require()
    assert raised.value.code == 2


def test_in_version_1_the_pods_group_gets_processors_in_every_hierarchy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(cgroups, "ROOT", hierarchies(tmp_path, "cpuset", "memory"))
    (tmp_path / "cpuset" / "cpuset.cpus").write_text("0-1")
    cgroups.create("interlock-x")
    assert cgroups.found("interlock-x") == [tmp_path / "cpuset" / "interlock-x", tmp_path / "memory" / "interlock-x"]
    assert (tmp_path / "cpuset" / "interlock-x" / "cpuset.cpus").read_text() == "0-1"


def test_in_version_2_the_controllers_are_handed_down_and_the_group_is_removed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(cgroups, "ROOT", unified(tmp_path, *needs.V2_CONTROLLERS))
    cgroups.create("interlock-x")
    assert (tmp_path / "cgroup.subtree_control").read_text() == "+cpu +memory +pids +cpuset"
    (tmp_path / "interlock-x" / "kubepods").mkdir()
    assert cgroups.remove("interlock-x") == 2
    assert cgroups.found("interlock-x") == []


def test_version_2_that_hands_nothing_down_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(cgroups, "ROOT", unified(tmp_path, *needs.V2_CONTROLLERS))
    (tmp_path / "cgroup.subtree_control").mkdir()
    with pytest.raises(OSError, match="do not hand down their controllers"):
        cgroups.create("interlock-x")
