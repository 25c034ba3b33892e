"""LeaderWorkerSets on a local cluster: the operator itself, with its definitions and webhooks from its Go module."""

import json
import shutil
import time
import urllib.request
from pathlib import Path
from typing import Any

import yaml

from tools.cluster import lifecycle, pki, processes
from tools.cluster.extensions import definitions, free_port
from tools.cluster.state import Cluster
from tools.common import ToolError

NAME, PROGRAM = "lws", "lws-manager"
CRDS = ("leaderworkerset.x-k8s.io_leaderworkersets.yaml", "disaggregatedset.x-k8s.io_disaggregatedsets.yaml")
READY_SECONDS = 60
# The operator's own installation asks its webhooks about its own pods only (config/webhook/mutating-patch.yaml).
_OWN_PODS = {"matchExpressions": [{"key": "leaderworkerset.sigs.k8s.io/name", "operator": "Exists"}]}


def install(cluster: Cluster, bin_folder: Path, version: str) -> list[str]:
    """Starts the operator in the cluster's network; returns the webhooks that it made, for ``remove``. Raises ToolError."""
    row = {"module": "sigs.k8s.io/lws", "version": f"v{version}", "folder": "config", "files": [f"crd/bases/{name}" for name in CRDS]}
    row["files"] = [*row["files"], "webhook/manifests.yaml"]
    *crds, hooks = definitions(row)
    files = [f"--filename={path}" for path in crds]
    lifecycle.kubectl(cluster, "apply", "--server-side", "--field-manager=interlock-local", *files)
    lifecycle.kubectl(cluster, "wait", "--for=condition=Established", "--timeout=60s", *files)
    health = _start(cluster, bin_folder)
    _await(cluster, health)
    made = [_reached(cluster, hook) for hook in yaml.safe_load_all(hooks.read_text()) if hook]
    lifecycle.kubectl(cluster, "apply", "--server-side", "-f", "-", given=json.dumps({"apiVersion": "v1", "kind": "List", "items": made}))
    return [f"{hook['kind'].lower()}/{hook['metadata']['name']}" for hook in made]


def remove(cluster: Cluster, made: list[str]) -> None:
    """Takes every group and the webhooks away, and ends the operator; the definitions stay, and do nothing without it."""
    lifecycle.kubectl(cluster, "delete", "leaderworkersets", "--all-namespaces", "--all", "--timeout=60s")
    lifecycle.kubectl(cluster, "delete", "--ignore-not-found", "--timeout=60s", *made)
    process = cluster.processes.pop(NAME, None)
    if process is not None and processes.alive(process):
        processes.end(process)
    cluster.save()


def _start(cluster: Cluster, bin_folder: Path) -> int:
    """Starts the operator; returns the port of its health."""
    folder = cluster.folder / NAME
    folder.mkdir(exist_ok=True)
    pki.issue(cluster, NAME, pki.Identity(NAME))
    for end, name in (("crt", "tls.crt"), ("key", "tls.key")):
        shutil.copy(cluster.folder / "pki" / f"{NAME}.{end}", folder / name)
    cluster.ports[NAME], health = free_port(), free_port()
    config = {
        "apiVersion": "config.lws.x-k8s.io/v1alpha1",
        "kind": "Configuration",
        "leaderElection": {"leaderElect": False},
        "internalCertManagement": {"enable": False},
        "webhook": {"port": cluster.ports[NAME], "host": cluster.address, "certDir": str(folder)},
        "metrics": {"bindAddress": "0"},
        "health": {"healthProbeBindAddress": f"{cluster.address}:{health}"},
    }
    (folder / "config.yaml").write_text(json.dumps(config))
    command = [str(bin_folder / PROGRAM), f"--config={folder / 'config.yaml'}", f"--kubeconfig={cluster.kubeconfig}"]
    processes.spawn(cluster, NAME, command)
    return health


def _await(cluster: Cluster, port: int) -> None:
    until = time.monotonic() + READY_SECONDS
    while time.monotonic() < until:
        try:
            with urllib.request.urlopen(f"http://{cluster.address}:{port}/readyz", timeout=2) as answer:
                if answer.status == 200:
                    return
        except OSError:
            time.sleep(0.3)
    raise ToolError(f"the operator of LeaderWorkerSets is not ready after {READY_SECONDS} s: {cluster.folder / 'logs' / f'{NAME}.log'}", 1)


def _reached(cluster: Cluster, hook: dict[str, Any]) -> dict[str, Any]:
    """A webhook configuration whose webhooks are reached by address, as the operator has no Service here."""
    authority = pki.embed(cluster.folder / "pki" / "ca.crt")
    for each in hook["webhooks"]:
        path = each["clientConfig"]["service"]["path"]
        each["clientConfig"] = {"url": f"https://{cluster.address}:{cluster.ports[NAME]}{path}", "caBundle": authority}
        if any("pods" in rule["resources"] for rule in each["rules"]):
            each["objectSelector"] = _OWN_PODS
    hook["metadata"]["name"] = f"{NAME}-{hook['metadata']['name']}"
    return hook
