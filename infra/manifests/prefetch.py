"""Bringing weights: a Job per model and revision that fills a store, and the copy to a node's own disk."""

from typing import Any

from interlock.infra.catalog.tables import table
from interlock.infra.config.cluster import ClusterConfig
from interlock.infra.config.stores import PrefetchConfig, StoreConfig, StoreKind
from interlock.infra.config.taints import taint
from interlock.infra.manifests.common import MANAGED_BY, Manifest, manifest
from interlock.infra.manifests.placed import put
from interlock.infra.manifests.runtime import command, digest, runtime_mount, runtime_volume
from interlock.infra.naming import content_hash, joined, label
from interlock.infra.plan.stores import claim_name, folder, tolerated

CONTAINER = "weights"
KEYS = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
"""Variables of a bucket's keys, and the keys of the Secret that holds them."""
NEVER = 2
"""Exit code of the program for what a retry cannot help."""
DEADLINE = 6 * 3600
"""Seconds that a download may take: 100 MB/s bring 2 TB in that time."""


def tools_image() -> str:
    """The plain Python image."""
    return str(table("tools_image.json")["image"])


def sync_container(path: str, image: str, mounts: list[dict[str, Any]]) -> dict[str, Any]:
    """The init container that copies one folder of the source to the node. It runs on the engine's image, which is there anyway."""
    return {
        "name": "weights-sync",
        "image": image,
        "command": command("weights"),
        "args": ["sync", "--source", f"/source/{path}", "--target", f"/target/{path}"],
        # The folder of the node belongs to root.
        "securityContext": {"runAsUser": 0, "runAsNonRoot": False, "allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
        "resources": {"requests": {"cpu": "500m", "memory": "256Mi"}, "limits": {"memory": "1Gi"}},
        "volumeMounts": mounts,
    }


def key_env(secret: str | None) -> list[dict[str, Any]]:
    """The variables with a bucket's keys, from the Secret that holds them; none without one: a service account has access then."""
    names = KEYS if secret else ()
    return [{"name": name, "valueFrom": {"secretKeyRef": {"name": secret, "key": name}}} for name in names]


def prefetch_objects(config: ClusterConfig, store: StoreConfig, stack: str) -> list[Manifest]:
    """The Jobs that fill ``store``: one per model and revision, for host paths one per node as well."""
    nodes: tuple[str, ...] = store.nodes if store.kind is StoreKind.HOST_PATH else ("",)
    return [_job(config, store, each, node, stack) for each in store.prefetch for node in nodes]


def job_name(config: ClusterConfig, store: StoreConfig, prefetch: PrefetchConfig, node: str) -> str:
    """Name of a Job: a changed revision, runtime or image makes another Job, the same ones find it done."""
    # What a Job's pod is made of can never be changed: other ways out of the cluster make another Job.
    ways = config.conventions.model_dump(mode="json", include={"registry", "proxy", "certificates"}, exclude_none=True)
    made_of = [prefetch.model_dump(mode="json"), node, digest(), tools_image(), *([ways] if ways else [])]
    return joined(store.name, "fetch", content_hash(made_of))


def _job(config: ClusterConfig, store: StoreConfig, prefetch: PrefetchConfig, node: str, stack: str) -> Manifest:
    names = {
        "app.kubernetes.io/name": "interlock-weights",
        "app.kubernetes.io/managed-by": MANAGED_BY,
        label("stack"): stack,
        label("store"): store.name,
    }
    never = {"action": "FailJob", "onExitCodes": {"containerName": CONTAINER, "operator": "In", "values": [NEVER]}}
    spec = {
        "completions": 1,
        "parallelism": 1,
        "backoffLimit": 20,
        "activeDeadlineSeconds": DEADLINE,
        # A second pod starts only when the first is gone: one writer, also when a node is lost.
        "podReplacementPolicy": "Failed",
        "podFailurePolicy": {"rules": [never, {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}]},
        "template": {"metadata": {"labels": names}, "spec": _pod(config, store, prefetch, node, stack)},
    }
    return manifest("batch/v1", "Job", job_name(config, store, prefetch, node), put(config.namespace, "namespace"), names, spec=spec)


def _pod(config: ClusterConfig, store: StoreConfig, prefetch: PrefetchConfig, node: str, stack: str) -> dict[str, Any]:
    runtime, mount = runtime_volume(stack), runtime_mount()
    on_node = store.kind is StoreKind.HOST_PATH
    target: dict[str, Any] = {"hostPath": {"path": store.path, "type": "DirectoryOrCreate"}}
    if not on_node:
        target = {"persistentVolumeClaim": {"claimName": claim_name(store)}}
    user = {"runAsUser": 0, "runAsNonRoot": False} if on_node else {"runAsUser": 2000, "runAsNonRoot": True}
    pod: dict[str, Any] = {
        "restartPolicy": "Never",
        "enableServiceLinks": False,
        "automountServiceAccountToken": False,
        "terminationGracePeriodSeconds": 5,
        "tolerations": [taint(text).toleration for text in tolerated(config, store.name)],
        "securityContext": {
            **user,
            "runAsGroup": user["runAsUser"],
            "fsGroup": 2000,
            "fsGroupChangePolicy": "OnRootMismatch",
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "volumes": [runtime, {"name": "store", **target}],
        "containers": [_container(prefetch, [mount, {"name": "store", "mountPath": "/store"}])],
    }
    if prefetch.service_account:
        pod["serviceAccountName"] = prefetch.service_account
    if node:
        pod["nodeSelector"] = {"kubernetes.io/hostname": node}
    return pod


def _container(prefetch: PrefetchConfig, mounts: list[dict[str, Any]]) -> dict[str, Any]:
    args = ["fetch", *_from(prefetch), "--model", prefetch.model, "--revision", prefetch.revision]
    args += ["--target", f"/store/{folder(prefetch)}", *(part for pattern in prefetch.ignore for part in ("--ignore", pattern))]
    token = {"secretKeyRef": {"name": prefetch.token_secret, "key": "token"}}
    return {
        "name": CONTAINER,
        "image": prefetch.image or tools_image(),
        "imagePullPolicy": "IfNotPresent",
        "command": command("weights"),
        "args": args,
        "env": [*([{"name": "HF_TOKEN", "valueFrom": token}] if prefetch.token_secret else []), *key_env(prefetch.secret)],
        "resources": {"requests": {"cpu": "500m", "memory": "256Mi"}, "limits": {"memory": "1Gi"}},
        "securityContext": {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}},
        "volumeMounts": mounts,
    }


def _from(prefetch: PrefetchConfig) -> list[str]:
    """Where the files come from, as arguments of the loader."""
    stated = {"source": prefetch.source, "endpoint": prefetch.address, "region": prefetch.region}
    return [word for name, value in stated.items() if value for word in (f"--{name}", value)]
