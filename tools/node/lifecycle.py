"""Joins a real node to a running local cluster, and takes it away again."""

import shutil
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from tools import build, toolchain_families
from tools.cluster import lifecycle as clusters
from tools.cluster import processes
from tools.cluster.state import Cluster
from tools.common import ROOT, ToolError, home, say
from tools.engine_env import env
from tools.images import store
from tools.node import configs, needs, remains
from tools.node.settings import PROCESS, Node, cgroup_of, folder_of, load

PATIENCE_SECONDS = 90.0
NEEDED_BYTES = 2 * 10**9
NAMESPACES = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--propagation", "private", "--"]


def up(cluster: Cluster, name: str, *, cards: int, slices: int, labels: Sequence[str], taints: Sequence[str]) -> tuple[Node, bool]:
    """The Ready node of ``cluster``, and whether it had to be started; the rest of a dead one is removed first.

    Raises ToolError when the machine or the cluster cannot carry one (code 2), or it does not become Ready (code 1): then
    everything that was started for it is stopped, and its logs are kept.
    """
    needs.require()
    if not cluster.namespace:
        raise ToolError(f"the cluster {cluster.name} runs on loopback, where pods have no addresses: `make down`, then `make up` as root")
    if known := _running(cluster, name, cards * slices):
        return known, False
    if left := remains.remove(cluster):
        say(f"removed what an earlier node left: {', '.join(left)}")
    bin_folder = build.ensure(toolchain_families.select([], ["node"]))
    images = store.ensure(bin_folder)
    engine = env.ensure()
    env.model(engine, "dense")
    env.require_disk(home(), NEEDED_BYTES, "the node's files")
    node = Node(
        name=name,
        address=cluster.address,
        folder=str(folder_of(cluster)),
        bin_folder=str(bin_folder),
        models=str(env.models(engine)),
        cgroup=cgroup_of(cluster),
        cards=cards,
        slices=slices,
        labels=tuple(labels),
        taints=tuple(taints),
    )
    _start(cluster, node, images)
    return node, True


def _running(cluster: Cluster, name: str, units: int) -> Node | None:
    """The node that runs already. Raises ToolError when it is another one than is asked for."""
    known = folder_of(cluster) / "node.json"
    if PROCESS not in cluster.processes or not processes.alive(cluster.processes[PROCESS]) or not known.exists():
        return None
    node = load(known)
    if (node.name, node.units) != (name, units):
        raise ToolError(
            f"the cluster {cluster.name} has the real node {node.name} with {node.units} GPUs; `python -m tools.node down` first"
        )
    return node


def down(cluster: Cluster) -> list[str]:
    """Takes the node away; the cluster stays. Returns what was removed, in words."""
    known = folder_of(cluster) / "node.json"
    name = load(known).name if known.exists() else ""
    removed = remains.remove(cluster)
    cluster.processes.pop(PROCESS, None)
    if (cluster.folder / "state.json").exists():
        cluster.save()
        if name and not clusters.what_is_dead(cluster):
            clusters.kubectl(cluster, "delete", "node", name, "--ignore-not-found")
    return removed


def status(cluster: Cluster) -> str:
    """One line about the node."""
    if PROCESS not in cluster.processes:
        return f"cluster {cluster.name} has no real node"
    if not processes.alive(cluster.processes[PROCESS]):
        logs = cluster.folder / "logs"
        return f"the real node of cluster {cluster.name} is dead (logs: {logs}/node*.log); `python -m tools.node up` replaces it"
    node = load(folder_of(cluster) / "node.json")
    return f"the real node {node.name} of cluster {cluster.name} runs with {node.units} nvidia.com/gpu"


def enter(cluster: Cluster) -> list[str]:
    """The command prefix that runs a program inside the node's namespaces."""
    maker = cluster.processes[PROCESS].pid
    children = Path(f"/proc/{maker}/task/{maker}/children").read_text().split()
    if not children:
        raise ToolError(status(cluster), 1)
    return ["nsenter", "--target", children[0], "--mount", "--net", "--pid", "--"]


def _start(cluster: Cluster, node: Node, images: Path) -> None:
    try:
        node.at().mkdir()
        store.clone(images, node.at("containerd"))
        configs.write(cluster, node)
        argv = [*NAMESPACES, sys.executable, "-m", "tools.node.inside", str(node.save())]
        processes.spawn(cluster, PROCESS, argv, {"PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"})
        _wait(cluster, node)
    except BaseException as error:
        kept = _keep_logs(cluster)
        down(cluster)
        if isinstance(error, ToolError):
            raise ToolError(f"{error}\n  what was started is stopped again; its logs: {kept}", error.code) from error
        raise


def _wait(cluster: Cluster, node: Node) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    units = f"--for=jsonpath={{.status.allocatable.nvidia\\.com/gpu}}={node.units}"
    for condition in ("--for=create", "--for=condition=Ready", units):
        while True:
            if not processes.alive(cluster.processes[PROCESS]):
                raise ToolError(f"the node {node.name} ended while it started.\n{_end_of_log(cluster)}", 1)
            try:
                clusters.kubectl(cluster, "wait", condition, "--timeout=2s", f"node/{node.name}")
                break
            except ToolError as error:
                if time.monotonic() > deadline:
                    text = f"the node {node.name} is not there after {PATIENCE_SECONDS:.0f} s ({condition})"
                    raise ToolError(f"{text}: {error}\n{_end_of_log(cluster)}", 1) from error


def _keep_logs(cluster: Cluster) -> Path:
    kept = home() / "logs" / f"node-{cluster.name}"
    shutil.rmtree(kept, ignore_errors=True)
    shutil.copytree(cluster.folder / "logs", kept, ignore=lambda _, names: [name for name in names if not name.startswith(PROCESS)])
    return kept


def _end_of_log(cluster: Cluster) -> str:
    log = cluster.folder / "logs" / f"{PROCESS}.log"
    return "\n".join(f"  {line[:300]}" for line in log.read_text(errors="replace").splitlines()[-8:])
