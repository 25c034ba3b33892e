"""The first process of a node's namespaces: it makes the mounts, starts the programs, and ends when one of them does.

The kernel ends everything that still runs in a process namespace when its first process ends; nothing else cleans up in here.

usage: python -m tools.node.inside NODE.json   (by tools.node.lifecycle, under unshare)
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from tools.node import cgroups
from tools.node.needs import COVERED
from tools.node.settings import MODELS, Node, load

DEVICE_PLUGINS = Path("/var/lib/kubelet/device-plugins")
PATIENCE_SECONDS = 90.0


def main(path: str) -> int:
    """Runs the node until it is told to stop (0) or one of its programs ends (1)."""
    node = load(Path(path))
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: os._exit(0))
    mount(node)
    Path("/proc/sys/net/ipv4/ip_forward").write_text("1")
    try:
        cgroups.create(node.cgroup)
    except OSError as error:
        print(error, flush=True)
        return 1
    children: dict[int, str] = {}
    for name, argv, ready in programs(node):
        children[start(node, name, argv)] = name
        wait(name, children, ready)
    print(f"node {node.name}: {', '.join(children.values())} run", flush=True)
    while True:
        ended, status = os.waitpid(-1, 0)
        if ended in children:
            return end(children[ended], status)


def mount(node: Node) -> None:
    """Covers the folders that the programs use, then puts the node's own folders below them."""
    _mount("--make-rshared", "/")
    for folder in COVERED:
        _mount("-t", "tmpfs", "-o", "mode=755", "tmpfs", str(folder))
    node.at("kubelet").mkdir()
    for source, target in ((node.at("containerd"), "/var/lib/containerd"), (node.at("kubelet"), "/var/lib/kubelet"), (node.models, MODELS)):
        Path(target).mkdir(parents=True)
        _mount("--bind", str(source), target)


def programs(node: Node) -> list[tuple[str, list[str], Callable[[], bool]]]:
    """The programs in the order of their start: name, command, and what says that it works."""
    kubelet_flags = [f"--config={node.at('kubelet.yaml')}", f"--kubeconfig={node.at('kubelet.kubeconfig')}", "-v=2"]
    kubelet_flags += [f"--hostname-override={node.name}", f"--node-ip={node.address}", f"--node-labels={','.join(node.labels)}"]
    return [
        ("containerd", ["--config", str(node.at("containerd.toml"))], _says(_log(node, "containerd"), b"containerd successfully booted")),
        ("kube-proxy", [f"--config={node.at('kube-proxy.yaml')}"], lambda: True),
        ("kubelet", kubelet_flags, (DEVICE_PLUGINS / "kubelet.sock").exists),
        ("simulated-device-plugin", [f"--count={node.cards}", f"--slices={node.slices}"], lambda: True),
    ]


def _log(node: Node, name: str) -> Path:
    return node.at("..", "logs", f"node-{name}.log")


def _says(log: Path, words: bytes) -> Callable[[], bool]:
    """Whether the log says ``words`` after this call. The socket of containerd is there before it answers the kubelet, who then ends."""
    before = log.stat().st_size if log.exists() else 0
    return lambda: log.exists() and words in log.read_bytes()[before:]


def start(node: Node, name: str, argv: list[str]) -> int:
    """Starts a program with its output in the cluster's log folder."""
    path = os.pathsep.join([node.bin_folder, os.environ.get("PATH", ""), "/usr/sbin", "/sbin"])
    with _log(node, name).open("ab") as log:
        command = [str(Path(node.bin_folder, name)), *argv]
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=os.environ | {"PATH": path}).pid


def wait(name: str, children: dict[int, str], ready: Callable[[], bool]) -> None:
    """Waits until ``ready``; ends the node when a program ends before, or nothing happens for long."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not ready():
        ended, status = os.waitpid(-1, os.WNOHANG)
        if ended in children:
            raise SystemExit(end(children[ended], status))
        if time.monotonic() > deadline:
            raise SystemExit(f"{name} does not work after {PATIENCE_SECONDS:.0f} s")
        time.sleep(0.05)


def end(name: str, status: int) -> int:
    """Says which program ended; the node ends with it."""
    print(f"{name} ended with {os.waitstatus_to_exitcode(status)}: the node ends", flush=True)
    return 1


def _mount(*arguments: str) -> None:
    subprocess.run(["mount", *arguments], check=True)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1]))
