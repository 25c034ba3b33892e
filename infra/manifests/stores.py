"""Model stores: the objects of a store, and how a pod mounts it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from interlock.infra.config.servers import ServerConfig
from interlock.infra.config.stores import StoreConfig, StoreKind
from interlock.infra.manifests.common import MANAGED_BY, Manifest, manifest
from interlock.infra.manifests.placed import put, traced
from interlock.infra.manifests.prefetch import key_env, sync_container
from interlock.infra.manifests.runtime import runtime_mount
from interlock.infra.naming import joined, label
from interlock.infra.plan.stores import WEIGHTS_DIR, access_mode, cache_key, claim_name
from interlock.infra.plan.types import PlannedServer

VOLUME = "weights"
SOURCE = "weights-source"
CACHE = "compile-cache"
HOST_NAME = "kubernetes.io/hostname"

Volumes = tuple[list[dict[str, Any]], list[dict[str, Any]]]


def store_labels(store: StoreConfig, stack: str) -> dict[str, str]:
    """Labels of every object of a store."""
    return {"app.kubernetes.io/managed-by": MANAGED_BY, label("stack"): stack, label("store"): store.name}


@dataclass(frozen=True, slots=True)
class PodStorage:
    """What the stores of a server add to its pods."""

    volumes: list[dict[str, Any]]
    mounts: list[dict[str, Any]]
    """Mounts of the engine's container."""
    env: list[Any]
    """Credentials of a bucket in its environment."""
    pod: dict[str, Any]
    """Further fields of the pod's spec: init containers, affinity."""


def pod_storage(config: ServerConfig, server: PlannedServer, stores: Mapping[str, StoreConfig], gpu: str) -> PodStorage:
    """Weights, and the compile cache where a server keeps one."""
    store = stores.get(config.weights or "")
    mounted = store is not None and store.kind is not StoreKind.BUCKET
    volumes, mounts = volumes_for(store) if store and mounted else ([], [])
    filling, more = init_for(store, stores.get(store.source or "") if store else None, server)
    kept, kept_mounts = cache_for(stores[config.compile_cache], server, gpu) if config.compile_cache else ([], [])
    affinity = affinity_for(store)
    pod = ({"initContainers": filling} if filling else {}) | ({"affinity": affinity} if affinity else {})
    keys = store.secret if store and store.kind is StoreKind.BUCKET else None
    return PodStorage(
        _put([*volumes, *more], kept), _put(mounts, kept_mounts), [put(each, "weights", "stores") for each in key_env(keys)], pod
    )


def _put(weights: list[dict[str, Any]], cache: list[dict[str, Any]]) -> list[Any]:
    """Parts of a pod, from the store that the server names for each use."""
    return [*(put(each, "weights", "stores") for each in weights), *(put(each, "compile_cache", "stores") for each in cache)]


def volumes_for(store: StoreConfig) -> Volumes:
    """(volumes, mounts) by which pods read the weights in ``store``."""
    return [volume(store, VOLUME, read_only=True)], [{"name": VOLUME, "mountPath": WEIGHTS_DIR, "readOnly": True}]


def volume(store: StoreConfig, name: str, *, read_only: bool) -> dict[str, Any]:
    """The pod volume of a store."""
    if store.kind is StoreKind.IMAGE:
        return {"name": name, "image": {"reference": store.image, "pullPolicy": "IfNotPresent"}}
    if store.kind in (StoreKind.HOST_PATH, StoreKind.NODE_SYNC):
        # A folder that must be there is asked for as such; one that this stack fills is made.
        there = store.kind is StoreKind.HOST_PATH and not store.prefetch
        return {"name": name, "hostPath": {"path": store.path, "type": "Directory" if there else "DirectoryOrCreate"}}
    claim: dict[str, Any] = {"claimName": claim_name(store)}
    return {"name": name, "persistentVolumeClaim": claim | ({"readOnly": True} if read_only else {})}


def affinity_for(store: StoreConfig | None) -> dict[str, Any] | None:
    """Node affinity to the nodes that hold the folder of a host-path store; a local volume carries its own."""
    if store is None or store.kind is not StoreKind.HOST_PATH or not store.nodes:
        return None
    row = {"key": HOST_NAME, "operator": "In", "values": list(store.nodes)}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [row]}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}


def init_for(store: StoreConfig | None, source: StoreConfig | None, server: PlannedServer) -> Volumes:
    """(init containers, further volumes) that fill a node-sync store before the engine starts; empty for every other kind.

    The first pod on a node copies, the others wait for its lock and find the copy complete.
    """
    if store is None or source is None or store.kind is not StoreKind.NODE_SYNC:
        return [], []
    folder = server.args.model.removeprefix(f"{WEIGHTS_DIR}/")
    container = sync_container(
        folder, server.image, [runtime_mount(), {"name": VOLUME, "mountPath": "/target"}, {"name": SOURCE, "mountPath": "/source"}]
    )
    return [container], [volume(source, SOURCE, read_only=True)]


def cache_for(store: StoreConfig, server: PlannedServer, gpu: str) -> Volumes:
    """(volumes, mounts) of a compile cache: a writable folder of the store for this image, GPU, model and TP."""
    key, path = cache_key(server.image, gpu, server.model_id, server.args.engine.tp), server.env["VLLM_CACHE_ROOT"]
    return [volume(store, CACHE, read_only=False)], [{"name": CACHE, "mountPath": path, "subPath": f"compile-cache/{key}"}]


def objects_for(store: StoreConfig, stack: str, namespace: str) -> list[Manifest]:
    """Objects that this stack makes for ``store``, in the order in which they must exist."""
    build = {
        StoreKind.CLAIM: _claim,
        StoreKind.LOCAL: _local,
        StoreKind.NFS: _static,
        StoreKind.JUICEFS: _static,
        StoreKind.OBJECT_STORE: _static,
    }.get(store.kind)
    return build(store, stack, namespace) if build else []


def volume_name(store: StoreConfig, stack: str, node: str = "") -> str:
    """Name of a volume that this stack makes: unique in the cluster by stack and store."""
    return joined(stack, store.name, node)


def _claim(store: StoreConfig, stack: str, namespace: str, **spec: Any) -> list[Manifest]:
    asked = {"requests": {"storage": put(store.size, "size")}}
    body: dict[str, Any] = {"accessModes": put([access_mode(store).value], "access"), "resources": asked, **spec}
    if store.storage_class:
        body["storageClassName"] = put(store.storage_class, "storage_class")
    return [manifest("v1", "PersistentVolumeClaim", store.name, namespace, store_labels(store, stack), spec=body)]


def _volume(store: StoreConfig, stack: str, name: str, source: dict[str, Any], **spec: Any) -> Manifest:
    """A volume that outlives its claim: the data was there before, or took hours to bring."""
    body = {
        "capacity": {"storage": put(store.size, "size")},
        "accessModes": put([access_mode(store).value], "access"),
        "persistentVolumeReclaimPolicy": "Retain",
        **({"mountOptions": put(list(store.mount_options), "mount_options")} if store.mount_options else {}),
        **spec,
        **source,
    }
    return manifest("v1", "PersistentVolume", name, None, store_labels(store, stack), spec=body)


def _static(store: StoreConfig, stack: str, namespace: str) -> list[Manifest]:
    """A volume made for one claim, and the claim; the empty class keeps provisioners and other claims away."""
    name = volume_name(store, stack)
    bound = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "name": store.name, "namespace": namespace}
    made = _volume(store, stack, name, _source(store, name, namespace), storageClassName="", claimRef=bound)
    return [made, *_claim(store, stack, namespace, storageClassName="", volumeName=name)]


def _source(store: StoreConfig, name: str, namespace: str) -> dict[str, Any]:
    if store.kind is StoreKind.NFS:
        return {"nfs": {"server": put(store.server, "server"), "path": put(store.path, "path")}}
    secret = {"nodePublishSecretRef": put({"name": store.secret, "namespace": namespace}, "secret")} if store.secret else {}
    if store.kind is StoreKind.JUICEFS:
        # juicedata/juicefs-csi-driver, static provisioning: any handle that is unique, the file system comes from the Secret.
        return {"csi": {"driver": "csi.juicefs.com", "volumeHandle": name, "fsType": "juicefs", **secret}}
    attributes = {"volumeAttributes": traced(store.attributes, "attributes")} if store.attributes else {}
    return {"csi": {"driver": put(store.driver, "driver"), "volumeHandle": put(store.handle, "handle"), **attributes, **secret}}


def _local(store: StoreConfig, stack: str, namespace: str) -> list[Manifest]:
    """A class that binds when a pod is scheduled, a volume on each named node, and a claim that takes the scheduled node's."""
    name = volume_name(store, stack)
    named = manifest(
        "storage.k8s.io/v1",
        "StorageClass",
        name,
        None,
        store_labels(store, stack),
        provisioner="kubernetes.io/no-provisioner",
        volumeBindingMode="WaitForFirstConsumer",
        reclaimPolicy="Retain",
    )
    volumes = [_local_volume(store, stack, node, name) for node in store.nodes]
    return [named, *volumes, *_claim(store, stack, namespace, storageClassName=name)]


def _local_volume(store: StoreConfig, stack: str, node: str, storage_class: str) -> Manifest:
    row = {"key": HOST_NAME, "operator": "In", "values": put([node], "nodes")}
    where = {"required": {"nodeSelectorTerms": [{"matchExpressions": [row]}]}}
    name = volume_name(store, stack, node.replace(".", "-"))
    return _volume(store, stack, name, {"local": {"path": put(store.path, "path")}}, storageClassName=storage_class, nodeAffinity=where)
