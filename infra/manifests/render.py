"""A plan's objects as plain manifests."""

from interlock.infra.config.cluster import ClusterConfig
from interlock.infra.manifests.bundles import stack_objects
from interlock.infra.manifests.placed import Manifest
from interlock.infra.plan.types import ClusterPlan


def render(config: ClusterConfig, plan: ClusterPlan) -> list[Manifest]:
    """Every Kubernetes object of the stack, in the order in which they must exist."""
    return [draft.manifest for draft in stack_objects(config, plan).drafts]


def platform_objects(config: ClusterConfig, plan: ClusterPlan) -> list[Manifest]:
    """The cluster-wide objects among them."""
    made = stack_objects(config, plan)
    return [manifest for each in (made.priorities, made.gpu_layer, *made.pools, *made.tenants) for manifest in each.manifests]
