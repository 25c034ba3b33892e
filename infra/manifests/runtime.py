"""The runtime in the cluster: its archive as an immutable ConfigMap of each stack, and how pods run it.

A ReplicaSet of an earlier revision names the ConfigMap of its own time, which therefore stays after an update. All of a stack
belong to one anchor, and the cluster's garbage collector removes them with it.
"""

import base64
import hashlib
from collections.abc import Mapping
from functools import cache
from typing import Any

from interlock.infra.config.cluster import ClusterConfig
from interlock.infra.config.stores import StoreConfig, StoreKind
from interlock.infra.facts.supervisor import ARCHIVE
from interlock.infra.manifests.archive import archive
from interlock.infra.manifests.common import MANAGED_BY, Manifest, manifest
from interlock.infra.naming import content_hash, label, subdomain_problem
from interlock.infra.plan.types import ClusterPlan, PlannedServer

FOLDER = "/opt/interlock"
ARCHIVE_PATH = f"{FOLDER}/{ARCHIVE}"
VOLUME = "runtime"
OWNER = "interlock"
"""How the names begin of what a whole stack owns."""
PART = label("runtime")
"""Label of the ConfigMaps: `anchor`, or `archive`."""


@cache
def digest() -> str:
    """The archive's content in ten letters."""
    return hashlib.sha256(archive()).hexdigest()[:10]


@cache
def _encoded() -> str:
    return base64.b64encode(archive()).decode()


def owner_of(stack: str) -> str:
    """The stack as the owner of a runtime: another stack of the namespace keeps its own when this one is destroyed."""
    name = f"{OWNER}-{stack}"
    return f"{OWNER}-{content_hash(stack)}" if subdomain_problem(name) else name


def anchor_name(owner: str) -> str:
    """Name of the anchor; ``owner``: a stack's, or the name of an object that is made alone."""
    return f"{owner}-runtime"


def runtime_name(owner: str) -> str:
    """Name of the ConfigMap with the archive, by its content."""
    return f"{owner}-runtime-{digest()}"


def runtime_objects(stack: str, namespace: str, owner: str = "") -> list[Manifest]:
    """The anchor, and the archive, which is never changed; of the stack where no ``owner`` is named."""
    owner = owner or owner_of(stack)
    names = {"app.kubernetes.io/managed-by": MANAGED_BY, label("stack"): stack}
    anchor = manifest("v1", "ConfigMap", anchor_name(owner), namespace, names | {PART: "anchor"})
    held = {"immutable": True, "binaryData": {ARCHIVE: _encoded()}}
    return [anchor, manifest("v1", "ConfigMap", runtime_name(owner), namespace, names | {PART: "archive"}, **held)]


def part_of(made: Mapping[str, Any]) -> str:
    """`anchor` or `archive` for an object of the runtime; empty for every other."""
    return str(made["metadata"].get("labels", {}).get(PART, ""))


def runtime_volume(stack: str) -> dict[str, Any]:
    """The volume with the stack's archive."""
    return {"name": VOLUME, "configMap": {"name": runtime_name(owner_of(stack))}}


def runtime_mount() -> dict[str, Any]:
    """Where a container has it."""
    return {"name": VOLUME, "mountPath": FOLDER, "readOnly": True}


def command(*words: str) -> list[str]:
    """A command of the archive. Isolated: neither the working folder nor the user's packages are on its path."""
    return ["python3", "-I", ARCHIVE_PATH, *words]


def needs_archive(server: PlannedServer, stores: Mapping[str, StoreConfig]) -> bool:
    """Whether the server's pods run the archive: as its supervisor, or to copy weights to the node."""
    store = stores.get(server.config.weights or "")
    return server.supervised or (store is not None and store.kind is StoreKind.NODE_SYNC)


def needs_runtime(config: ClusterConfig, plan: ClusterPlan) -> bool:
    """Whether any pod of the stack runs it."""
    stores = {store.name: store for store in config.stores}
    return any(store.prefetch for store in config.stores) or any(needs_archive(server, stores) for server in plan.servers)
