"""What exists once per cluster, family by family, as the components get it."""

from typing import Any

from pydantic import Field

from interlock.infra.config.cluster import ClusterConfig
from interlock.infra.config.platform import GpuLayerKind
from interlock.infra.config.pools import PoolBackend, PoolConfig, Sharing
from interlock.infra.manifests.common import Manifest
from interlock.infra.manifests.device_plugin import device_plugin_objects, plugin_pools
from interlock.infra.manifests.mig import mig_objects
from interlock.infra.manifests.node_pools import PoolIntent, pool_intent, pool_objects
from interlock.infra.manifests.priority import priority_objects
from interlock.infra.manifests.quota import tenant_objects
from interlock.infra.plan.shares import plugin_class
from interlock.infra.plan.types import Planned


class GpuLayerObjects(Planned):
    """The GPU layer."""

    manifests: tuple[dict[str, Any], ...]
    """Objects in the order in which they must exist; empty when the layer is installed already."""
    check: str = ""
    """``namespace/name`` of the ConfigMap of an installed layer that must have the classes as keys; empty = nothing to look at."""
    classes: dict[str, str] = Field(default_factory=dict)
    """Class of plugin config by pool, for pools that share their cards."""


class NodePoolObjects(Planned):
    """One pool."""

    name: str
    """Name of the pool."""
    manifests: tuple[dict[str, Any], ...]
    """Partial Nodes to apply onto existing ones, or a NodePool."""
    intent: PoolIntent | None = None
    """For the managed backend: what the cloud's pool must make true."""


class ObjectSet(Planned):
    """Objects of one family in the order in which they must exist."""

    manifests: tuple[dict[str, Any], ...]
    """The objects."""


def gpu_layer(config: ClusterConfig, stack: str) -> GpuLayerObjects:
    """The GPU layer of the stack."""
    layer = config.platform.gpu_layer
    watched = layer.kind is GpuLayerKind.INSTALLED and layer.config_map is not None
    return GpuLayerObjects(
        manifests=(*device_plugin_objects(config, stack), *mig_objects(config, stack)),
        check=f"{layer.home}/{layer.config_map}" if watched else "",
        classes={pool.name: plugin_class(pool) for pool in plugin_pools(config) if pool.share.kind is not Sharing.EXCLUSIVE},
    )


def missing_classes(layer: GpuLayerObjects, keys: frozenset[str]) -> list[str]:
    """What is wrong with the config map of an installed layer: one sentence per pool whose class is no key of it."""
    there = ", ".join(sorted(keys)) or "none"
    return [
        f"pool {pool} needs the plugin config {name!r}, which is no key of ConfigMap {layer.check}; it has {there}"
        for pool, name in layer.classes.items()
        if name not in keys
    ]


def node_pool(pool: PoolConfig, stack: str) -> NodePoolObjects:
    """One pool's objects."""
    intent = pool_intent(pool) if pool.backend is PoolBackend.MANAGED else None
    return NodePoolObjects(name=pool.name, manifests=tuple(pool_objects(pool, stack)), intent=intent)


def platform_objects(config: ClusterConfig, stack: str) -> list[Manifest]:
    """All cluster-wide objects of the stack."""
    pools = [made for pool in config.pools for made in pool_objects(pool, stack)]
    tenants = [made for tenant in config.tenants for made in tenant_objects(config, tenant, stack)]
    return [*priority_objects(config, stack), *gpu_layer(config, stack).manifests, *pools, *tenants]
