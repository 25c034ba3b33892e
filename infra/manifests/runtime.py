"""The runtime in the cluster: its archive as an immutable ConfigMap of each namespace, and how pods run it.

A ReplicaSet of an earlier revision names the ConfigMap of its own time, which therefore stays after an update. All of a namespace
belong to one anchor, and the cluster's garbage collector removes them with it.
"""

import base64
import hashlib
from collections.abc import Mapping
from functools import cache
from typing import Any

from interlock.infra.config.cluster import ClusterConfig
from interlock.infra.config.stores import StoreConfig, StoreKind
from interlock.infra.manifests.archive import NAME, archive
from interlock.infra.manifests.common import MANAGED_BY, Manifest, manifest
from interlock.infra.naming import label
from interlock.infra.plan.types import ClusterPlan, PlannedServer

FOLDER = "/opt/interlock"
ARCHIVE = f"{FOLDER}/{NAME}"
VOLUME = "runtime"
OWNER = "interlock"
"""Whose runtime it is, in the names: of a whole namespace this, of an object that is made alone its own."""
PART = label("runtime")
"""Label of the ConfigMaps: `anchor`, or `archive`."""


@cache
def digest() -> str:
    """The archive's content in ten letters."""
    return hashlib.sha256(archive()).hexdigest()[:10]


@cache
def _encoded() -> str:
    return base64.b64encode(archive()).decode()


def anchor_name(owner: str = OWNER) -> str:
    """Name of the anchor."""
    return f"{owner}-runtime"


def runtime_name(owner: str = OWNER) -> str:
    """Name of the ConfigMap with the archive, by its content."""
    return f"{owner}-runtime-{digest()}"


def runtime_objects(stack: str, namespace: str, owner: str = OWNER) -> list[Manifest]:
    """The anchor, and the archive, which is never changed."""
    names = {"app.kubernetes.io/managed-by": MANAGED_BY, label("stack"): stack}
    anchor = manifest("v1", "ConfigMap", anchor_name(owner), namespace, names | {PART: "anchor"})
    held = {"immutable": True, "binaryData": {NAME: _encoded()}}
    return [anchor, manifest("v1", "ConfigMap", runtime_name(owner), namespace, names | {PART: "archive"}, **held)]


def part_of(made: Mapping[str, Any]) -> str:
    """`anchor` or `archive` for an object of the runtime; empty for every other."""
    return str(made["metadata"].get("labels", {}).get(PART, ""))


def runtime_volume() -> tuple[dict[str, Any], dict[str, Any]]:
    """(volume, mount) of the archive."""
    return {"name": VOLUME, "configMap": {"name": runtime_name()}}, {"name": VOLUME, "mountPath": FOLDER, "readOnly": True}


def command(*words: str) -> list[str]:
    """A command of the archive. Isolated: neither the working folder nor the user's packages are on its path."""
    return ["python3", "-I", ARCHIVE, *words]


def needs_archive(server: PlannedServer, stores: Mapping[str, StoreConfig]) -> bool:
    """Whether the server's pods run the archive: as its supervisor, or to copy weights to the node."""
    store = stores.get(server.config.weights or "")
    return server.supervised or (store is not None and store.kind is StoreKind.NODE_SYNC)


def needs_runtime(config: ClusterConfig, plan: ClusterPlan) -> bool:
    """Whether any pod of the stack runs it."""
    stores = {store.name: store for store in config.stores}
    return any(store.prefetch for store in config.stores) or any(needs_archive(server, stores) for server in plan.servers)
