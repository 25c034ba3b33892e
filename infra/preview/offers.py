"""What would do where cards run out: changes of the config in order of loss, each of which has been planned and judged."""

import datetime as dt
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from itertools import islice
from typing import Any

from interlock.infra.catalog.models import siblings
from interlock.infra.config.cluster import ClusterConfig
from interlock.infra.config.load import load
from interlock.infra.config.servers import ServerConfig
from interlock.infra.errors import ConfigError
from interlock.infra.paths import steps_of
from interlock.infra.plan.derive.engine import most_replicas
from interlock.infra.plan.servers import server_fit
from interlock.infra.plan.types import ClusterPlan, Offer, PlannedServer
from interlock.infra.preview.preview import preview
from interlock.infra.rules.findings import Finding, Fix
from interlock.infra.values import bytes_of, plural, quantity

_MEMORY, _ROOM = ("MEM-001", "MEM-002", "MEM-004"), ("GPU-003", "GPU-004")
_STEP = 1024
_PER_FINDING, _FINDINGS, _TRIES = 4, 4, 16


@dataclass(frozen=True, slots=True)
class _Way:
    """One change before it is planned: (field of the server, value) and what it costs."""

    kind: str
    """One of a kind is enough."""
    changes: tuple[tuple[str, Any], ...]
    loss: str


def with_offers(config: ClusterConfig, made: ClusterPlan, today: dt.date) -> ClusterPlan:
    """The plan with what would do for each refusal about memory or room; unchanged where nothing is refused or nothing helps."""
    found: list[Offer] = []
    for finding in _about_cards(made)[:_FINDINGS]:
        kept: list[tuple[str, str]] = []
        for server, way in islice(_ways(config, made, finding), _TRIES):
            offer = _offer(finding, server, way)
            if (server.name, way.kind) not in kept and len(kept) < _PER_FINDING and _helps(config, made, finding, offer, today):
                found.append(offer)
                kept.append((server.name, way.kind))
    return made.model_copy(update={"offers": tuple(found)}) if found else made


def _about_cards(made: ClusterPlan) -> list[Finding]:
    once: dict[tuple[str, str], Finding] = {}
    for each in made.refused:
        if each.code in (*_MEMORY, *_ROOM):
            once.setdefault((each.code, each.subject.name), each)
    return list(once.values())


def _offer(finding: Finding, server: PlannedServer, way: _Way) -> Offer:
    fixes = tuple(Fix(path=f"servers[{server.index}].{field}", value=value) for field, value in way.changes)
    return Offer(code=finding.code, server=server.name, fixes=fixes, loss=way.loss)


def applied(config: ClusterConfig, fixes: Sequence[Fix]) -> ClusterConfig:
    """The config after these changes. Raises ConfigError when it is none any more."""
    data: dict[str, Any] = deepcopy(config.model_dump(mode="json", exclude_unset=True))
    for fix in fixes:
        *before, last = steps_of(fix.path)
        place: Any = data
        for step in before:
            place = place.setdefault(step, {}) if isinstance(place, dict) else place[step]
        if fix.value is None:
            place.pop(last, None)
        else:
            place[last] = fix.value
    return load(data)


def _helps(config: ClusterConfig, made: ClusterPlan, finding: Finding, offer: Offer, today: dt.date) -> bool:
    """Whether the finding goes and no other refusal comes."""
    try:
        after = preview(applied(config, offer.fixes), made.stack, today=today)
    except ConfigError:
        return False
    before = {(each.code, each.subject.name) for each in made.refused}
    left = {(each.code, each.subject.name) for each in after.refused}
    return (finding.code, finding.subject.name) not in left and left <= before


def _ways(config: ClusterConfig, made: ClusterPlan, finding: Finding) -> Iterator[tuple[PlannedServer, _Way]]:
    named = next((server for server in made.servers if server.name == finding.subject.name), None)
    servers = [named] if named else _least_first(config, made, finding.subject.name)
    for server in servers:
        written = config.servers[server.index]
        ways = (_memory_ways if finding.code in _MEMORY else _room_ways)(config, made, server, written)
        yield from ((server, way) for way in ways)


def _least_first(config: ClusterConfig, made: ClusterPlan, pool: str) -> list[PlannedServer]:
    """The servers of a pool, the least important first: by the value of their priority class."""
    values = {each.name: each.value for each in config.platform.priority_classes}
    listed = [server for server in made.servers if server.pool == pool]
    return sorted(listed, key=lambda server: (values.get(config.servers[server.index].priority_class or "", 0), server.name))


def _memory_ways(config: ClusterConfig, made: ClusterPlan, server: PlannedServer, written: ServerConfig) -> Iterator[_Way]:
    stated = written.engine.stated()
    if "tensor_parallel_size" in stated or written.gpus:
        open_sizes = [("engine.tensor_parallel_size", None)] if "tensor_parallel_size" in stated else []
        open_sizes += [("gpus", None)] if written.gpus else []
        yield _Way("size", tuple(open_sizes), "more cards for each replica, as many as the plan finds")
    found = server_fit(config, server.index)
    longest = (found.longest_model_len or 0) // _STEP * _STEP
    if longest and longest < (found.max_model_len or 0):
        told = f"prompts and answers of at most {longest} tokens in place of {found.max_model_len}"
        yield _Way("length", (("engine.max_model_len", longest),), told)
    if stated.get("kv_cache_dtype") in (None, "auto"):
        yield _Way("cache", (("engine.kv_cache_dtype", "fp8"),), "a KV cache of 8 bits: slightly less exact")
    yield from _smaller_models(written)
    yield from _other_pools(config, server)
    yield from _in_the_host(server, stated)


def _room_ways(config: ClusterConfig, made: ClusterPlan, server: PlannedServer, written: ServerConfig) -> Iterator[_Way]:
    field = "autoscale.max_replicas" if written.autoscale else "replicas"
    most, least = most_replicas(written), written.autoscale.min_replicas if written.autoscale else 1
    pool = made.pool(server.pool)
    others = sum(each.max_replicas * each.gpus for each in made.servers if each.pool == server.pool and each.name != server.name)
    fitting = min(max((pool.units - others) // max(server.gpus, 1), 0), most - 1)
    # Of a node that holds fewer pods by its memory or cores than by its cards; others beside them are found by planning.
    body = pool.memory_bytes // max(bytes_of(server.memory), 1), int(pool.cpu / max(float(quantity(server.cpu)), 1e-3))
    each = min(*body, pool.units_per_node // max(server.gpus // server.nodes, 1)) * pool.nodes // server.nodes
    yield from _other_pools(config, server)
    for count in dict.fromkeys((fitting, fitting - 1, min(each, fitting), most // 2, least)):
        if least <= count < most:
            yield _Way("replicas", ((field, count),), f"{plural(count, 'replica')} in place of {most}")
    yield from _smaller_models(written)


def _other_pools(config: ClusterConfig, server: PlannedServer) -> Iterator[_Way]:
    for pool in config.pools:
        if pool.name != server.pool:
            yield _Way("pool", (("pool", pool.name),), f"cards of pool {pool.name}")


def _in_the_host(server: PlannedServer, stated: dict[str, Any]) -> Iterator[_Way]:
    """The last resort: a part of the weights stays in host memory and is copied in every step."""
    if stated.get("cpu_offload_gb") or not server.weight_bytes:
        return
    each = server.weight_bytes / 2**30 / max(server.engine_gpus, 1)
    for part in (0.25, 0.5):
        amount = max(round(each * part), 1)
        yield _Way("host", (("engine.cpu_offload_gb", amount),), f"{amount} GiB of weights per card stay in host memory: many times slower")


def _smaller_models(written: ServerConfig) -> Iterator[_Way]:
    """The same model of the catalog in fewer bits; where its size was left to the plan it may take fewer cards too."""
    for name, _ in siblings(written.model.id):
        changes = [("model.id", name), ("model.revision", None), ("model.path", None), ("model.config", None), ("model.weights_gib", None)]
        kept = [(field, value) for field, value in changes if value or getattr(written.model, field.partition(".")[2])]
        yield _Way("model", tuple(kept), "a quantized checkpoint: slightly less exact answers")
