"""What a node may leave on the machine: counted for tests and for people, and removed also after a crash."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

from tools.cluster import network, processes
from tools.cluster.state import Cluster
from tools.node import cgroups
from tools.node.settings import cgroup_of, folder_of

TABLES = ("filter", "nat", "mangle")


def count(cluster: Cluster) -> dict[str, list[str]]:
    """Everything of the node and its cluster that is on the machine now, by kind; all lists are empty after ``down``."""
    namespace, interface = network.names(cluster)
    known = Cluster(cluster.name, namespace=namespace if Path("/run/netns", namespace).exists() else "")
    running = [_command(pid) for pid in processes.find(known)]
    groups = cgroups.found(cgroup_of(cluster))
    return {
        "processes": [command for command in running if "containerd-shim" not in command],
        "shims": [command for command in running if "containerd-shim" in command],
        "containers": sorted({f"{pid} {_command(pid)}" for group in groups for pid in cgroups.members(group)}),
        "mounts": [line for line in _lines("/proc/mounts") if str(cluster.folder) in line or namespace in line],
        "control groups": [str(group) for group in groups],
        "interfaces": [name for name in os.listdir("/sys/class/net") if name == interface] + _links(known),
        "packet filter rules": packet_filter(known),
        "folders": [str(path) for path in (cluster.folder, Path("/run/netns", namespace)) if path.exists()],
    }


def packet_filter(cluster: Cluster) -> list[str]:
    """Rules of kube-proxy in the cluster's network namespace; the host's own are never touched."""
    found = []
    for table in TABLES if cluster.namespace else ():
        done = subprocess.run([*cluster.enter(), "iptables", "-t", table, "-S"], capture_output=True, text=True, check=False)
        found += [line for line in done.stdout.splitlines() if "KUBE" in line]
    return found


def remove(cluster: Cluster) -> list[str]:
    """Removes the node's processes, control groups, interfaces, packet filter rules and files; says in words what there was."""
    removed = []
    if end_processes(cluster):
        removed.append("the node's processes")
    groups = cgroups.remove(cgroup_of(cluster))
    if groups:
        removed.append(f"{groups} control groups")
    if cluster.namespace and packet_filter(cluster):
        for table in TABLES:
            for action in ("-F", "-X"):
                subprocess.run([*cluster.enter(), "iptables", "-t", table, action], capture_output=True, check=False)
        removed.append("packet filter rules")
    if cluster.namespace:
        for name in _links(cluster):
            subprocess.run([*cluster.enter(), "ip", "link", "delete", name], capture_output=True, check=False)
            removed.append(f"interface {name}")
    folder = folder_of(cluster)
    if folder.exists():
        shutil.rmtree(folder)
        removed.append(str(folder))
    return removed


def end_processes(cluster: Cluster) -> bool:
    """Kills the node's first process, and with it the kernel ends every process of its namespaces; says whether one ran."""
    found = first = _of_node(cluster)
    while found:
        for pid in found:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.05)
        found = _of_node(cluster)
    return bool(first)


def _of_node(cluster: Cluster) -> list[int]:
    """The marked processes whose children live in another process namespace than ours: the node's, and the one that made it."""
    mark = f"{processes.MARK}={cluster.folder}".encode()
    ours = os.readlink("/proc/self/ns/pid")
    found = []
    for pid in processes.find(cluster):
        with contextlib.suppress(OSError):
            marked = mark in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
            if marked and os.readlink(f"/proc/{pid}/ns/pid_for_children") != ours:
                found.append(pid)
    return found


def _links(cluster: Cluster) -> list[str]:
    """The pod network's interfaces in the cluster's namespace."""
    if not cluster.namespace:
        return []
    shown = subprocess.run([*cluster.enter(), "ip", "-json", "link"], capture_output=True, text=True, check=False)
    return [link["ifname"] for link in json.loads(shown.stdout or "[]") if link["ifname"].startswith(("cni", "veth"))]


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")[:120]
    except OSError:
        return ""


def _lines(path: str) -> list[str]:
    return Path(path).read_text().splitlines()
