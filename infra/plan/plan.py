"""config -> plan: every number decided, nothing judged."""

from collections import Counter

from interlock.infra.config.cluster import ClusterConfig
from interlock.infra.naming import joined
from interlock.infra.plan.derive.engine import engines, most_replicas
from interlock.infra.plan.pools import PodDemand, planned_pool
from interlock.infra.plan.servers import planned_server
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
    free = {pool.name: Counter(use.units - use.asked for use in pool.use) for pool in pools}
    return ClusterPlan(
        stack=stack,
        scope=config.scope.value,
        namespace=config.namespace,
        production=config.production,
        pools=pools,
        servers=tuple(planned_server(config, index, engine, free[config.servers[index].pool]) for index, engine in enumerate(made)),
        priority_classes={each.name: joined(stack, each.name) for each in config.platform.priority_classes},
    )
