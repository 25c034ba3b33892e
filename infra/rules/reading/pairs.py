"""Prefill and decode engines that belong together, as far as documents show it."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from interlock.infra.catalog.pairs import groups
from interlock.infra.facts import Bundle, Workload
from interlock.infra.rules.reading.relations import member

PREFILL, DECODE = "prefill", "decode"
_ROLES = {"kv_producer": PREFILL, "kv_consumer": DECODE}


@dataclass(frozen=True, slots=True)
class Pair:
    """One prefill and one decode engine of which each is the other's only partner."""

    prefill: Workload
    decode: Workload


def connectors(workload: Workload) -> tuple[str, ...]:
    """The KV connectors of an engine, members of a MultiConnector included; empty where none is known."""
    stated = member(workload, "kv-transfer-config", [])
    return tuple(_names(stated.value, 0)) if stated.known else ()


def _names(config: Any, depth: int) -> Iterator[str]:
    if not isinstance(config, Mapping) or depth > 4:
        return
    name, extra = config.get("kv_connector"), config.get("kv_connector_extra_config")
    inner = extra.get("connectors") if isinstance(extra, Mapping) else None
    if name == "MultiConnector" and isinstance(inner, list):
        for each in inner:
            yield from _names(each, depth + 1)
    elif isinstance(name, str):
        yield name


def over_nixl(workload: Workload) -> bool:
    """Whether it hands its cache over through NIXL."""
    return any(name.startswith("Nixl") for name in connectors(workload))


def role(workload: Workload) -> str:
    """``prefill`` or ``decode``, by the engine's own role, its place in an object, or the label that routers read; else empty."""
    stated = member(workload, "kv-transfer-config", ["kv_role"])
    if stated.known and stated.get() in _ROLES:
        return _ROLES[stated.get()]
    if not connectors(workload):
        return ""
    if _part(workload) in (PREFILL, DECODE):
        return _part(workload)
    label = groups()["role"]
    named = {pod.labels[label] for pod in workload.pods if label in pod.labels}
    return str(groups()["roles"].get(named.pop(), "")) if len(named) == 1 else ""


def _part(workload: Workload) -> str:
    """The part of an object, or of a chart's values, that makes the engine: ``prefill`` of ``spec.prefill``."""
    return workload.origin.path.rpartition(".")[2]


def named(pair: Pair) -> str:
    """The prefill side in words: by its object, or as that side of the one object that has both."""
    return pair.prefill.origin.name if pair.prefill.origin.name != pair.decode.origin.name else "its prefill side"


def pairs(bundle: Bundle) -> tuple[Pair, ...]:
    """The pairs of the set. Where several engines may be meant nobody knows which belong together, and none is named."""
    if "pairs" not in bundle.memo:
        engines = [each for each in bundle.workloads if each.engine.name == "vllm" and not each.engine.flag("kv-transfer-config").absent]
        sides: Mapping[str, list[Workload]] = {PREFILL: [], DECODE: []}
        halved = {key for each in engines if role(each) == PREFILL for key in _object(each)}
        for each in engines:
            mine = role(each) or (DECODE if connectors(each) and halved & set(_object(each)) else "")
            sides.get(mine, []).append(each)
        bundle.memo["pairs"] = tuple(_paired(sides[PREFILL], sides[DECODE], bundle)) if all(sides.values()) else ()
    found: tuple[Pair, ...] = bundle.memo["pairs"]
    return found


Keys = Callable[[Workload], Iterable[Any]]


def _paired(prefills: Sequence[Workload], decodes: Sequence[Workload], bundle: Bundle) -> Iterator[Pair]:
    """By the strongest tie first: one object, one pool, a label of one model, the model itself, a label of one application."""
    close, wide = ([_label(name) for name in groups()[key]] for key in ("labels", "wider labels"))
    ties: list[Keys] = [_object, lambda each: _pools(each, bundle), *close, _model, *wide]
    taken: set[int] = set()
    for tie in ties:
        first, second = _by_key(prefills, tie), _by_key(decodes, tie)
        for key, ones in first.items():
            others = second.get(key, [])
            if len(ones) == 1 and len(others) == 1 and not {id(ones[0]), id(others[0])} & taken:
                taken |= {id(ones[0]), id(others[0])}
                yield Pair(ones[0], others[0])


def _by_key(workloads: Sequence[Workload], tie: Keys) -> Mapping[Any, list[Workload]]:
    found: dict[Any, list[Workload]] = {}
    for workload in workloads:
        for key in tie(workload):
            found.setdefault((workload.origin.namespace, key), []).append(workload)
    return found


def _object(workload: Workload) -> Iterable[Any]:
    origin = workload.origin
    whole = (origin.file, origin.document, origin.kind, origin.name)
    if origin.kind == "LLMInferenceService":
        return [whole]
    return [(*whole, origin.path.rpartition(".")[0])] if _part(workload) in (PREFILL, DECODE) else []


def _pools(workload: Workload, bundle: Bundle) -> Iterable[Any]:
    for pool in bundle.endpoint_pools:
        if any(pool.selector and pool.selector.items() <= pod.labels.items() for pod in workload.pods):
            yield pool.origin.namespace, pool.origin.name


def _label(name: str) -> Keys:
    return lambda workload: {pod.labels[name] for pod in workload.pods if name in pod.labels}


def _model(workload: Workload) -> Iterable[Any]:
    return [workload.engine.model.get()] if workload.engine.model.known else []
