"""The pod template of a server."""

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from interlock.infra.config.pools import PoolBackend
from interlock.infra.config.servers import ServerConfig
from interlock.infra.config.stores import StoreConfig
from interlock.infra.manifests.common import labels
from interlock.infra.manifests.node_pools import DO_NOT_DISRUPT
from interlock.infra.manifests.stores import pod_storage
from interlock.infra.naming import label
from interlock.infra.plan.servers import CACHE_DIR
from interlock.infra.plan.types import ClusterPlan, PlannedServer

ENGINE = "engine"
USER = 2000
"""UID of the stock image's ``vllm`` user."""
SPEC_DIR = "/etc/interlock"
PROBE_PERIOD = 10


def pod_template(plan: ClusterPlan, server: PlannedServer, stores: Mapping[str, StoreConfig], spec_name: str) -> dict[str, Any]:
    """Metadata and spec of the server's pods, the user's patch merged last."""
    config = server.config
    pool = plan.pool(server.pool)
    storage = pod_storage(config, server, stores, pool.gpu)
    tolerations = [{"key": key, "operator": "Exists", "effect": "NoSchedule"} for key in pool.taints]
    spec: dict[str, Any] = {
        "enableServiceLinks": False,
        "automountServiceAccountToken": False,
        "terminationGracePeriodSeconds": server.times.grace,
        "nodeSelector": dict(pool.selector),
        "tolerations": [*tolerations, *deepcopy(list(config.extra.tolerations))],
        "securityContext": pod_security(),
        "volumes": [
            {"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": server.shm}},
            {"name": "cache", "emptyDir": {}},
            {"name": "tmp", "emptyDir": {}},
            {"name": "spec", "configMap": {"name": spec_name}},
            *storage.volumes,
        ],
        "containers": [engine_container(server, config, storage.mounts)],
        **storage.pod,
    }
    if config.priority_class:
        spec["priorityClassName"] = plan.priority_classes.get(config.priority_class, config.priority_class)
    if config.image.pull_secrets:
        spec["imagePullSecrets"] = [{"name": name} for name in config.image.pull_secrets]
    # Karpenter gives back a node under a serving pod otherwise.
    disruption = {DO_NOT_DISRUPT: "true"} if pool.backend == PoolBackend.KARPENTER.value else {}
    metadata = {
        "labels": {**labels(plan.stack, server.name), label("pool"): server.pool},
        "annotations": {label("model"): server.model_id, **disruption, **config.extra.annotations},
    }
    return {"metadata": metadata, "spec": merged(spec, config.extra.pod_patch)}


def pod_security() -> dict[str, Any]:
    """Pod Security ``restricted``."""
    return {
        "runAsNonRoot": True,
        "runAsUser": USER,
        "runAsGroup": USER,
        "fsGroup": USER,
        "fsGroupChangePolicy": "OnRootMismatch",
        "seccompProfile": {"type": "RuntimeDefault"},
    }


def engine_container(server: PlannedServer, config: ServerConfig, mounts: list[dict[str, Any]]) -> dict[str, Any]:
    """The engine's container."""
    port = server.args.port
    container: dict[str, Any] = {
        "name": ENGINE,
        "image": server.image,
        "imagePullPolicy": config.image.pull_policy or "IfNotPresent",
        "command": list(server.command),
        "args": list(server.args.to_argv()),
        "env": environment(server, config),
        "ports": [{"name": "http", "containerPort": port, "protocol": "TCP"}],
        "resources": {
            "requests": {"cpu": server.cpu, "memory": server.memory, server.resource: str(server.gpus)},
            "limits": {"memory": server.memory, server.resource: str(server.gpus)},
        },
        **probes(server),
        "lifecycle": {"preStop": {"sleep": {"seconds": server.times.deregistration}}},
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "volumeMounts": [
            {"name": "shm", "mountPath": "/dev/shm"},
            {"name": "cache", "mountPath": CACHE_DIR},
            {"name": "tmp", "mountPath": "/tmp"},
            {"name": "spec", "mountPath": SPEC_DIR, "readOnly": True},
            *mounts,
        ],
    }
    return container


def environment(server: PlannedServer, config: ServerConfig) -> list[dict[str, Any]]:
    """Environment in a stable order; the hub token comes from an existing Secret."""
    # A UID that the image does not know has no name and no home: libraries that ask for either would crash.
    fixed = {"HOME": CACHE_DIR, "USER": "vllm"}
    env: list[dict[str, Any]] = [{"name": name, "value": value} for name, value in sorted((fixed | server.env).items())]
    if config.hub_token_secret:
        env.append({"name": "HF_TOKEN", "valueFrom": {"secretKeyRef": {"name": config.hub_token_secret, "key": "token"}}})
    return env


def probes(server: PlannedServer) -> dict[str, Any]:
    """Startup for the whole load time, readiness by HTTP, a patient liveness with a short grace of its own."""
    get = {"httpGet": {"path": "/health", "port": "http"}, "timeoutSeconds": 5}
    return {
        "startupProbe": {**deepcopy(get), "periodSeconds": PROBE_PERIOD, "failureThreshold": -(-server.times.startup // PROBE_PERIOD)},
        "readinessProbe": {**deepcopy(get), "periodSeconds": 5, "failureThreshold": 3},
        "livenessProbe": {**deepcopy(get), "periodSeconds": PROBE_PERIOD, "failureThreshold": 6, "terminationGracePeriodSeconds": 30},
    }


def merged(base: Any, patch: Any) -> Any:
    """``patch`` merged into ``base``: mappings merge, lists of named items merge by name, everything else is replaced; None removes."""
    if isinstance(base, Mapping) and isinstance(patch, Mapping):
        result = {key: deepcopy(value) for key, value in base.items() if not (key in patch and patch[key] is None)}
        return result | {key: merged(base.get(key), value) for key, value in patch.items() if value is not None}
    if _named(base) and _named(patch):
        by_name = {item["name"]: item for item in patch}
        kept = [merged(item, by_name.pop(item["name"])) if item["name"] in by_name else deepcopy(item) for item in base]
        return kept + [deepcopy(item) for item in by_name.values()]
    return deepcopy(patch)


def _named(items: Any) -> bool:
    return isinstance(items, list) and bool(items) and all(isinstance(item, Mapping) and "name" in item for item in items)
