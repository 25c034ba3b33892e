"""A server's start: cold on a node that has nothing of it, and warm when its container restarts in its pod."""

from dataclasses import replace

from interlock.infra.config.pools import PoolBackend, PoolConfig
from interlock.infra.config.servers import ServerConfig
from interlock.infra.config.stores import StoreConfig, StoreKind
from interlock.infra.engine.args import EngineArgs
from interlock.infra.plan.start_types import PlannedStart
from interlock.infra.sizing.start import Reading, Start, start_time
from interlock.infra.values import bytes_of

_ON_THE_NODE = frozenset({StoreKind.HOST_PATH, StoreKind.LOCAL, StoreKind.NODE_SYNC, StoreKind.IMAGE})
_BUCKETS = ("s3://", "gs://", "az://")
_KEPT = 0.5
"""Part of a node's memory that is sure to hold files between two starts; more than that is read again."""


def server_start(
    server: ServerConfig, engine: EngineArgs, pool: PoolConfig, store: StoreConfig | None, *, weights: int | None, nodes: int = 1
) -> PlannedStart:
    """The start of one replica. ``weights`` = bytes of the whole checkpoint, ``nodes`` = pods of the replica.

    Stages of a pipeline and ranks of a tensor are read where they run; a data-parallel engine reads the whole checkpoint on each node.
    """
    size = None if weights is None else weights / (1 if engine.dp > 1 else nodes)
    reading = reads_from(server, engine, store)
    made = pool.backend is not PoolBackend.EXISTING
    kept = (size or 0) <= _KEPT * bytes_of(pool.memory)
    # What a pod has fetched from the hub lies in its own volume until the pod is gone.
    again = Reading.MEMORY if kept else Reading.DISK if reading is Reading.HUB else reading
    cold = Start(
        weights=size,
        reading=reading,
        ranks=engine.gpus,
        nodes=nodes,
        provision=made,
        image=True,
        eager=bool(engine.enforce_eager),
    )
    warm = replace(cold, reading=again, provision=False, image=False, compiled=True)
    return PlannedStart(cold=start_time(cold), warm=start_time(warm))


def reads_from(server: ServerConfig, engine: EngineArgs, store: StoreConfig | None) -> Reading:
    """What the weights are read from at a cold start."""
    streamed = (engine.load_format or "").startswith("runai_streamer")
    if server.model.id.startswith(_BUCKETS) or (store is not None and store.kind is StoreKind.BUCKET):
        return Reading.OBJECT
    if store is None:
        return Reading.DISK if (server.model.path or "").startswith("/") else Reading.HUB
    if store.kind in _ON_THE_NODE:
        return Reading.DISK
    return Reading.OBJECT if store.kind is StoreKind.OBJECT_STORE and streamed else Reading.NETWORK
