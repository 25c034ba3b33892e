"""Start, look at and remove a local cluster."""

import shutil
import subprocess
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from tools.cluster import network, pki, plane, processes
from tools.cluster.state import Cluster, load
from tools.common import ToolError, home, locked, say
from tools.node import cgroups

PROGRAMS = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok")


def up(name: str, bin_folder: Path, *, loopback: bool = False, api_port: int | None = None) -> tuple[Cluster, bool]:
    """The running cluster ``name``, and whether it had to be started. A dead or half-started one is removed and made anew.

    Raises ToolError when it cannot start; what had been started by then is removed again, the logs are kept.
    """
    with _locked():
        known = load(name)
        if known is not None:
            dead = what_is_dead(known)
            if not dead:
                return known, False
            say(f"cluster {name} is dead ({', '.join(dead)}): removing what is left of it and starting a new one")
            _remove(known)
        cluster = Cluster(name)
        isolated = not loopback and network.can_isolate()
        cluster.folder.mkdir(parents=True)
        try:
            _start(cluster, bin_folder, isolated, api_port)
        except BaseException as error:
            kept = _keep_logs(cluster)
            _remove(cluster)
            if isinstance(error, ToolError):
                raise ToolError(str(error).replace(str(cluster.folder / "logs"), str(kept)), error.code) from error
            raise
        return cluster, True


def down(name: str) -> list[str]:
    """Removes the cluster ``name`` and whatever a crash left of it; returns what was removed, in words."""
    with _locked():
        try:
            cluster = load(name) or Cluster(name)
        except ToolError:
            cluster = Cluster(name)
        return _remove(cluster)


def what_is_dead(cluster: Cluster) -> list[str]:
    """The programs of ``cluster`` that do not run, or do not answer; empty for a cluster that works."""
    gone = [name for name in PROGRAMS if name not in cluster.processes or not processes.alive(cluster.processes[name])]
    return gone or [name for name in PROGRAMS if not plane.healthy(cluster, name)]


def running(name: str) -> Cluster:
    """The cluster ``name``. Raises ToolError (code 2) that says what to do when there is none or it is dead."""
    cluster = load(name)
    if cluster is None:
        raise ToolError(f"there is no local cluster {name}; `make up` starts it")
    dead = what_is_dead(cluster)
    if dead:
        raise ToolError(
            f"the local cluster {name} is dead: {', '.join(dead)} not running (logs: {cluster.folder / 'logs'}); `make up` replaces it"
        )
    return cluster


def kubectl(cluster: Cluster, *arguments: str, given: str | None = None, kubeconfig: Path | None = None) -> str:
    """Runs kubectl on ``cluster`` as administrator and returns what it prints. Raises ToolError (code 1) with its error."""
    if shutil.which("kubectl") is None:
        raise ToolError("no kubectl on PATH; `uv sync` installs one into .venv/bin")
    command = ["kubectl", f"--kubeconfig={kubeconfig or cluster.kubeconfig}", *arguments]
    done = subprocess.run(command, input=given, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ToolError(f"`kubectl {' '.join(arguments)}` failed: {done.stderr.strip()}", 1)
    return done.stdout


def _locked() -> AbstractContextManager[None]:
    return locked(home() / "run" / ".lock", "waiting for another cluster command to end ...")


def _start(cluster: Cluster, bin_folder: Path, isolated: bool, api_port: int | None) -> None:
    network.create(cluster, isolated, api_port)
    cluster.save()
    pki.create(cluster)
    pki.kubeconfig(cluster, "admin", cluster.kubeconfig)
    plane.start(cluster, bin_folder, {"kube-apiserver": lambda: _bootstrap(cluster)})
    _wait_for_service_account(cluster)


def _bootstrap(cluster: Cluster) -> None:
    as_root = pki.kubeconfig(cluster, "bootstrap", cluster.folder / "pki" / "bootstrap.kubeconfig")
    objects = str(plane.OBJECTS / "bootstrap.yaml")
    kubectl(cluster, "apply", "--server-side", "--field-manager=interlock-local", "-f", objects, kubeconfig=as_root)


def _wait_for_service_account(cluster: Cluster) -> None:
    deadline = time.monotonic() + plane.PATIENCE_SECONDS
    while "default" not in kubectl(cluster, "-n", "default", "get", "serviceaccounts", "-o", "name"):
        if time.monotonic() > deadline:
            raise ToolError(f"the controllers of cluster {cluster.name} made no service account in {plane.PATIENCE_SECONDS:.0f} s", 1)
        time.sleep(0.2)


def _keep_logs(cluster: Cluster) -> Path:
    kept = home() / "logs" / f"cluster-{cluster.name}"
    shutil.rmtree(kept, ignore_errors=True)
    if (cluster.folder / "logs").exists():
        shutil.copytree(cluster.folder / "logs", kept)
    return kept


def _remove(cluster: Cluster) -> list[str]:
    if not cluster.namespace and Path("/run/netns", network.names(cluster)[0]).exists():
        cluster.namespace = network.names(cluster)[0]
    removed = []
    count = processes.stop(cluster)
    if count:
        removed.append(f"{count} processes")
    groups = cgroups.remove(network.names(cluster)[0])
    if groups:
        removed.append(f"{groups} control groups of the real node's pods")
    for mount in _mounts_below(cluster.folder):
        subprocess.run(["umount", "--lazy", mount], capture_output=True, check=False)
        removed.append(f"mount {mount}")
    namespace = network.remove(cluster)
    if namespace:
        removed.append(f"network namespace {namespace}")
    if cluster.folder.exists():
        shutil.rmtree(cluster.folder)
        removed.append(str(cluster.folder))
    return removed


def _mounts_below(folder: Path) -> Sequence[str]:
    points = (line.split()[1].encode().decode("unicode_escape") for line in Path("/proc/mounts").read_text().splitlines())
    return sorted((point for point in points if Path(point).is_relative_to(folder)), reverse=True)
