"""One server: every number decided, each with its reason."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from interlock.infra.catalog.tracks import TrackImage, tracks
from interlock.infra.catalog.vllm_flags import comes_later
from interlock.infra.config.cluster import ClusterConfig
from interlock.infra.config.models import ImageConfig
from interlock.infra.config.servers import ServerConfig
from interlock.infra.config.stores import StoreConfig
from interlock.infra.engine.args import EngineArgs, ServeArgs
from interlock.infra.plan.access import decide_access, middleware
from interlock.infra.plan.derive.engine import Engine, engines, most_replicas, version_of
from interlock.infra.plan.derive.held import held_load
from interlock.infra.plan.flows import server_flows
from interlock.infra.plan.holders import PlannedAccess
from interlock.infra.plan.host import Host
from interlock.infra.plan.layout import Layout, group_of
from interlock.infra.plan.models import ModelShape, fit, model_shape
from interlock.infra.plan.monitoring import decide_scrape
from interlock.infra.plan.pools import PodDemand, resource_name
from interlock.infra.plan.quota import beyond_quota
from interlock.infra.plan.ray import ray_decision
from interlock.infra.plan.ray_service import planned_ray
from interlock.infra.plan.reasons import Reason
from interlock.infra.plan.rollout import Spare, decide_rollout
from interlock.infra.plan.runtime import decide_hang, decide_runtime, predicted_step, step_seconds
from interlock.infra.plan.scaling import decide_scaling
from interlock.infra.plan.scratch import decide_scratch
from interlock.infra.plan.shares import beyond_its_share
from interlock.infra.plan.spread import decide_spread
from interlock.infra.plan.start import server_start
from interlock.infra.plan.start_types import PlannedStart
from interlock.infra.plan.stores import model_path, streaming, weights_store
from interlock.infra.plan.times import time_budget
from interlock.infra.plan.types import PlannedServer, TimeBudget
from interlock.infra.sizing import Estimate, SizingResult
from interlock.infra.values import gib

CACHE_DIR = "/var/cache/interlock"


@dataclass(frozen=True, slots=True)
class Room:
    """What a pool has left when all servers are placed."""

    free: Mapping[Spare, int]
    """Nodes by what is left on them."""
    quota: int | None
    """Units that the quota of the stack's namespace leaves; None without one."""
    packed: str = ""
    """Why pods must not be spread over the nodes; empty where they may."""


def planned_server(config: ClusterConfig, stack: str, index: int, made: Engine, *, on: Host, room: Room) -> PlannedServer:
    """``config.servers[index]`` with every number decided; ``on``: what its pods take of their nodes; ``room``: what is left there then."""
    server = config.servers[index]
    pool = next(pool for pool in config.pools if pool.name == server.pool)
    image, shape = tracks()[server.track.value], model_shape(server.model, server.engine.quantization)
    why = {"weights": _weights(shape), **made.why, **_load(server, made), "ray": ray_decision(config, index, made.layout)}
    engine, lies, offloaded = made.args, made.layout, made.fit.offloaded if made.fit else 0
    demand = PodDemand(server.name, most_replicas(server), lies.units, lies.nodes)
    crowded = beyond_its_share(pool, made.part) or beyond_quota(room.quota, demand.units * demand.pods)
    rollout = decide_rollout(server, demand, on.body, room.free, why, left=room.quota, crowded=crowded)
    store = weights_store(config, server)
    start = server_start(server, engine, pool, store, weights=shape.weight_bytes, nodes=lies.nodes)
    supervised = decide_runtime(server, f"servers[{index}]", why)
    access = decide_access(config, stack, server, engine, supervised=supervised, why=why)
    step, bound = step_seconds(server, predicted_step(made, shape, offloaded))
    times = time_budget(server, start, rollout, demand.count, supervised=supervised, step=step)
    decide_times(server, times, start, why, waits=rollout.waits(demand.count))
    if supervised:
        decide_hang(server, times, bound, why)
    why.update(on.why)
    args = serve_args(server, engine, times.engine_shutdown, model_path(server, store), lies.nodes, access=access, supervised=supervised)
    return PlannedServer(
        **_identity(config, index),
        **_counts(server, lies, engine),
        resource=resource_name(pool),
        args=args,
        **_placed(args, shape, decide_spread(demand, room.packed, why), why),
        **_traffic(config, stack, server, args, environment(server, image, times.startup, lies.nodes, store), pods=lies.nodes),
        **_watched(config, server, args, times, why),
        **{"supervised": supervised, "access": access, "start": start},
        **on.needs,
        ray=planned_ray(server, engine, lies, times, why),
        **image_fields(server, image),
        **_shape_fields(shape),
        **rollout.moves,
        domain=pool.domain.label if pool.domain and lies.nodes > 1 else "",
        why=why,
    )


def _placed(args: ServeArgs, shape: ModelShape, spread: bool, why: dict[str, Reason]) -> dict[str, Any]:
    """Where replicas go, and what they write there."""
    return {
        "scratch": decide_scratch(not args.model.startswith("/") and "://" not in args.model, shape.weight_bytes, why),
        "spread": spread,
    }


def _traffic(config: ClusterConfig, stack: str, server: ServerConfig, args: ServeArgs, env: dict[str, str], *, pods: int) -> dict[str, Any]:
    """The engine's environment, and whom its pods talk to by it."""
    return {"env": env, "flows": server_flows(config, stack, server, args, env, pods=pods) if config.network.policies else None}


def _watched(config: ClusterConfig, server: ServerConfig, args: ServeArgs, times: TimeBudget, why: dict[str, Reason]) -> dict[str, Any]:
    """Its times, who reads its metrics, and what follows from both."""
    scrape, version = decide_scrape(config, server, args.served_model_name, why), version_of(server)
    scaled = decide_scaling(config, server, args.engine, scrape, version=version, scale_up=times.scale_up, why=why)
    return {"times": times, "scrape": scrape, "scaling": scaled}


def _identity(config: ClusterConfig, index: int) -> dict[str, Any]:
    """What is copied from the config."""
    server = config.servers[index]
    copied = {"name": server.name, "model_id": server.model.id, "pool": server.pool, "config": server}
    return {**copied, "index": index, "namespace": config.namespace}


def _load(server: ServerConfig, made: Engine) -> dict[str, Reason]:
    """Whether the wished load is held at the same time, where one is wished."""
    found = made.fit and held_load(server, made.fit.result, engines=made.args.dp, replicas=most_replicas(server))
    return {"load": found} if found else {}


def _weights(shape: ModelShape) -> Reason:
    if not shape.weight_bytes:
        return Reason(value="", reason="not known: give model.weights_gib")
    return Reason(value=gib(shape.weight_bytes), reason=shape.source)


def _counts(server: ServerConfig, lies: Layout, engine: EngineArgs) -> dict[str, Any]:
    """Replicas, their pods and GPUs."""
    fewest = server.autoscale.min_replicas if server.autoscale else server.replicas
    replicas = {"replicas": fewest, "max_replicas": most_replicas(server)}
    return {**replicas, "gpus": lies.units * lies.nodes, "pods": lies.pods, "engine_gpus": engine.gpus}


def _shape_fields(shape: ModelShape) -> dict[str, Any]:
    """What the plan shows of the model."""
    return {"attention_heads": shape.attention_heads, "kv_heads": shape.kv_heads, "weight_bytes": shape.weight_bytes}


def server_fit(config: ClusterConfig, index: int) -> SizingResult:
    """What one GPU of ``config.servers[index]`` would hold, with every flag decided as the plan decides it."""
    return _fit_of(config, index, engines(config)[index])


def server_fits(config: ClusterConfig) -> tuple[SizingResult, ...]:
    """The same for all servers, in the order of the config."""
    return tuple(_fit_of(config, index, engine) for index, engine in enumerate(engines(config)))


def _fit_of(config: ClusterConfig, index: int, engine: Engine) -> SizingResult:
    if engine.fit is not None:
        return engine.fit.result
    server = config.servers[index]
    pool, image = next(pool for pool in config.pools if pool.name == server.pool), tracks()[server.track.value]
    return fit(server, engine.args, pool, version_of(server), image.env).result


def image_fields(server: ServerConfig, image: TrackImage) -> dict[str, Any]:
    """What follows from the track: reference, version and command."""
    return {
        "image": image_reference(server.image, image),
        "vllm": version_of(server),
        "command": image.command,
    }


def decide_times(server: ServerConfig, times: TimeBudget, start: PlannedStart, why: dict[str, Reason], *, waits: bool) -> None:
    """The reasons of the start-up budget and of the drain; ``waits``: a new pod needs the cards of one that ends."""
    cold, warm = start.cold.total, start.warm.total
    steps = ", ".join(f"{step.why} {step.seconds.likely:.0f} s" for step in start.cold.steps)
    why["start"] = Reason(value=f"{_span(cold)} cold, {_span(warm)} warm", reason=f"cold: {steps}")
    if server.startup_seconds is None:
        told = f"the container needs {times.load:.0f} s, {times.slow:.0f} s at the high end, rounded up the ladder of budgets"
        why["startup"] = Reason(value=f"{times.startup} s", reason=told)
    if waits:
        told = "a pod that ends holds its GPUs until its grace is over, and a new one waits for them"
        why["progress"] = Reason(value=f"{times.progress_deadline} s", reason=f"the start and {times.grace} s of grace: {told}")
    if server.rollout.drain_seconds is None:
        longest = f"the longest answer {times.longest_answer} s"
        route = f" and the route's timeout {times.gateway} s" if times.gateway else ""
        why["drain"] = Reason(value=f"{times.drain} s", reason=f"{longest}{route}")


def _span(seconds: Estimate) -> str:
    return f"{seconds.likely:.0f} s ({seconds.low:.0f} to {seconds.high:.0f})"


def image_reference(config: ImageConfig, image: TrackImage) -> str:
    """The reference a pod uses: the user's, else the track's, behind the mirror when one is named."""
    reference = config.reference or image.reference
    return f"{config.registry.rstrip('/')}/{reference}" if config.registry else reference


def serve_args(
    server: ServerConfig, engine: EngineArgs, shutdown: int, path: str, nodes: int, *, access: PlannedAccess | None, supervised: bool
) -> ServeArgs:
    """The whole command line. A folder is one revision already, so none is named beside it."""
    return ServeArgs(
        model=path,
        served_model_name=server.served_name or server.model.id,
        revision=None if path.startswith("/") else server.model.revision,
        engine=engine,
        shutdown_timeout=None if comes_later("--shutdown-timeout", version_of(server)) else shutdown,
        api_server_count=1 if engine.dp > 1 and "api_server_count" not in engine.stated() else None,
        middleware=middleware(access, supervised=supervised, hot=hot(server)),
        group=group_of(server, engine, nodes),
        extra=tuple(server.extra.args),
    )


def hot(server: ServerConfig) -> bool:
    """Whether its adapters come and go while it runs."""
    return server.adapters is not None and server.adapters.hot


def environment(server: ServerConfig, image: TrackImage, startup: int, nodes: int, store: StoreConfig | None) -> dict[str, str]:
    """Plain environment: what the image needs, the ready timeout, offline mode with a store, then the user's own."""
    env = dict(image.env)
    if not comes_later("VLLM_ENGINE_READY_TIMEOUT_S", version_of(server)):
        env["VLLM_ENGINE_READY_TIMEOUT_S"] = str(startup)
    env["VLLM_NO_USAGE_STATS"] = "1"
    if hot(server):
        env["VLLM_ALLOW_RUNTIME_LORA_UPDATING"] = "1"
    if server.weights:
        env["HF_HUB_OFFLINE"] = "1"
    if nodes > 1:
        # The pod's own interface, by the name that network plugins give it: NCCL and Gloo would take the first that they see.
        env |= {"NCCL_SOCKET_IFNAME": "eth0", "GLOO_SOCKET_IFNAME": "eth0"}
    return env | streaming(store) | dict(server.extra.env)
