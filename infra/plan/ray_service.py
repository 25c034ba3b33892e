"""Ray services: what a group of workers offers, what each model's placement groups ask for, and the limits of Ray Serve around it.

A pod of a worker group is as large as one replica, or as one host of it, and only it has the group's own resource (the marker), which
every bundle asks for. So a placement group cannot land on the pods of another model, and no replica waits for cards that lie apart.
"""

from collections import Counter
from collections.abc import Sequence

from interlock.infra.catalog.tracks import tracks
from interlock.infra.config.cluster import ClusterConfig
from interlock.infra.config.ray import RayServiceConfig, RayUpgrade, Serve
from interlock.infra.config.servers import ServerConfig
from interlock.infra.engine.args import EngineArgs
from interlock.infra.facts.room import Pods, unplaced
from interlock.infra.naming import joined
from interlock.infra.plan.access import running_at_once
from interlock.infra.plan.layout import Layout
from interlock.infra.plan.ray_flows import ray_flows
from interlock.infra.plan.ray_types import PlannedRay, PlannedRayService
from interlock.infra.plan.reasons import SET, Reason
from interlock.infra.plan.scaling import QUIET
from interlock.infra.plan.types import PlannedPool, PlannedServer, TimeBudget
from interlock.infra.values import plural

PERIOD = 10
"""Period of Serve's health checks in seconds."""
MISSES = 3
"""Health checks in a row after which Serve replaces a replica (ray serve/_private/constants.py)."""
RUNNING = 256
"""Requests of one step where nothing states them: what vLLM takes on a small card."""
UPSCALE_SECONDS = 30
"""Serve's own default: a burst that is over by then needs no replica."""
SERVE_DEFAULT = "1,000,000,000, the default of ray.serve.llm"
KUBERAY_DELAY = 60
"""rayClusterDeletionDelaySeconds where nothing states it (KubeRay)."""


def service_config(config: ClusterConfig, name: str) -> RayServiceConfig:
    """What the config says of a RayService; the defaults where it says nothing."""
    return next((each for each in config.ray_services if each.name == name), None) or RayServiceConfig(name=name)


def planned_ray(server: ServerConfig, engine: EngineArgs, lies: Layout, times: TimeBudget, why: dict[str, Reason]) -> PlannedRay | None:
    """Placement and Serve's limits of one server; None for one that has pods of its own."""
    if server.serve is not Serve.RAY:
        return None
    running, scale = max(1, running_at_once(engine) // engine.dp) if running_at_once(engine) else RUNNING, server.autoscale
    ongoing = max(running, (engine.max_num_queued_reqs or 2 * running * engine.dp) // engine.dp)
    made = PlannedRay(
        service=server.service,
        marker=f"{server.name}-gpu",
        world=engine.tp * engine.pp,
        ranks=engine.dp,
        per_host=lies.units,
        hosts=lies.nodes,
        strategy="STRICT_PACK" if engine.tp * engine.pp <= lies.units else "PACK",
        ongoing=ongoing,
        target=max(1, running // 2),
        queued=ongoing,
        upscale=UPSCALE_SECONDS if scale else 0,
        downscale=max(scale.scale_down_seconds or QUIET, round(times.slow)) if scale else 0,
        health_period=PERIOD,
        health_timeout=max(PERIOD, times.hang // MISSES - PERIOD),
    )
    why["placement"] = _placement(engine, made)
    told = f"{running} run at once, the rest waits in the engine; {made.queued} more wait in front of it, others get HTTP 503"
    why["ongoing"] = Reason(value=f"{made.ongoing} requests", reason=told, instead=f"{SERVE_DEFAULT}: nothing is ever refused")
    if scale:
        told = f"half of the {running} requests that a replica runs at once: the next one is added before they queue"
        why["target"] = Reason(value=f"{made.target} requests", reason=told, instead=f"{SERVE_DEFAULT}: nothing ever scales")
        why["downscale"] = Reason(value=f"{made.downscale} s", reason=f"a new replica needs up to {times.slow:.0f} s")
    told = f"{MISSES} checks in a row that fail, {PERIOD} s apart, are {times.hang} s of silence, as for a pod of its own"
    why["health"] = Reason(value=f"{made.health_timeout} s", reason=told, instead="10 s, which a long prompt on a busy host can take")
    return made


def _placement(engine: EngineArgs, made: PlannedRay) -> Reason:
    sizes = f"TP {engine.tp} x PP {engine.pp} = {plural(made.world, 'bundle')} of 1 GPU and 1 {made.marker}, which only its own pods have"
    if made.strategy == "STRICT_PACK":
        ranks = f"; {made.ranks} data-parallel ranks, a placement group each" if made.ranks > 1 else ""
        told = f"{sizes}: all in one pod of {plural(made.per_host, 'GPU')}{ranks}"
        return Reason(value=made.strategy, reason=told, instead="PACK, which spreads a tensor over nodes when one has too few free cards")
    told = f"{sizes}: {made.hosts} whole pods of {made.per_host} GPUs, {plural(made.per_host // engine.tp, 'stage')} in each"
    return Reason(value=made.strategy, reason=told, instead="STRICT_PACK, which no node could hold")


def planned_services(
    config: ClusterConfig, stack: str, servers: Sequence[PlannedServer], pools: Sequence[PlannedPool]
) -> tuple[PlannedRayService, ...]:
    """The RayServices of a stack, in the order in which servers name them. Raises ConfigError for a name that is too long."""
    members: dict[str, list[PlannedServer]] = {}
    for each in servers:
        if each.ray:
            members.setdefault(each.ray.service, []).append(each)
    return tuple(_planned(config, stack, inside, pools) for inside in members.values())


def changed_with(server: PlannedServer, services: Sequence[PlannedRayService]) -> PlannedServer:
    """``server`` with the change of its RayService: a whole cluster is replaced, and with it all replicas at once."""
    service = next((each for each in services if server.ray and each.name == server.ray.service), None)
    if service is None:
        return server
    surges = service.upgrade is RayUpgrade.SURGE
    moves = {"surge": max(1, server.max_replicas) if surges else 0, "unavailable": 0, "recreate": not surges}
    return server.model_copy(update={**moves, "why": {**server.why, "rollout": service.why["upgrade"]}})


def _planned(config: ClusterConfig, stack: str, servers: Sequence[PlannedServer], pools: Sequence[PlannedPool]) -> PlannedRayService:
    first = servers[0]
    name = first.config.service
    stated = service_config(config, name)
    index = next((at for at, each in enumerate(config.ray_services) if each.name == name), None)
    drain, wait = max(each.times.drain for each in servers), first.times.deregistration
    why: dict[str, Reason] = {}
    upgrade = _upgrade(stated, servers, pools, why)
    told = f"the longest drain {drain} s and {wait} s until nothing is sent to it any more"
    cut = f"{KUBERAY_DELAY} s, KubeRay's default, after which running answers are cut"
    why["deletion_delay"] = Reason(value=f"{drain + wait} s", reason=told, instead=cut)
    return PlannedRayService(
        name=name,
        owner=f"servers[{first.index}]" if index is None else f"ray_services[{index}]",
        servers=tuple(each.name for each in servers),
        ray=tracks()[first.config.track.value].ray or "",
        image=first.image,
        token_secret=stated.token_secret or joined(name, "ray-token"),
        own_token=stated.token_secret is None,
        upgrade=upgrade,
        deletion_delay=drain + wait,
        longest_answer=max(each.times.longest_answer for each in servers),
        drain=drain,
        deregistration=wait,
        grace=max(each.times.grace for each in servers),
        operator=config.platform.kuberay.home,
        flows=ray_flows(config, stack, stated, servers),
        config=stated,
        why=why,
    )


def _upgrade(
    stated: RayServiceConfig, servers: Sequence[PlannedServer], pools: Sequence[PlannedPool], why: dict[str, Reason]
) -> RayUpgrade:
    """How a changed cluster replaces the one before: a second one first, where the pools have room for it beside everything else."""
    if stated.upgrade:
        why["upgrade"] = Reason(value=stated.upgrade, reason=SET)
        return stated.upgrade
    second = plural(sum(each.gpus * each.max_replicas for each in servers), "GPU")
    full = next((pool for pool in pools if not _holds_twice(pool, servers)), None)
    if full is None:
        told = f"a second cluster of {second} fits beside the first and takes over when its models answer"
        why["upgrade"] = Reason(value=RayUpgrade.SURGE, reason=told)
        return RayUpgrade.SURGE
    told = f"a second cluster needs {second} more, and pool {full.name} has {full.units - full.asked} of {full.units} free: with a gap"
    instead = "a second cluster first, which would wait for the cards of the first forever"
    why["upgrade"] = Reason(value=RayUpgrade.RECREATE, reason=told, instead=instead)
    return RayUpgrade.RECREATE


def _holds_twice(pool: PlannedPool, servers: Sequence[PlannedServer]) -> bool:
    """Whether all pods of ``servers`` fit once more beside what is planned."""
    again = [Pods(each.gpus // each.nodes, each.name, each.max_replicas * each.nodes) for each in servers if each.pool == pool.name]
    return unplaced(again, Counter(use.units - use.asked for use in pool.use)) == 0
