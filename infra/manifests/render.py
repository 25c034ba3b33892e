"""All objects of a plan, in the order in which they must exist."""

from interlock.infra.config.cluster import ClusterConfig, Scope
from interlock.infra.manifests.common import MANAGED_BY, Manifest, manifest
from interlock.infra.manifests.platform import platform_objects
from interlock.infra.manifests.prefetch import prefetch_objects
from interlock.infra.manifests.servers import server_objects
from interlock.infra.manifests.store_bundle import shared_objects
from interlock.infra.manifests.stores import objects_for
from interlock.infra.naming import label
from interlock.infra.plan.stores import NODE_KINDS
from interlock.infra.plan.types import ClusterPlan


def namespace_object(config: ClusterConfig, stack: str) -> Manifest:
    """The stack's namespace under Pod Security ``restricted``; hostPath volumes are refused there, so such stores loosen it."""
    host_path = any(store.kind in NODE_KINDS for store in config.stores)
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
    objects = [] if config.scope is Scope.SERVING else platform_objects(config, plan.stack)
    if config.scope is Scope.PLATFORM:
        return objects
    stores = {store.name: store for store in config.stores}
    objects += [namespace_object(config, plan.stack)] if config.create_namespace else []
    objects += shared_objects(config, plan.stack)
    for store in config.stores:
        objects += [*objects_for(store, plan.stack, config.namespace), *prefetch_objects(config, store, plan.stack)]
    for server in plan.servers:
        objects += server_objects(plan, server, stores)
    return objects
