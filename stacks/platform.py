"""The cluster-wide part of a program, and the stores of its namespace."""

import pulumi

from interlock.components.gpu_device_plugin import GpuDevicePlugin
from interlock.components.model_store import ModelStore
from interlock.components.node_pool import NodePool
from interlock.components.priority_classes import PriorityClasses
from interlock.components.tenant import Tenant
from interlock.infra.config import ClusterConfig
from interlock.infra.config.pools import PoolBackend
from interlock.infra.manifests.platform import ObjectSet, gpu_layer, node_pool
from interlock.infra.manifests.priority import priority_objects
from interlock.infra.manifests.quota import tenant_objects
from interlock.infra.manifests.store_bundle import store_bundle


def deploy_platform(config: ClusterConfig, stack: str, provider: pulumi.ProviderResource) -> list[pulumi.Resource]:
    """GPU layer, node pools, priority classes and tenants; what a server needs of them before it starts."""
    on = pulumi.ResourceOptions(provider=provider)
    made: list[pulumi.Resource] = []
    classes = priority_objects(config, stack)
    if classes:
        made.append(PriorityClasses("priorities", {"spec": ObjectSet(manifests=tuple(classes))}, on))
    layer = gpu_layer(config, stack)
    if layer.manifests:
        made.append(GpuDevicePlugin("gpu-layer", {"spec": layer}, on))
    for pool in config.pools:
        objects = node_pool(pool, stack)
        # A cloud's own pool is made by a program of the user's, which gives NodePool a hook.
        if objects.manifests and pool.backend is not PoolBackend.MANAGED:
            made.append(NodePool(f"pool-{pool.name}", {"spec": objects}, on))
    for tenant in config.tenants:
        spec = ObjectSet(manifests=tuple(tenant_objects(config, tenant, stack)))
        Tenant(f"tenant-{tenant.name}", {"spec": spec}, on)
    return made


def deploy_stores(config: ClusterConfig, stack: str, on: pulumi.ResourceOptions) -> dict[str, ModelStore]:
    """Every store of the namespace, by name."""
    return {store.name: ModelStore(f"store-{store.name}", {"spec": store_bundle(config, store, stack)}, on) for store in config.stores}
