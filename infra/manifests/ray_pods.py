"""Pods of a Ray cluster: the head, the pods that take requests, and the workers with GPUs.

KubeRay adds the command (``ray start``), the probes and, to workers, an init container that waits for the head.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from interlock.infra.config.stores import StoreConfig
from interlock.infra.manifests.common import MANAGED_BY
from interlock.infra.manifests.placed import Owned, put
from interlock.infra.manifests.pods import pod_security, pod_template, user_of
from interlock.infra.manifests.ray_container import RAY, ray_environment, ray_lifecycle, start_params
from interlock.infra.manifests.ray_serve import DOOR, PORT
from interlock.infra.naming import ENGINE, label
from interlock.infra.plan.ray_flows import METRICS
from interlock.infra.plan.ray_types import PlannedRayService
from interlock.infra.plan.types import ClusterPlan, PlannedServer, PodRole

ROLE = label("role")
DOORS = 1
"""Replicas of the ingress in one pod."""
HEAD_GRACE = 30
"""Seconds that the head gets to end: it answers no requests."""
SHM = "1Gi"


def head_group(plan: ClusterPlan, service: PlannedRayService, servers: Sequence[PlannedServer], *, scaled: bool) -> dict[str, Any]:
    """The head: no GPUs, and nothing but the cluster's own processes is placed on it."""
    ports = [("gcs-server", 6379), ("dashboard", 8265), ("client", 10001), ("serve", PORT), ("metrics", METRICS)]
    spec = _spec(service, servers, "head", ports)
    # Its autoscaler asks the API server for pods, by an account that KubeRay makes.
    spec["automountServiceAccountToken"] = scaled
    spec["terminationGracePeriodSeconds"] = HEAD_GRACE
    return {
        "serviceType": "ClusterIP",
        "rayStartParams": {"dashboard-host": "0.0.0.0", "num-cpus": "0", **start_params({}, SHM)},
        "template": {"metadata": {"labels": _labels(plan, service, "head")}, "spec": spec},
    }


def ingress_group(plan: ClusterPlan, service: PlannedRayService, servers: Sequence[PlannedServer]) -> dict[str, Any]:
    """Pods without GPUs that take requests: nothing but replicas of the ingress asks for what they offer."""
    spec = _spec(service, servers, "ingress", [("serve", PORT), ("metrics", METRICS)])
    spec["terminationGracePeriodSeconds"] = service.grace
    spec["containers"][0]["lifecycle"] = ray_lifecycle(service.deregistration, service.drain)
    count = put(service.config.ingress_replicas, service.field("ingress_replicas"))
    return {
        "groupName": "ingress",
        **dict.fromkeys(("replicas", "minReplicas", "maxReplicas"), count),
        "rayStartParams": start_params({DOOR: DOORS}, SHM),
        "template": {"metadata": {"labels": _labels(plan, service, "ingress")}, "spec": spec},
    }


def worker_group(plan: ClusterPlan, service: PlannedRayService, server: PlannedServer, stores: Mapping[str, StoreConfig]) -> Owned:
    """The workers of one server: each pod as large as a replica, or as one of its hosts."""
    ray, pods = server.ray, server.pods[0].model_copy(update={"role": PodRole.SERVER})
    bounds = {"minReplicas": server.replicas, "maxReplicas": server.max_replicas}
    fixed = {} if server.config.autoscale else {"replicas": server.replicas}
    group = {
        "groupName": put(server.name, "name"),
        **{name: put(count, "replicas", "replicas") for name, count in (fixed | bounds).items()},
        **({"numOfHosts": put(server.nodes, "nodes", "layout")} if server.nodes > 1 else {}),
        "rayStartParams": put(start_params({ray.marker: ray.per_host}, server.shm), "gpus", "gpus") if ray else {},
        "template": pod_template(plan, server, stores, pods),
    }
    return Owned(group, f"servers[{server.index}]")


def _labels(plan: ClusterPlan, service: PlannedRayService, role: str) -> dict[str, str]:
    own = {"app.kubernetes.io/name": "ray", "app.kubernetes.io/instance": service.name, "app.kubernetes.io/managed-by": MANAGED_BY}
    return {**own, label("stack"): plan.stack, RAY: service.name, ROLE: role}


def _spec(service: PlannedRayService, servers: Sequence[PlannedServer], part: str, ports: Sequence[tuple[str, int]]) -> dict[str, Any]:
    """A pod without GPUs: ``head`` or ``ingress``."""
    asked = {name: put(getattr(service.config, f"{part}_{name}"), service.field(f"{part}_{name}")) for name in ("cpu", "memory")}
    image = servers[0].config.image
    at = f"servers[{servers[0].index}].image"
    container = {
        "name": ENGINE,
        "image": put(service.image, f"{at}.reference", "image"),
        "imagePullPolicy": put(image.pull_policy or "IfNotPresent", f"{at}.pull_policy"),
        "env": ray_environment(service),
        "ports": [{"name": name, "containerPort": number, "protocol": "TCP"} for name, number in ports],
        "resources": {"requests": asked, "limits": {"memory": asked["memory"]}},
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "volumeMounts": [{"name": "shm", "mountPath": "/dev/shm"}, {"name": "tmp", "mountPath": "/tmp"}],
    }
    made: dict[str, Any] = {
        "enableServiceLinks": False,
        "automountServiceAccountToken": False,
        "securityContext": pod_security(user_of(servers[0])),
        "volumes": [{"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": SHM}}, {"name": "tmp", "emptyDir": {}}],
        "containers": [container],
    }
    if service.config.node_selector:
        made["nodeSelector"] = put(dict(service.config.node_selector), service.field("node_selector"))
    if image.pull_secrets:
        made["imagePullSecrets"] = put([{"name": name} for name in image.pull_secrets], f"{at}.pull_secrets")
    return made
