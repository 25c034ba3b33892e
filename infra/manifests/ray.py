"""The objects of one RayService: the RayService itself, network policies and disruption budgets."""

from collections.abc import Mapping, Sequence
from typing import Any

from interlock.infra.config.ray import RayUpgrade
from interlock.infra.config.stores import StoreConfig
from interlock.infra.manifests.carried import FACTS, server_facts
from interlock.infra.manifests.common import MANAGED_BY, Manifest, manifest
from interlock.infra.manifests.network import policy
from interlock.infra.manifests.placed import Draft, Encoded, Owned, finished, put
from interlock.infra.manifests.ray_container import RAY
from interlock.infra.manifests.ray_pods import ROLE, head_group, ingress_group, worker_group
from interlock.infra.manifests.ray_serve import PORT, serve_config
from interlock.infra.manifests.routes import route_objects
from interlock.infra.manifests.waivers import carrying
from interlock.infra.naming import joined, label
from interlock.infra.plan.ray_flows import METRICS
from interlock.infra.plan.ray_types import PlannedRayService
from interlock.infra.plan.types import ClusterPlan, PlannedServer

UPGRADES = {RayUpgrade.SURGE: "NewCluster", RayUpgrade.RECREATE: "None"}
"""``None``: KubeRay leaves a changed cluster as it is, and the whole object is replaced instead."""
DASHBOARD = 8265
AUTOSCALER = {
    "resources": {"requests": {"cpu": "200m", "memory": "512Mi"}, "limits": {"memory": "512Mi"}},
    "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
}
"""The container that KubeRay puts beside the head where Serve scales."""
OPERATOR = {"app.kubernetes.io/component": "kuberay-operator"}
"""Label of the operator's pods, by its chart and by its own manifests."""


def ray_objects(plan: ClusterPlan, service: PlannedRayService, stores: Mapping[str, StoreConfig]) -> list[Draft]:
    """All objects of ``service`` in the order in which they must exist; the Secret with its token is made before them."""
    servers = members(plan, service)
    made = [*policies(plan, service), ray_service(plan, service, servers, stores), *budgets(plan, service, servers)]
    drafts = [finished(each, service.owner) for each in made]
    for each in servers:
        found = route_objects(plan, each, each.config.route) if each.config.route else []
        drafts += [finished(route, f"servers[{each.index}]") for route in found]
    return [carrying(draft, plan.waived) for draft in drafts]


def members(plan: ClusterPlan, service: PlannedRayService) -> list[PlannedServer]:
    """The servers of ``service``."""
    return [each for each in plan.servers if each.name in service.servers]


def names(plan: ClusterPlan, service: PlannedRayService) -> dict[str, str]:
    """Labels of every object of ``service``."""
    return {
        "app.kubernetes.io/name": "ray",
        "app.kubernetes.io/instance": service.name,
        "app.kubernetes.io/managed-by": MANAGED_BY,
        **selector(plan, service),
    }


def selector(plan: ClusterPlan, service: PlannedRayService) -> dict[str, str]:
    """Labels by which all pods of ``service`` are found, those of two clusters during a change too."""
    return {label("stack"): plan.stack, RAY: service.name}


def ray_service(
    plan: ClusterPlan, service: PlannedRayService, servers: Sequence[PlannedServer], stores: Mapping[str, StoreConfig]
) -> Manifest:
    """The RayService."""
    spec = {
        "upgradeStrategy": {"type": put(UPGRADES[service.upgrade], service.field("upgrade"), "upgrade")},
        "rayClusterDeletionDelaySeconds": put(service.deletion_delay, service.field("drain"), "deletion_delay"),
        "serveConfigV2": Encoded(serve_config(service, servers), indent=2),
        "serveService": {"metadata": {"name": service.name}, "spec": {"ports": [{"name": "serve", "port": PORT}]}},
        "rayClusterConfig": ray_cluster(plan, service, servers, stores),
    }
    made = _object(plan, service, ("ray.io/v1", "RayService", ""), spec)
    carried = {each.args.served_model_name: Owned(server_facts(plan, each).value, f"servers[{each.index}]") for each in servers}
    made["metadata"]["annotations"] = {FACTS: Encoded({"servers": carried})}
    return made


def ray_cluster(
    plan: ClusterPlan, service: PlannedRayService, servers: Sequence[PlannedServer], stores: Mapping[str, StoreConfig]
) -> dict[str, Any]:
    """The cluster: a head without GPUs, pods that take requests, a group of workers for each server."""
    scaled = any(each.config.autoscale for each in servers)
    redis = service.config.redis
    secret = {"redisPassword": {"valueFrom": {"secretKeyRef": {"name": redis.secret, "key": "password"}}}} if redis and redis.secret else {}
    return {
        "rayVersion": put(service.ray, f"servers[{servers[0].index}].image", "image"),
        "authOptions": {"mode": "token", "secretName": put(service.token_secret, service.field("token_secret"))},
        **({"enableInTreeAutoscaling": True, "autoscalerOptions": AUTOSCALER} if scaled else {}),
        **({"gcsFaultToleranceOptions": put({"redisAddress": redis.address, **secret}, service.field("redis"))} if redis else {}),
        "headGroupSpec": head_group(plan, service, servers, scaled=scaled),
        "workerGroupSpecs": [ingress_group(plan, service, servers), *(worker_group(plan, service, each, stores) for each in servers)],
    }


def token_secret(plan: ClusterPlan, service: PlannedRayService) -> Manifest:
    """The Secret that opens the cluster, without its content, which is made when it is."""
    return manifest("v1", "Secret", service.token_secret, plan.namespace, names(plan, service), type="Opaque")


def policies(plan: ClusterPlan, service: PlannedRayService) -> list[Manifest]:
    """Who may reach the pods: each other, and who is planned to; the dashboard is reached by the operator alone, whatever is planned."""
    mine = {"podSelector": {"matchLabels": selector(plan, service)}}
    operator = {
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": put(service.operator, "platform.kuberay.namespace")}},
        "podSelector": {"matchLabels": OPERATOR},
    }
    head = {"podSelector": {"matchLabels": {**selector(plan, service), ROLE: "head"}}}
    every: dict[str, Any] = {**mine, "policyTypes": ["Ingress"], "ingress": [{"from": [mine]}, {"ports": [_port(PORT), _port(METRICS)]}]}
    every = policy(service.flows, selector(plan, service), plan.namespace) if service.flows else every
    asked = {"policyTypes": ["Ingress"], "ingress": [{"from": [operator], "ports": [_port(DASHBOARD), _port(PORT)]}]}
    made: dict[str, dict[str, Any]] = {"ray": every, "ray-head": {**head, **asked}}
    return [_object(plan, service, ("networking.k8s.io/v1", "NetworkPolicy", part), spec) for part, spec in made.items()]


def _port(number: int) -> dict[str, Any]:
    return {"protocol": "TCP", "port": number}


def budgets(plan: ClusterPlan, service: PlannedRayService, servers: Sequence[PlannedServer]) -> list[Manifest]:
    """How many pods a drain leaves. KubeRay's objects have no scale, so a budget states what must stay.

    A head that keeps the cluster's state alone must stay; a single replica gets no budget, which would block every drain.
    """
    kept = {} if service.config.redis else {"head": (1, service.field("redis"), {ROLE: "head"})}
    kept |= {"ingress": (service.config.ingress_replicas - 1, service.field("ingress_replicas"), {ROLE: "ingress"})}
    for each in servers:
        kept |= {each.name: (each.replicas - 1, f"servers[{each.index}].replicas", {label("server"): each.name})}
    return [
        _object(
            plan,
            service,
            ("policy/v1", "PodDisruptionBudget", part),
            {"minAvailable": put(least, field), "selector": {"matchLabels": {**selector(plan, service), **pods}}},
        )
        for part, (least, field, pods) in kept.items()
        if least > 0
    ]


def _object(plan: ClusterPlan, service: PlannedRayService, what: tuple[str, str, str], spec: Mapping[str, Any]) -> Manifest:
    """An object of the service; ``what``: apiVersion, kind and what its name ends in."""
    version, kind, part = what
    made = manifest(version, kind, joined(service.name, part), None, names(plan, service), spec=dict(spec))
    made["metadata"]["namespace"] = put(plan.namespace, "namespace")
    return made
