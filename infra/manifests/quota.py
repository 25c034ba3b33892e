"""Tenants: Namespace, ResourceQuota and LimitRange, with GPU units by resource (cards, shares, MIG instances)."""

from collections.abc import Sequence
from typing import Any

from interlock.infra.config.cluster import ClusterConfig
from interlock.infra.config.pools import Allocation, Sharing
from interlock.infra.config.tenants import TenantConfig
from interlock.infra.manifests.common import MANAGED_BY, Manifest, manifest
from interlock.infra.manifests.placed import put
from interlock.infra.naming import label
from interlock.infra.plan.pools import quota_entry
from interlock.infra.plan.quota import gpu_units


def per_container(config: ClusterConfig, tenant: TenantConfig) -> int | None:
    """Most units in one container: 1 where every pool of the tenant is shared (two shares of one card are no more than one)."""
    if tenant.gpus_per_container is not None:
        return tenant.gpus_per_container
    used = [pool for pool in config.pools if tenant.gpus.get(pool.name)]
    return 1 if used and all(pool.share.kind is not Sharing.EXCLUSIVE for pool in used) else None


def tenant_objects(config: ClusterConfig, tenant: TenantConfig, stack: str) -> list[Manifest]:
    """The tenant's objects; the stack's own namespace is made with the servers, so only quota and limits are added there."""
    names = {"app.kubernetes.io/managed-by": MANAGED_BY, label("stack"): stack, label("tenant"): tenant.name}
    level = {
        "pod-security.kubernetes.io/enforce": put(tenant.pod_security.value, "pod_security"),
        "pod-security.kubernetes.io/warn": "restricted",
    }
    own = tenant.name == config.namespace
    space = [] if own else [manifest("v1", "Namespace", tenant.name, None, {**names, **level})]
    return [
        *space,
        manifest("v1", "ResourceQuota", tenant.name, tenant.name, names, spec={"hard": _hard(config, tenant)}),
        manifest("v1", "LimitRange", tenant.name, tenant.name, names, spec={"limits": [_limits(config, tenant)]}),
    ]


def _hard(config: ClusterConfig, tenant: TenantConfig) -> dict[str, Any]:
    """Extended resources are limited by their requests only (Kubernetes documentation, 'Resource Quotas')."""
    counts = {f"requests.{resource}": count for resource, count in sorted(gpu_units(config, tenant).items())}
    pools: dict[str, list[str]] = {}
    for pool in config.pools:
        key, claimed = quota_entry(pool), pool.allocation is Allocation.CLAIM
        counts[key] = counts.get(key, 0) + (tenant.gpus.get(pool.name, 0) if claimed else 0)
        pools.setdefault(key, []).extend([pool.name] if pool.name in tenant.gpus else [])
    hard = {key: put(str(count), _gpus_field(pools[key])) for key, count in counts.items()}
    wanted = {
        "requests.cpu": (tenant.cpu, "cpu"),
        "requests.memory": (tenant.memory, "memory"),
        "limits.memory": (tenant.memory, "memory"),
        "requests.storage": (tenant.storage, "storage"),
        "pods": (None if tenant.pods is None else str(tenant.pods), "pods"),
    }
    return hard | {key: put(value, field) for key, (value, field) in wanted.items() if value is not None}


def _gpus_field(pools: Sequence[str]) -> str:
    """Where a tenant's units of one resource are written: of one pool, or of several together."""
    return f"gpus.{pools[0]}" if len(pools) == 1 else "gpus"


def _limits(config: ClusterConfig, tenant: TenantConfig) -> dict[str, Any]:
    limits: dict[str, Any] = {
        "type": "Container",
        "default": {"memory": put(tenant.default_memory, "default_memory")},
        "defaultRequest": {"cpu": put(tenant.default_cpu, "default_cpu"), "memory": put(tenant.default_memory, "default_memory")},
    }
    most = per_container(config, tenant)
    if most is not None:
        resources = sorted(resource for resource, count in gpu_units(config, tenant).items() if count)
        limits["max"] = dict.fromkeys(resources, put(str(most), "gpus_per_container" if tenant.gpus_per_container is not None else "gpus"))
        # Without a default of its own the maximum becomes the default, and every container would ask for a GPU.
        for place in ("default", "defaultRequest"):
            limits[place] |= dict.fromkeys(resources, "0")
    return limits
