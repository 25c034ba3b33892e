"""Model stores: the objects of a store, and how a pod mounts it."""

from typing import Any

from interlock.infra.config.servers import ServerConfig
from interlock.infra.config.stores import StoreConfig, StoreKind
from interlock.infra.manifests.common import MANAGED_BY, Manifest, manifest
from interlock.infra.naming import label
from interlock.infra.plan.servers import WEIGHTS_DIR

VOLUME = "weights"


def volumes_for(store: StoreConfig, server: ServerConfig) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """(volumes, mounts) by which the pods of ``server`` read ``store``."""
    if store.kind is StoreKind.HOST_PATH:
        source: dict[str, Any] = {"hostPath": {"path": store.path, "type": "Directory"}}
    else:
        source = {"persistentVolumeClaim": {"claimName": store.claim or store.name, "readOnly": True}}
    return [{"name": VOLUME, **source}], [{"name": VOLUME, "mountPath": WEIGHTS_DIR, "readOnly": True}]


def objects_for(store: StoreConfig, stack: str, namespace: str) -> list[Manifest]:
    """Objects that this stack makes for ``store``."""
    if store.kind is not StoreKind.CLAIM:
        return []
    spec: dict[str, Any] = {"accessModes": [store.access.value], "resources": {"requests": {"storage": store.size}}}
    if store.storage_class:
        spec["storageClassName"] = store.storage_class
    names = {"app.kubernetes.io/managed-by": MANAGED_BY, label("stack"): stack, label("store"): store.name}
    return [manifest("v1", "PersistentVolumeClaim", store.name, namespace, names, spec=spec)]
