"""Kinds of others for a local cluster: their definitions from their Go modules, and a simulator in place of their controllers."""

import json
import os
import shutil
import socket
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from tools.cluster import lifecycle, pki, plane, processes
from tools.cluster.state import Cluster
from tools.common import ToolError

TABLE = plane.OBJECTS / "extensions.json"
SIMULATOR = "kwok-extensions"
PORT = 10248
CONTROLLER = "interlock.dev/simulated"
"""What plays the controllers of classes: of storage, of an Ingress, of gateways."""


def groups() -> frozenset[str]:
    """The API groups of the table's definitions."""
    return frozenset(name.partition("_")[0] for row in json.loads(TABLE.read_text()) for name in row["files"])


def install(cluster: Cluster, bin_folder: Path) -> list[str]:
    """Installs all definitions of the table into ``cluster`` and starts the simulator; returns their names with versions.

    Raises ToolError when there is no Go to fetch them with (code 2), or a step fails (code 1).
    """
    rows = json.loads(TABLE.read_text())
    files = [str(path) for row in rows for path in definitions(row)]
    lifecycle.kubectl(cluster, "apply", "--server-side", "--field-manager=interlock-local", *(f"--filename={file}" for file in files))
    lifecycle.kubectl(cluster, "wait", "--for=condition=Established", "--timeout=180s", *(f"--filename={file}" for file in files))
    own = str(plane.OBJECTS / "extensions.yaml")
    lifecycle.kubectl(cluster, "apply", "--server-side", "--field-manager=interlock-local", f"--filename={own}")
    running = cluster.processes.get(SIMULATOR)
    if running is None or not processes.alive(running):
        _simulate(cluster, bin_folder)
    return [f"{row['name']} {row['version']}" for row in rows]


def definitions(row: dict[str, Any]) -> list[Path]:
    """The files of one row, in Go's module cache."""
    if shutil.which("go") is None:
        raise ToolError(f"no Go on PATH to fetch {row['module']}@{row['version']} with; install Go 1.26 or newer (https://go.dev/dl)")
    command = ["go", "mod", "download", "-json", f"{row['module']}@{row['version']}"]
    with tempfile.TemporaryDirectory() as outside:
        environment = os.environ | {"GOWORK": "off", "GOFLAGS": "-mod=mod"}
        done = subprocess.run(command, cwd=outside, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ToolError(f"`{' '.join(command)}` failed: {done.stderr.strip() or done.stdout.strip()}", 1)
    folder = Path(json.loads(done.stdout)["Dir"], row["folder"])
    return [folder / name for name in row["files"]]


def _simulate(cluster: Cluster, bin_folder: Path) -> None:
    port = PORT if cluster.namespace else free_port()
    cluster.ports[SIMULATOR] = port
    flags = {
        "kubeconfig": pki.kubeconfig(cluster, "kwok", cluster.folder / "pki" / "kwok.kubeconfig"),
        "config": plane.OBJECTS / "extension-stages.yaml",
        "manage-all-nodes": "false",
        # It plays no nodes; KWOK wants to be told which, so it gets a label that none has.
        "manage-nodes-with-label-selector": "interlock.dev/none=true",
        "server-address": f"{cluster.address}:{port}",
    }
    processes.spawn(cluster, SIMULATOR, [str(bin_folder / "kwok"), *(f"--{name}={value}" for name, value in flags.items())])


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
