"""What a machine must have to carry a real node, each with the one message that says what is missing and what to do."""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tools import toolchain_families
from tools.common import ToolError, home, say

CNI_FOLDER = Path("/usr/lib/cni")
CNI_PLUGINS = ("bridge", "host-local", "loopback")
#: Folders that the node covers with its own: files of ours below them would be out of its sight.
COVERED = (Path("/run"), Path("/var/lib"), Path("/var/log"))
V1_CONTROLLERS = ("cpu", "cpuacct", "cpuset", "memory", "devices", "pids", "freezer")
V2_CONTROLLERS = ("cpu", "memory", "pids", "cpuset")
COMMANDS = {"runc": "runc", "iptables": "iptables", "ip": "iproute2", "nsenter": "util-linux", "unshare": "util-linux"}


def missing(cgroups: Path = Path("/sys/fs/cgroup")) -> list[str]:
    """Everything that stands in the way, one sentence each; empty on a machine that can carry a node."""
    if sys.platform != "linux":
        return [f"a real node needs Linux, this is {sys.platform}; `make up` without NODE=1 works with simulated nodes"]
    if os.geteuid() != 0:
        return ["a real node needs root (namespaces, mounts, control groups): run it with sudo, or leave out NODE=1"]
    found = _programs() + control_groups(cgroups) + _kernel()
    covered = next((str(folder) for folder in COVERED if home().resolve().is_relative_to(folder)), None)
    if covered:
        found.append(f"INTERLOCK_HOME {home()} lies below {covered}, which the node covers: choose another folder")
    return found


def require() -> None:
    """Raises ToolError (code 2) that lists everything that is missing."""
    found = missing()
    if found:
        raise ToolError("this machine cannot carry a real node:\n" + "\n".join(f"  - {problem}" for problem in found))


def control_groups(root: Path) -> list[str]:
    """What is wrong with the control groups mounted at ``root``, version 1 or 2."""
    if version(root) == 2:
        offered = (root / "cgroup.controllers").read_text().split()
        gone = [name for name in V2_CONTROLLERS if name not in offered]
        text = f"control groups version 2 at {root} offer no {', '.join(gone)}; in a container, give it its own cgroup namespace"
        return [text] if gone else []
    gone = [name for name in V1_CONTROLLERS if not (root / name / "cgroup.procs").exists()]
    return [f"control groups version 1 at {root} lack {', '.join(gone)}: mount them, or boot with version 2"] if gone else []


def version(root: Path = Path("/sys/fs/cgroup")) -> int:
    """The control groups' version: 2 when there is one hierarchy, else 1."""
    return 2 if (root / "cgroup.controllers").exists() else 1


def install(packages: Sequence[str] | None = None) -> None:
    """Installs the Debian packages that the node's programs need and that are not there. Raises ToolError where that is impossible."""
    wanted = sorted(packages or {name for family in toolchain_families.select([], ["node"]) for name in family.debian})
    if shutil.which("apt-get") is None or os.geteuid() != 0:
        raise ToolError(f"only root on Debian or Ubuntu can install packages here; needed: {', '.join(wanted)}")
    present = subprocess.run(
        ["dpkg-query", "-W", "-f", "${Package} ${db:Status-Abbrev}\n", *wanted], capture_output=True, text=True, check=False
    )
    absent = [name for name in wanted if f"{name} ii" not in present.stdout]
    if not absent:
        return
    say(f"installing {', '.join(absent)}")
    quiet = {"DEBIAN_FRONTEND": "noninteractive"}
    for command in (["apt-get", "update", "-q"], ["apt-get", "install", "-y", "-q", "--no-install-recommends", *absent]):
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ | quiet)
        if done.returncode:
            raise ToolError(f"`{' '.join(command[:2])}` failed: {done.stderr.strip()[-400:]}", 1)


def _programs() -> list[str]:
    lacking = {name: package for name, package in COMMANDS.items() if shutil.which(name) is None}
    if not all((CNI_FOLDER / name).exists() for name in CNI_PLUGINS):
        lacking[f"CNI plugins in {CNI_FOLDER}"] = "containernetworking-plugins"
    if not lacking:
        return []
    packages = " ".join(sorted(set(lacking.values())))
    return [f"no {', '.join(lacking)} here: `python -m tools.node packages` (or `apt-get install {packages}`) installs what is missing"]


def _kernel() -> list[str]:
    found = []
    if "\toverlay\n" not in Path("/proc/filesystems").read_text():
        subprocess.run(["modprobe", "overlay"], capture_output=True, check=False)
    if "\toverlay\n" not in Path("/proc/filesystems").read_text():
        found.append(
            "the kernel has no overlayfs (see /proc/filesystems), on which containers' file systems are stacked: load the module overlay"
        )
    probe = ["unshare", "--net", "--mount", "--pid", "--fork", "iptables", "-t", "nat", "-S"]
    if shutil.which("iptables"):
        done = subprocess.run(probe, capture_output=True, text=True, check=False)
        if done.returncode:
            said = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
            found.append(
                f"iptables does not work in a new network namespace ({said}): kube-proxy cannot route Services; load nf_tables and nf_nat"
            )
    return found
