"""config -> plan: every number decided, nothing judged."""

from collections import Counter

from interlock.infra.config.cluster import ClusterConfig
from interlock.infra.naming import joined
from interlock.infra.plan.derive.engine import engines, most_replicas
from interlock.infra.plan.pools import PodDemand, planned_pool
from interlock.infra.plan.quota import quota_left
from interlock.infra.plan.servers import Room, planned_server
from interlock.infra.plan.types import ClusterPlan


def plan(config: ClusterConfig, stack: str) -> ClusterPlan:
    """What follows from ``config`` for ``stack``, without findings (``preview`` adds them). Never raises on a loaded config."""
    made = engines(config)
    placed = [
        (server, PodDemand(server.name, most_replicas(server), engine.layout.units, engine.layout.nodes))
        for server, engine in zip(config.servers, made, strict=True)
    ]
    demands = {pool.name: [demand for server, demand in placed if server.pool == pool.name] for pool in config.pools}
    pools = tuple(planned_pool(pool, index, demands[pool.name]) for index, pool in enumerate(config.pools))
    asked = {pool.name: pool.asked for pool in pools}
    room = {
        pool.name: Room(Counter(use.units - use.asked for use in pool.use), quota_left(config, written, asked))
        for pool, written in zip(pools, config.pools, strict=True)
    }
    return ClusterPlan(
        stack=stack,
        scope=config.scope.value,
        namespace=config.namespace,
        production=config.production,
        pools=pools,
        servers=tuple(planned_server(config, index, engine, room[config.servers[index].pool]) for index, engine in enumerate(made)),
        priority_classes={each.name: joined(stack, each.name) for each in config.platform.priority_classes},
    )
