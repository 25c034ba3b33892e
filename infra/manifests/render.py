"""All objects of a plan, in the order in which they must exist."""

from interlock.infra.config.cluster import ClusterConfig, Scope
from interlock.infra.config.stores import StoreKind
from interlock.infra.manifests.common import MANAGED_BY, Manifest, manifest
from interlock.infra.manifests.servers import server_objects
from interlock.infra.manifests.stores import objects_for
from interlock.infra.naming import label
from interlock.infra.plan.types import ClusterPlan


def namespace_object(config: ClusterConfig, stack: str) -> Manifest:
    """The stack's namespace under Pod Security ``restricted``; hostPath volumes are refused there, so such stores loosen it."""
    host_path = any(store.kind is StoreKind.HOST_PATH for store in config.stores)
    level = "privileged" if host_path else "restricted"
    names = {
        "app.kubernetes.io/managed-by": MANAGED_BY,
        label("stack"): stack,
        "pod-security.kubernetes.io/enforce": level,
        "pod-security.kubernetes.io/warn": "restricted",
    }
    return manifest("v1", "Namespace", config.namespace, None, names)


def render(config: ClusterConfig, plan: ClusterPlan) -> list[Manifest]:
    """Every Kubernetes object of the stack."""
    if config.scope is Scope.PLATFORM:
        return []
    stores = {store.name: store for store in config.stores}
    objects = [namespace_object(config, plan.stack)] if config.create_namespace else []
    for store in config.stores:
        objects += objects_for(store, plan.stack, config.namespace)
    for server in plan.servers:
        weights = config.servers[server.index].weights
        objects += server_objects(plan, server, stores[weights] if weights else None)
    return objects
