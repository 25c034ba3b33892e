"""The cluster-wide part of a program, and the stores of its namespace."""

import pulumi

from interlock.components._made import planned
from interlock.components.gpu_device_plugin import GpuDevicePlugin
from interlock.components.model_store import ModelStore
from interlock.components.node_pool import NodePool
from interlock.components.priority_classes import PriorityClasses
from interlock.components.tenant import Tenant
from interlock.infra.manifests.sets import StackObjects


def deploy_platform(objects: StackObjects, provider: pulumi.ProviderResource) -> list[pulumi.Resource]:
    """GPU layer, node pools, priority classes and tenants; what a server needs of them before it starts."""
    on = pulumi.ResourceOptions(provider=provider)
    made: list[pulumi.Resource] = []
    if objects.priorities.drafts:
        made.append(PriorityClasses("priorities", planned(objects.priorities), on))
    if objects.gpu_layer.drafts:
        made.append(GpuDevicePlugin("gpu-layer", planned(objects.gpu_layer), on))
    # A cloud's own pool has no objects: it is made by a program of the user's, which gives NodePool a hook.
    made += [NodePool(f"pool-{pool.name}", planned(pool), on) for pool in objects.pools if pool.drafts]
    for tenant in objects.tenants:
        Tenant(f"tenant-{tenant.name}", planned(tenant), on)
    return made


def deploy_stores(objects: StackObjects, on: pulumi.ResourceOptions) -> dict[str, ModelStore]:
    """Every store of the namespace, by name."""
    return {store.name: ModelStore(f"store-{store.name}", planned(store), on) for store in objects.stores}
