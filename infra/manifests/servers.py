"""The objects of one server: spec, Deployment, Service, disruption budget, route, autoscaler."""

from collections.abc import Mapping
from typing import Any

from interlock.infra.config.exposure import RouteKind
from interlock.infra.config.pools import Allocation
from interlock.infra.config.stores import StoreConfig
from interlock.infra.manifests.common import Manifest, labels, manifest, selector
from interlock.infra.manifests.dra import claim_template, use_claims
from interlock.infra.manifests.pods import ENGINE, pod_template
from interlock.infra.manifests.routes import route_objects
from interlock.infra.manifests.scaling import scaler_objects
from interlock.infra.manifests.waivers import carrying
from interlock.infra.naming import content_hash, joined
from interlock.infra.plan.types import ClusterPlan, PlannedPool, PlannedServer, ServerSpec


def server_objects(plan: ClusterPlan, server: PlannedServer, stores: Mapping[str, StoreConfig]) -> list[Manifest]:
    """All objects of ``server``, in the order in which they must exist."""
    config = server.config
    spec = spec_map(plan, server)
    made = deployment(plan, server, stores, spec["metadata"]["name"])
    objects = [spec, *claimed(plan.pool(server.pool), server, made), service(plan, server)]
    if server.max_replicas > 1:
        objects.append(budget(plan, server))
    if config.route:
        objects += route_objects(plan, server, config.route)
    if config.autoscale:
        objects += scaler_objects(plan, server, config.autoscale)
    return [carrying(made, plan.waived) for made in objects]


def server_spec(plan: ClusterPlan, server: PlannedServer) -> ServerSpec:
    """What the pod is told about itself."""
    return ServerSpec(
        server=server.name,
        stack=plan.stack,
        argv=(*server.command, *server.args.to_argv()),
        port=server.args.port,
        engine_gpus=server.engine_gpus,
        times=server.times,
    )


def spec_map(plan: ClusterPlan, server: PlannedServer) -> Manifest:
    """The spec as an immutable ConfigMap named by its content, so that a changed spec is a new object and a rollout."""
    data = {"spec.json": server_spec(plan, server).model_dump_json()}
    name = joined(server.name, "spec", content_hash(data))
    return manifest("v1", "ConfigMap", name, server.namespace, labels(plan.stack, server.name), immutable=True, data=data)


def claimed(pool: PlannedPool, server: PlannedServer, made: Manifest) -> list[Manifest]:
    """The Deployment with its GPUs by claim where the pool gives them so: the claim's template first."""
    if pool.allocation != Allocation.CLAIM.value:
        return [made]
    template = claim_template(pool, server.name, server.namespace, server.gpus, made["metadata"]["labels"])
    pod = made["spec"]["template"]
    pod["spec"] = use_claims(pod["spec"], ENGINE, server.resource, template["metadata"]["name"])
    return [template, made]


def deployment(plan: ClusterPlan, server: PlannedServer, stores: Mapping[str, StoreConfig], spec_name: str) -> Manifest:
    """The Deployment. An autoscaled one carries no replicas of ours."""
    strategy: dict[str, Any] = {"type": "Recreate"}
    if not server.recreate:
        rolling = {"maxSurge": server.surge, "maxUnavailable": server.unavailable}
        strategy = {"type": "RollingUpdate", "rollingUpdate": rolling}
    spec: dict[str, Any] = {
        "replicas": server.replicas,
        "revisionHistoryLimit": 3,
        "progressDeadlineSeconds": server.times.progress_deadline,
        "strategy": strategy,
        "selector": {"matchLabels": selector(plan.stack, server.name)},
        "template": pod_template(plan, server, stores, spec_name),
    }
    if server.config.autoscale:
        del spec["replicas"]
    return manifest("apps/v1", "Deployment", server.name, server.namespace, labels(plan.stack, server.name), spec=spec)


def service(plan: ClusterPlan, server: PlannedServer) -> Manifest:
    """The Service: inside the cluster, or with an address of its own where the route asks for a load balancer."""
    route = server.config.route
    kind = "LoadBalancer" if route and route.kind is RouteKind.LOAD_BALANCER else "ClusterIP"
    ports = [{"name": "http", "port": 80, "targetPort": "http", "protocol": "TCP"}]
    spec = {"type": kind, "selector": selector(plan.stack, server.name), "ports": ports}
    return manifest("v1", "Service", server.name, server.namespace, labels(plan.stack, server.name), spec=spec)


def budget(plan: ClusterPlan, server: PlannedServer) -> Manifest:
    """A drain takes one replica at a time; a single replica gets no budget, which would block every drain."""
    spec = {"maxUnavailable": 1, "selector": {"matchLabels": selector(plan.stack, server.name)}}
    return manifest("policy/v1", "PodDisruptionBudget", server.name, server.namespace, labels(plan.stack, server.name), spec=spec)
