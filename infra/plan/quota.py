"""What a tenant may use of the pools, and whether a rollout finds room in it."""

from collections.abc import Mapping

from interlock.infra.config.cluster import ClusterConfig
from interlock.infra.config.pools import Allocation, PoolConfig
from interlock.infra.config.tenants import TenantConfig
from interlock.infra.plan.pools import quota_entry, resource_name
from interlock.infra.values import plural


def gpu_units(config: ClusterConfig, tenant: TenantConfig) -> dict[str, int]:
    """Units of every GPU resource that the pools advertise; 0 where the tenant has none.

    Pools with the same resource name add up: Kubernetes' quota cannot tell a whole card of one pool from a share of another.
    """
    pools = [pool for pool in config.pools if pool.allocation is Allocation.DEVICE_PLUGIN]
    units = {resource_name(pool): 0 for pool in pools}
    for pool in pools:
        units[resource_name(pool)] += tenant.gpus.get(pool.name, 0)
    return units


def quota_left(config: ClusterConfig, pool: PoolConfig, asked: Mapping[str, int]) -> int | None:
    """Units of the pool's resource that the quota of the stack's namespace leaves beside ``asked`` (units by pool); None without one."""
    tenant = next((each for each in config.tenants if each.name == config.namespace), None)
    if tenant is None:
        return None
    alike = [each.name for each in config.pools if quota_entry(each) == quota_entry(pool)]
    return sum(tenant.gpus.get(each, 0) - asked.get(each, 0) for each in alike)


def beyond_quota(left: int | None, wanted: int) -> str:
    """Why a further replica of ``wanted`` units would not be admitted; empty where it would."""
    if left is None or left >= wanted:
        return ""
    return f"the namespace's quota leaves {plural(max(left, 0), 'GPU')} beside all servers, and a replica takes {wanted}"
