"""What is known about a cluster: its addresses, ports and processes, kept in ``state.json``."""

import json
import os
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tools.common import ToolError, home

NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,22}[a-z0-9])?")
POD_RANGE = "10.244.0.0/16"
# KWOK hands out addresses of this range for a pod whose node has no pod range yet; apart from POD_RANGE, the two cannot clash.
SPARE_POD_RANGE = "10.243.0.0/16"
SERVICE_RANGE = "10.96.0.0/16"
# A load balancer's address is its cluster IP with the second number 97: unique because cluster IPs are.
BALANCER_RANGE = "10.97.0.0/16"
KUBERNETES_SERVICE = "10.96.0.1"
LOCAL_RANGES = (POD_RANGE, SPARE_POD_RANGE, SERVICE_RANGE, BALANCER_RANGE)


@dataclass(slots=True)
class Process:
    """A process that was started: ``started`` is its start time in clock ticks, so that a recycled pid is not taken for it."""

    pid: int
    started: int
    argv: list[str]


@dataclass(slots=True)
class Cluster:
    """One local cluster. ``namespace`` is empty on loopback; ``address`` is where its servers listen."""

    name: str
    address: str = "127.0.0.1"
    namespace: str = ""
    ports: dict[str, int] = field(default_factory=dict)
    processes: dict[str, Process] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not NAME.fullmatch(self.name):
            raise ToolError(f"--name {self.name}: a cluster's name has 1 to 24 lowercase letters, digits and inner hyphens")

    @property
    def folder(self) -> Path:
        """Everything of this cluster lies below it, and ``down`` removes it."""
        return home() / "run" / self.name

    @property
    def kubeconfig(self) -> Path:
        """The administrator's kubeconfig; its one context is ``context``."""
        return self.folder / "kubeconfig"

    @property
    def context(self) -> str:
        """The name that a stack gives to say which cluster it means."""
        return f"interlock-{self.name}"

    @property
    def server(self) -> str:
        """The API server's URL as the host sees it."""
        return f"https://{self.address}:{self.ports['kube-apiserver']}"

    def enter(self) -> list[str]:
        """The command prefix that runs a program in the cluster's network; empty on loopback."""
        return ["nsenter", f"--net=/run/netns/{self.namespace}", "--"] if self.namespace else []

    def save(self) -> None:
        """Writes state.json in one step."""
        spare = self.folder / ".state.json"
        spare.write_text(json.dumps({"version": 1} | asdict(self), indent=1))
        spare.replace(self.folder / "state.json")


def load(name: str) -> Cluster | None:
    """The cluster ``name``, or None when there is none. Raises ToolError for a state file that is not ours."""
    path = Cluster(name).folder / "state.json"
    if not path.exists():
        return None
    try:
        raw: dict[str, Any] = json.loads(path.read_text())
        if raw.pop("version") != 1:
            raise ValueError("it has another version")
        processes = {key: Process(**value) for key, value in raw.pop("processes").items()}
        return Cluster(processes=processes, **raw)
    except (ValueError, KeyError, TypeError) as error:
        raise ToolError(f"{path} cannot be read ({error}); `python -m tools.cluster down --name {name}` removes this cluster") from error


def everything(root: Path | None = None) -> Iterator[str]:
    """The names of all clusters that have a folder."""
    at = root or home() / "run"
    if at.is_dir():
        yield from sorted(entry for entry in os.listdir(at) if (at / entry).is_dir())
