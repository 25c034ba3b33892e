"""One server: every number decided, each with its reason."""

from typing import Any

from interlock.infra.catalog.tracks import TrackImage, tracks
from interlock.infra.config.cluster import ClusterConfig
from interlock.infra.config.models import ImageConfig, ImageTrack
from interlock.infra.config.pools import PoolConfig
from interlock.infra.config.scaling import RolloutStrategy
from interlock.infra.config.servers import ServerConfig
from interlock.infra.engine.args import EngineArgs, ServeArgs
from interlock.infra.plan.models import ModelShape, fit, model_shape
from interlock.infra.plan.pools import resource_name, shares_per_card
from interlock.infra.plan.times import time_budget
from interlock.infra.plan.types import PlannedServer
from interlock.infra.values import GIB, MIB, binary, bytes_of, gib, quantity

WEIGHTS_DIR = "/var/lib/interlock/models"
CACHE_DIR = "/var/cache/interlock"


def planned_server(config: ClusterConfig, index: int) -> PlannedServer:
    """``config.servers[index]`` with every number decided."""
    server = config.servers[index]
    pool = next(pool for pool in config.pools if pool.name == server.pool)
    image = tracks()[server.image.track.value]
    vllm = image.vllm if server.image.reference is None else version_of(server.image.reference)
    shape = model_shape(server.model, server.engine.quantization)
    why = {"weights": f"{gib(shape.weight_bytes)} ({shape.source})" if shape.weight_bytes else "not known: give model.weights_gib"}
    engine = decide_engine(server, why)
    if server.image.track is not ImageTrack.CPU:
        verdict = fit(server.model, engine, pool, vllm)
        why["GPU_memory"] = f"{verdict.verdict.replace('_', ' ')}: {'; '.join(verdict.reasons)}"
    gpus = server.gpus or engine.gpus
    surge, unavailable, recreate = decide_rollout(server, pool, gpus, why)
    most = server.autoscale.max_replicas if server.autoscale else server.replicas
    times = time_budget(server, shape.weight_bytes, 1 if recreate else -(-most // max(1, surge + unavailable)), surge)
    return PlannedServer(
        name=server.name,
        index=index,
        namespace=config.namespace,
        model_id=server.model.id,
        pool=server.pool,
        replicas=server.autoscale.min_replicas if server.autoscale else server.replicas,
        max_replicas=most,
        gpus=gpus,
        engine_gpus=engine.gpus,
        resource=resource_name(pool),
        vllm=vllm,
        args=serve_args(server, engine, times.engine_shutdown),
        cpu=server.cpu or decide_cpu(pool, gpus, why),
        memory=decide_memory(server, engine, shape, why),
        shm=server.shm or ("8Gi" if gpus > 1 else "1Gi"),
        **image_fields(server, image, times.startup),
        attention_heads=shape.attention_heads,
        kv_heads=shape.kv_heads,
        weight_bytes=shape.weight_bytes,
        times=times,
        surge=surge,
        unavailable=unavailable,
        recreate=recreate,
        config=server.model_dump(mode="json"),
        why=why,
    )


def image_fields(server: ServerConfig, image: TrackImage, startup: int) -> dict[str, Any]:
    """What follows from the track: reference, command and environment."""
    return {
        "image": image_reference(server.image, image),
        "command": image.command,
        "env": environment(server, image, startup),
    }


def decide_engine(server: ServerConfig, why: dict[str, str]) -> EngineArgs:
    """The engine's flags with TP decided when only the GPUs were given."""
    engine = server.engine
    if engine.tensor_parallel_size is None:
        rest = engine.pp * engine.dp
        tp = server.gpus // rest if server.gpus and server.gpus % rest == 0 else 1
        why["tensor_parallel_size"] = f"{tp}: {server.gpus or rest} GPUs / (PP {engine.pp} x DP {engine.dp})"
        engine = engine.model_copy(update={"tensor_parallel_size": tp})
    else:
        why["tensor_parallel_size"] = f"{engine.tp}: set in the config"
    if server.image.track is ImageTrack.CPU:
        why["dtype"] = "float32: the test-only CPU track has no bfloat16 on every processor"
        engine = engine.model_copy(update={"dtype": engine.dtype or "float32", "enforce_eager": True})
    return engine


def decide_rollout(server: ServerConfig, pool: PoolConfig, gpus: int, why: dict[str, str]) -> tuple[int, int, bool]:
    """(maxSurge, maxUnavailable, recreate): a surge pod only where the pool holds one more."""
    per_node = pool.gpus_per_node * shares_per_card(pool) // gpus
    room, most = pool.nodes * per_node, server.autoscale.max_replicas if server.autoscale else server.replicas
    strategy = server.rollout.strategy
    if strategy is None:
        strategy = RolloutStrategy.SURGE if room > most else RolloutStrategy.IN_PLACE if most > 1 else RolloutStrategy.RECREATE
        why["rollout"] = f"{strategy}: the pool holds {room} pods of {gpus} GPUs and {most} are asked for"
    else:
        why["rollout"] = f"{strategy}: set in the config"
    return {RolloutStrategy.SURGE: (1, 0, False), RolloutStrategy.IN_PLACE: (0, 1, False), RolloutStrategy.RECREATE: (0, 0, True)}[strategy]


def decide_cpu(pool: PoolConfig, gpus: int, why: dict[str, str]) -> str:
    """CPU request: 2 cores and 2 more per GPU, at most a pod's even share of its node."""
    units = pool.gpus_per_node * shares_per_card(pool)
    share = float(quantity(pool.cpu)) * 0.9 * min(gpus, units) / units
    milli = int(min(2.0 + 2.0 * gpus, share) * 1000)
    why["cpu"] = f"{milli}m: 2 + 2 x {gpus} cores, at most {share:.1f} = 90 % of the node's {pool.cpu} x {gpus} of {units} GPUs"
    return f"{milli}m" if milli % 1000 else str(milli // 1000)


def decide_memory(server: ServerConfig, engine: EngineArgs, shape: ModelShape, why: dict[str, str]) -> str:
    """Memory request and limit: the engine's processes, and the page cache that reading the weights needs."""
    if server.memory:
        return server.memory
    shm = bytes_of(server.shm) if server.shm else (8 if engine.gpus > 1 else 1) * GIB
    # 4 GiB for the API server and engine core, 2 GiB for each worker: resident sizes seen for vLLM 0.2x-0.3x on one GPU.
    processes = 4 * GIB + 2 * GIB * engine.gpus
    reading = min(shape.weight_bytes or 0, 8 * GIB)
    total = -(-(shm + processes + reading) // (512 * MIB)) * 512 * MIB
    why["memory"] = f"{binary(total)}: /dev/shm {binary(shm)} + processes {binary(processes)} + {gib(reading)} to read weights through"
    return binary(total)


def image_reference(config: ImageConfig, image: TrackImage) -> str:
    """The reference a pod uses: the user's, else the track's, behind the mirror when one is named."""
    reference = config.reference or image.reference
    return f"{config.registry.rstrip('/')}/{reference}" if config.registry else reference


def version_of(reference: str) -> str:
    """The vLLM version that a tag such as ``v0.33.0`` names, else empty."""
    tag = reference.partition("@")[0].rpartition("/")[2].partition(":")[2].removeprefix("v")
    return tag if tag[:1].isdigit() else ""


def model_path(server: ServerConfig) -> str:
    """The model as the pod sees it: a folder of the store, or the hub id."""
    if server.model.path and server.model.path.startswith("/"):
        return server.model.path
    if server.weights or server.model.path:
        return f"{WEIGHTS_DIR}/{server.model.path or server.model.id}"
    return server.model.id


def serve_args(server: ServerConfig, engine: EngineArgs, shutdown: int) -> ServeArgs:
    """The whole command line."""
    return ServeArgs(
        model=model_path(server),
        served_model_name=server.served_name or server.model.id,
        revision=server.model.revision,
        engine=engine,
        shutdown_timeout=shutdown,
        extra=tuple(server.extra.args),
    )


def environment(server: ServerConfig, image: TrackImage, startup: int) -> dict[str, str]:
    """Plain environment: what the image needs, the ready timeout, offline mode with a store, then the user's own."""
    env = dict(image.env)
    env["VLLM_ENGINE_READY_TIMEOUT_S"] = str(startup)
    env["VLLM_NO_USAGE_STATS"] = "1"
    if server.weights:
        env["HF_HUB_OFFLINE"] = "1"
    return env | dict(server.extra.env)
