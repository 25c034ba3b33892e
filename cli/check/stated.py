"""What a person states in ``.interlock.yaml`` as facts: the nodes, the models, and how long answers take."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from interlock.cli.check.config import FILE, CheckConfig, Hint
from interlock.infra.facts import Bundle, Fact, Origin, Pool, Workload, known
from interlock.infra.recognise.accelerators import product
from interlock.infra.values import GIB, bytes_of


def _bytes(gib: float) -> int:
    return int(gib * GIB)


_POOL: Mapping[str, tuple[str, Callable[[Any], Any]]] = {
    "gpu": ("gpu", product),
    "gpus_per_node": ("gpus_per_node", int),
    "nodes": ("nodes", int),
    "max_nodes": ("max_nodes", int),
    "free": ("free", int),
    "memory_gib": ("gpu_memory", _bytes),
    "used_gib": ("used_memory", _bytes),
    "compute_capability": ("compute_capability", float),
    "driver": ("driver", str),
    "runtime": ("default_runtime", str),
    "sharing": ("sharing", str),
    "shares": ("shares", int),
    "nvlink": ("nvlink", bool),
    "cpu": ("cpu", float),
    "memory": ("memory", bytes_of),
    "disk": ("disk", bytes_of),
    "notice_seconds": ("notice", int),
}
"""Field of the hint -> fact of the pool, and how the one becomes the other."""


def pool_of(hint: Hint) -> Pool:
    """The pool that a hint describes."""
    facts: dict[str, Any] = {
        fact: known(change(getattr(hint, name)), f"pool.{name}")
        for name, (fact, change) in _POOL.items()
        if getattr(hint, name) not in (None, "")
    }
    return Pool(Origin(kind="Pool", name=hint.name, file=FILE), hint.name, **facts)


def with_stated(bundle: Bundle, config: CheckConfig) -> Bundle:
    """The bundle with what the configuration says of nodes, models, adapters and answers."""
    if config.pool:
        bundle = _on_pool(bundle, pool_of(config.pool))
    if config.models or config.lora_rank:
        bundle = replace(bundle, workloads=tuple(_described(workload, config) for workload in bundle.workloads))
    if config.longest_answer_seconds is not None:
        longest = known(config.longest_answer_seconds, "longest_answer_seconds")
        routes = tuple(route if route.longest_answer.known else replace(route, longest_answer=longest) for route in bundle.routes)
        bundle = replace(bundle, routes=routes)
    return bundle


def _described(workload: Workload, config: CheckConfig) -> Workload:
    """A workload with the config.json that was given for its model, and the rank of its adapters."""
    engine = workload.engine
    found = config.models.get(str(engine.model.value)) if engine.model.known else None
    if isinstance(found, Mapping):
        engine = replace(engine, config=found)
    if config.lora_rank and not engine.flag("enable-lora").absent:
        engine = replace(engine, lora_rank=known(config.lora_rank, "lora_rank"))
    return replace(workload, engine=engine)


def _on_pool(bundle: Bundle, pool: Pool) -> Bundle:
    """The bundle with the pool under all workloads that name no nodes."""
    workloads = tuple(
        replace(workload, pool=known(pool.name, "pool"), gpu=pool.gpu if pool.gpu.known else Fact())
        if workload.pool.absent and workload.gpu.absent and workload.vendor.value in (None, "nvidia")
        else workload
        for workload in bundle.workloads
    )
    return replace(bundle, workloads=workloads, pools=(*bundle.pools, pool))
