"""What one real node is made of: its name, its cards, and where its files lie."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tools.cluster import network
from tools.cluster.state import Cluster

PROCESS = "node"
"""Under this name the node's first process stands in the cluster's state."""
POD_SUBNET = "10.245.0.0/24"
"""Not of the cluster's pod range: those addresses are local in its namespace, so that simulated pods can be reached."""
MODELS = "/var/lib/interlock/models"
"""Where pods of the node find the tiny models, each in a folder named by its family."""


@dataclass(frozen=True, slots=True)
class Node:
    """A real node. ``cards`` simulated GPUs give ``cards * slices`` units; ``cgroup`` is the parent of all its pods' groups."""

    name: str
    address: str
    folder: str
    bin_folder: str
    models: str
    cgroup: str
    cards: int = 1
    slices: int = 1
    labels: tuple[str, ...] = ()
    taints: tuple[str, ...] = ()

    @property
    def units(self) -> int:
        """How many ``nvidia.com/gpu`` it offers."""
        return self.cards * self.slices

    def at(self, *parts: str) -> Path:
        """A path below the node's folder."""
        return Path(self.folder, *parts)

    def save(self) -> Path:
        """Writes the file that the node's first process reads."""
        path = self.at("node.json")
        path.write_text(json.dumps(asdict(self)))
        return path


def folder_of(cluster: Cluster) -> Path:
    """Where the node of ``cluster`` keeps its files."""
    return cluster.folder / "node"


def cgroup_of(cluster: Cluster) -> str:
    """The name of the control group that holds all pods of the node, unique for the cluster."""
    return network.names(cluster)[0]


def load(path: Path) -> Node:
    """The node that ``save`` wrote."""
    raw: dict[str, Any] = json.loads(path.read_text())
    fields: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in raw.items()}
    return Node(**fields)
