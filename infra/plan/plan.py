"""config -> plan: every number decided, nothing judged."""

from interlock.infra.config.cluster import ClusterConfig
from interlock.infra.naming import joined
from interlock.infra.plan.derive.engine import engines, most_replicas
from interlock.infra.plan.host import hosts, spare
from interlock.infra.plan.pools import PodDemand, planned_pool, resource_name, units_beside
from interlock.infra.plan.quota import quota_left
from interlock.infra.plan.ray_service import changed_with, planned_services
from interlock.infra.plan.servers import Room, planned_server
from interlock.infra.plan.spread import must_pack
from interlock.infra.plan.types import ClusterPlan


def plan(config: ClusterConfig, stack: str) -> ClusterPlan:
    """What follows from ``config`` for ``stack``, without findings (``preview`` adds them).

    Raises ConfigError for what a server asks of an image that cannot do it (``decide_runtime``).
    """
    made = engines(config)
    demands: dict[str, list[PodDemand]] = {pool.name: [] for pool in config.pools}
    resources = {pool.name: resource_name(pool) for pool in config.pools}
    for server, engine in zip(config.servers, made, strict=True):
        units = engine.layout.units + units_beside(server, resources[server.pool])
        demands[server.pool].append(PodDemand(server.name, most_replicas(server), units, engine.layout.nodes))
    pools = tuple(planned_pool(pool, index, demands[pool.name]) for index, pool in enumerate(config.pools))
    asked, on = {pool.name: pool.asked for pool in pools}, hosts(config, made)
    taken = {server.name: each.body for server, each in zip(config.servers, on, strict=True)}
    room = {
        pool.name: Room(spare(pool, taken), quota_left(config, written, asked), must_pack(pool, demands[pool.name]))
        for pool, written in zip(pools, config.pools, strict=True)
    }
    servers = tuple(
        planned_server(config, stack, index, engine, on=on[index], room=room[config.servers[index].pool])
        for index, engine in enumerate(made)
    )
    services = planned_services(config, stack, servers, pools)
    return ClusterPlan(
        stack=stack,
        scope=config.scope.value,
        namespace=config.namespace,
        production=config.production,
        pools=pools,
        servers=tuple(changed_with(server, services) for server in servers),
        ray_services=services,
        priority_classes={each.name: joined(stack, each.name) for each in config.platform.priority_classes},
    )
