"""The objects of one server: Deployment or LeaderWorkerSet, Service, disruption budget, route, monitor, autoscaler."""

from collections.abc import Mapping
from typing import Any

from interlock.infra.config.exposure import RouteKind
from interlock.infra.config.pools import Allocation
from interlock.infra.config.stores import StoreConfig
from interlock.infra.manifests.access import access_map
from interlock.infra.manifests.adapters import adapters_map
from interlock.infra.manifests.carried import FACTS, server_facts
from interlock.infra.manifests.common import Manifest, selector, server_manifest
from interlock.infra.manifests.dra import claim_template
from interlock.infra.manifests.monitoring import scrape_objects
from interlock.infra.manifests.network import server_policy
from interlock.infra.manifests.placed import Draft, finished, put, traced
from interlock.infra.manifests.pods import ROLE, pod_template
from interlock.infra.manifests.routes import route_objects
from interlock.infra.manifests.scaling import scaler_objects
from interlock.infra.manifests.waivers import carrying
from interlock.infra.plan.types import ClusterPlan, PlannedServer, PodRole


def server_objects(plan: ClusterPlan, server: PlannedServer, stores: Mapping[str, StoreConfig]) -> list[Draft]:
    """All objects of ``server``, in the order in which they must exist."""
    config = server.config
    made = group if server.nodes > 1 else deployment
    access = [access_map(plan, server, server.access)] if server.access else []
    listed = [adapters_map(plan, server, config.adapters)] if config.adapters and config.adapters.hot else []
    guarded = [server_policy(plan, server, server.flows)] if server.flows else []
    objects = [*claimed(plan, server), *access, *listed, *guarded, made(plan, server, stores), service(plan, server)]
    if server.max_replicas > 1:
        objects.append(budget(plan, server))
    if config.route:
        objects += route_objects(plan, server, config.route)
    objects += scrape_objects(plan, server, entrance(server))
    if config.autoscale and server.scaling:
        objects += scaler_objects(plan, server, config.autoscale, server.scaling)
    return [carrying(finished(made, f"servers[{server.index}]"), plan.waived) for made in objects]


def claimed(plan: ClusterPlan, server: PlannedServer) -> list[Manifest]:
    """The template of the server's GPU claims, where its pool gives GPUs so."""
    pool = plan.pool(server.pool)
    return [claim_template(plan, pool, server)] if pool.allocation == Allocation.CLAIM.value else []


def deployment(plan: ClusterPlan, server: PlannedServer, stores: Mapping[str, StoreConfig]) -> Manifest:
    """The Deployment. An autoscaled one carries no replicas of ours."""
    strategy: dict[str, Any] = {"type": "Recreate"}
    if not server.recreate:
        rolling = {"maxSurge": server.surge, "maxUnavailable": server.unavailable}
        strategy = {"type": "RollingUpdate", "rollingUpdate": rolling}
    spec: dict[str, Any] = {
        "replicas": put(server.replicas, "replicas", "replicas"),
        "revisionHistoryLimit": 3,
        "progressDeadlineSeconds": put(server.times.progress_deadline, "startup_seconds", "progress"),
        "strategy": put(strategy, "rollout.strategy", "rollout"),
        "selector": {"matchLabels": selector(plan.stack, server.name)},
        "template": pod_template(plan, server, stores, server.pods[0]),
    }
    if server.config.autoscale:
        del spec["replicas"]
    made = server_manifest(plan, server, "apps/v1", "Deployment", spec=spec)
    made["metadata"]["annotations"] = {FACTS: server_facts(plan, server)}
    return made


TOPOLOGY = "leaderworkerset.sigs.k8s.io/exclusive-topology"
"""A replica is put into one domain of this label, and no other replica beside it."""


def group(plan: ClusterPlan, server: PlannedServer, stores: Mapping[str, StoreConfig]) -> Manifest:
    """The LeaderWorkerSet: each replica is a leader and its workers, which start, end and are replaced together."""
    leader, worker = server.pods
    unavailable = server.replicas if server.recreate else server.unavailable
    rolling = {"maxSurge": server.surge, "maxUnavailable": unavailable if unavailable or server.surge else 1}
    spec: dict[str, Any] = {
        "replicas": put(server.replicas, "replicas", "replicas"),
        "rolloutStrategy": {"type": "RollingUpdate", "rollingUpdateConfiguration": put(rolling, "rollout.strategy", "rollout")},
        "startupPolicy": "LeaderCreated",
        "leaderWorkerTemplate": {
            "size": put(server.nodes, "nodes", "layout"),
            # An engine that lost a rank never answers again.
            "restartPolicy": "RecreateGroupOnPodRestart",
            "leaderTemplate": pod_template(plan, server, stores, leader),
            "workerTemplate": pod_template(plan, server, stores, worker),
        },
    }
    if server.config.autoscale:
        del spec["replicas"]
    made = server_manifest(plan, server, *server.workload, spec=spec)
    domain = {TOPOLOGY: put(server.domain, f"pools[{plan.pool(server.pool).index}].domain.label")} if server.domain else {}
    made["metadata"]["annotations"] = {FACTS: server_facts(plan, server), **domain}
    return made


def service(plan: ClusterPlan, server: PlannedServer) -> Manifest:
    """The Service: inside the cluster, or with an address of its own where the route asks for a load balancer."""
    route = server.config.route
    kind = "LoadBalancer" if route and route.kind is RouteKind.LOAD_BALANCER else "ClusterIP"
    ports = [{"name": "http", "port": 80, "targetPort": "http", "protocol": "TCP"}]
    spec = {"type": put(kind, "route"), "selector": {**selector(plan.stack, server.name), **entrance(server)}, "ports": ports}
    made = server_manifest(plan, server, "v1", "Service", spec=spec)
    if route and route.kind is RouteKind.LOAD_BALANCER and route.annotations:
        made["metadata"]["annotations"] = traced(route.annotations, "route.annotations")
    return made


def entrance(server: PlannedServer) -> dict[str, Any]:
    """What singles out the pods that take requests, where others are beside them."""
    group = server.args.group
    return {ROLE: put(PodRole.LEADER.value, "balance", "layout")} if group and group.headless else {}


def budget(plan: ClusterPlan, server: PlannedServer) -> Manifest:
    """A drain takes one replica at a time; a single replica gets no budget, which would block every drain."""
    # A replica that crashes at every start counts as disrupted already: without this it would block the drain of its node.
    bound = {"maxUnavailable": put(1, "replicas"), "unhealthyPodEvictionPolicy": "AlwaysAllow"}
    spec = {**bound, "selector": {"matchLabels": selector(plan.stack, server.name)}}
    return server_manifest(plan, server, "policy/v1", "PodDisruptionBudget", spec=spec)
