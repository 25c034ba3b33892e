"""Cores, memory and shared memory of a server's pods."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from interlock.infra.config.cluster import ClusterConfig
from interlock.infra.config.pools import PoolConfig
from interlock.infra.config.servers import ServerConfig
from interlock.infra.engine.args import EngineArgs
from interlock.infra.facts.room import DAEMON_CORES, DAEMON_GIB
from interlock.infra.plan.derive.engine import Engine
from interlock.infra.plan.layout import Layout
from interlock.infra.plan.models import ModelShape, model_shape
from interlock.infra.plan.pools import shares_per_card
from interlock.infra.plan.reasons import Reason
from interlock.infra.plan.rollout import Body, Spare
from interlock.infra.plan.types import PlannedPool
from interlock.infra.sizing.host import loading_memory
from interlock.infra.values import GIB, MIB, binary, bytes_of, gib, quantity


def host(server: ServerConfig, pool: PoolConfig, shape: ModelShape, made: Engine, why: dict[str, Reason]) -> dict[str, str]:
    """Cores and memory of one pod."""
    lies, shm, offloaded = made.layout, decide_shm(server, made.args, made.layout, why), made.fit.offloaded if made.fit else 0
    memory = decide_memory(server, pool, shape, offloaded // lies.nodes, why, ranks=lies.ranks(made.args), shm=bytes_of(shm))
    return {"cpu": server.cpu or decide_cpu(pool, lies.units, why), "memory": memory, "shm": shm}


@dataclass(frozen=True, slots=True)
class Host:
    """What each pod of a server takes of its node beside GPUs, as the pod states it, with the reasons."""

    needs: Mapping[str, str]
    why: Mapping[str, Reason]

    @property
    def body(self) -> Body:
        """The same as numbers."""
        return Body(float(quantity(self.needs["cpu"])), bytes_of(self.needs["memory"]))


def hosts(config: ClusterConfig, made: Sequence[Engine]) -> list[Host]:
    """That of every server, in the order of the config."""
    pools, found = {pool.name: pool for pool in config.pools}, []
    for server, engine in zip(config.servers, made, strict=True):
        why: dict[str, Reason] = {}
        shape = model_shape(server.model, server.engine.quantization)
        found.append(Host(host(server, pools[server.pool], shape, engine, why), why))
    return found


def spare(pool: PlannedPool, taken: Mapping[str, Body]) -> Counter[Spare]:
    """Nodes of a pool by what is left on them beside the pods that lie there, and beside DaemonSets: a usual share where none is stated."""
    cores = pool.cpu - (DAEMON_CORES if pool.daemon_cpu is None else pool.daemon_cpu)
    memory = pool.memory_bytes - int(DAEMON_GIB * GIB if pool.daemon_memory_bytes is None else pool.daemon_memory_bytes)
    left: Counter[Spare] = Counter()
    for (units, pods), nodes in Counter((use.units - use.asked, use.pods) for use in pool.use).items():
        there = [taken[name] for name in pods]
        body = Body(cores - sum(each.cores for each in there), memory - sum(each.memory for each in there))
        left[Spare(units, body)] += nodes
    return left


def decide_cpu(pool: PoolConfig, gpus: int, why: dict[str, Reason]) -> str:
    """CPU request: 2 cores and 2 more per GPU, at most a pod's even share of what its node has beside DaemonSets."""
    units, cores = pool.gpus_per_node * shares_per_card(pool), float(quantity(pool.cpu))
    beside = float(quantity(pool.daemon_cpu)) if pool.daemon_cpu else DAEMON_CORES
    free = min(cores * 0.9, max(cores - beside, cores * 0.1))
    share = free * min(gpus, units) / units
    milli = int(min(2.0 + 2.0 * gpus, share) * 1000)
    whole = f"{free:.1f} of the node's {pool.cpu} cores" if free < cores * 0.9 else f"90 % of the node's {pool.cpu}"
    told = f"2 + 2 x {gpus} cores, at most {share:.1f} = {whole} x {gpus} of {units} GPUs"
    why["cpu"] = Reason(value=f"{milli}m", reason=told)
    return f"{milli}m" if milli % 1000 else str(milli // 1000)


def decide_shm(server: ServerConfig, engine: EngineArgs, lies: Layout, why: dict[str, Reason]) -> str:
    """Size of /dev/shm: the engine's queues, NCCL, and the KV blocks that vLLM keeps there instead of dropping them."""
    queues = 8 if lies.units > 1 else 1
    stated = engine.stated()
    size = float(stated.get("kv_offloading_size") or 0) if stated.get("kv_offloading_backend", "native") == "native" else 0.0
    if server.shm or not size:
        return server.shm or f"{queues}Gi"
    engines = max(engine.dp // lies.nodes, 1)
    each = f"kv_offloading_size {size:g} GiB" + (f" x {engines} engines" if engines > 1 else "")
    total = f"{queues + math.ceil(size * engines)}Gi"
    why["shm"] = Reason(value=total, reason=f"{queues}Gi for queues and NCCL + {each} of KV blocks that are kept there")
    return total


def decide_memory(
    server: ServerConfig, pool: PoolConfig, shape: ModelShape, offloaded: int, why: dict[str, Reason], *, ranks: int, shm: int
) -> str:
    """Memory request and limit: the processes, the page cache that reading the weights needs, and weights that stay in the host; less
    page cache where a node has no more."""
    if server.memory:
        return server.memory
    need = loading_memory(shape.weight_bytes, ranks)
    reading = need.decided - need.processes
    total = -(-(shm + need.decided + offloaded) // (512 * MIB)) * 512 * MIB
    kept = f" + {binary(offloaded)} of offloaded weights" if offloaded else ""
    told = f"/dev/shm {binary(shm)} + processes {binary(need.processes)} + {gib(reading)} to read weights through{kept}"
    beside = bytes_of(pool.daemon_memory) if pool.daemon_memory else int(DAEMON_GIB * GIB)
    room = (bytes_of(pool.memory) - beside) // (512 * MIB) * 512 * MIB
    if total > room >= shm + need.tight + offloaded:
        total, told = room, f"{told}, at most what a node has beside DaemonSets"
    why["memory"] = Reason(value=binary(total), reason=told)
    return binary(total)
