"""KV connectors and the memory of layers that keep a window or a state."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from interlock.infra.catalog.connectors import brought, unmanaged
from interlock.infra.catalog.versions import first, newest, since
from interlock.infra.facts import Bundle, Engine, Fact, Place, Workload
from interlock.infra.rules.findings import Severity
from interlock.infra.rules.reading.planner import facts_of, refusals, request_of
from interlock.infra.rules.reading.relations import member
from interlock.infra.rules.reading.units import where
from interlock.infra.rules.rule import Hit, Settings, rule
from interlock.infra.sizing import Kind, SizingRequest
from interlock.infra.sizing.ask import answer
from interlock.infra.sizing.model.layers import Cache

_KEEPERS = "NixlConnector, OffloadingConnector, MooncakeConnector"


@rule(
    "MEM-016",
    Severity.WARNING,
    demand="A KV connector leaves the hybrid KV cache manager on for models with windows or states.",
    reason="Without it every layer that slides is kept like one that attends to everything, and a model with states does not start.",
    source="vllm/config/vllm.py (VllmConfig.__post_init__), kv_connector/factory.py supports_hma_config; infra/catalog/kv_connectors.json",
    remedy="Use a connector that supports the hybrid manager.",
    fault="connector-without-hybrid-cache",
    links=("https://docs.vllm.ai/en/latest/design/hybrid_kv_cache_manager/",),
)
def connectors(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    engine, transfer = workload.engine, member(workload, "kv-transfer-config", [])
    stated = transfer.value if transfer.known and isinstance(transfer.value, Mapping) else {}
    names, manager = ", ".join(unmanaged(stated, engine.release)), engine.flag("disable-hybrid-kv-cache-manager")
    place, chosen = where(workload, Place.ARGS, transfer), since("hybrid_by_connector", engine.release or newest())
    remedy = (
        f"use a connector that supports it ({_KEEPERS})" if chosen else f"use vLLM {first('hybrid_by_connector')} or newer with {_KEEPERS}"
    )
    if names and chosen and manager.value == "false":
        text = f"{names} does not support the hybrid KV cache manager, which is switched on by hand: the engine stops at its start"
        yield Hit(place, text, f"remove --no-disable-hybrid-kv-cache-manager, or {remedy}", names, severity=_level(engine, sure=True))
    elif names and manager.absent:
        yield from _kept_whole(workload, bundle, Hit(place, f"{names} switches the hybrid KV cache manager off", remedy, names))
    elif manager.absent:
        yield from _may_keep(workload, stated, place)


def _may_keep(workload: Workload, transfer: Mapping[str, Any], place: str) -> Iterable[Hit]:
    """Connectors whose class comes from a package in the image, of which no manifest tells the release."""
    facts = facts_of(workload)
    if facts is None or not facts.complete:
        return
    states = any(layer.cache is Cache.STATE for layer in facts.kv_layers)
    slide = sum(layer.cache is Cache.SLIDING for layer in facts.kv_layers)
    for name, row in brought(transfer, workload.engine.release).items():
        own = workload.engine.env.get(row["own"], Fact())
        if not (states or slide):
            return
        effect = "the engine stops at its start" if states else f"{slide} of {len(facts.kv_layers)} layers keep the whole context"
        why = f"{row['own']} keeps vLLM's class" if own.value else f"the image holds no {row['package']} or a later one"
        text = f"{name} switches the hybrid KV cache manager off where {why}: {effect}"
        remedy = f"take an image with {row['package']} or later and leave {row['own']} out, or use one of {_KEEPERS}"
        sure = bool(own.known and own.value)
        yield Hit(place, text, remedy, name, severity=Severity.WARNING if states or sure else Severity.INFO)


def _level(engine: Engine, *, sure: bool) -> Severity:
    return Severity.ERROR if sure and engine.release else Severity.WARNING


def _kept_whole(workload: Workload, bundle: Bundle, hit: Hit) -> Iterable[Hit]:
    """What the model's layers lose without the manager; nothing where none of them has a window or a state."""
    facts = facts_of(workload)
    if facts is None or not facts.complete:
        return
    slide = sum(layer.cache is Cache.SLIDING for layer in facts.kv_layers)
    stops = next((told for told in refusals(workload, bundle) if told.refusal.kind is Kind.BLOCK_TABLE), None)
    if stops:
        text = f"{hit.summary}: {stops.refusal.text.partition(':')[0]}, so the engine stops at its start"
        yield replace(hit, summary=text, severity=_level(workload.engine, sure=stops.sure))
    elif slide:
        text = f"{hit.summary}: {slide} of {len(facts.kv_layers)} layers keep the whole context instead of their window"
        yield replace(hit, summary=text + _lost(request_of(workload, bundle)))


def _lost(request: SizingRequest | None) -> str:
    """The requests of full length that the pool holds with and without the manager, where both are known."""
    if request is None:
        return ""
    off, on = answer(request), answer(replace(request, disable_hybrid_kv_cache_manager=None))
    if off.max_concurrency is None or on.max_concurrency is None or off.max_concurrency.likely >= on.max_concurrency.likely:
        return ""
    held = f"{off.max_concurrency.likely:.2f} instead of {on.max_concurrency.likely:.2f} requests"
    return f"; the KV pool holds {held} of {off.max_model_len} tokens"
