"""The budget of one GPU, from request to answer."""

from dataclasses import replace
from typing import Any

from interlock.infra.sizing.either import settled
from interlock.infra.sizing.kv.plan import KvPlan, Layout, layout, longest, plan
from interlock.infra.sizing.refusal import Refusal
from interlock.infra.sizing.refusals.collect import refusals
from interlock.infra.sizing.refusals.support import doubted
from interlock.infra.sizing.request import SizingRequest
from interlock.infra.sizing.result import Estimate, HostSide, SizingResult, Term, Verdict
from interlock.infra.sizing.settings import Resolved, resolve
from interlock.infra.sizing.start import Start, start_time
from interlock.infra.sizing.suggest import suggestions
from interlock.infra.sizing.terms.activation import SOURCE as ACTIVATION_SOURCE
from interlock.infra.sizing.terms.activation import activation
from interlock.infra.sizing.terms.graphs import GRAPH_SOURCE, OTHER_SOURCE, graphs, non_torch
from interlock.infra.sizing.terms.weights import SOURCE as WEIGHT_SOURCE
from interlock.infra.sizing.terms.weights import loaded
from interlock.infra.sizing.verdict import Pool, judge, refused
from interlock.infra.sizing.weights.drafts import draft_caches
from interlock.infra.sizing.weights.rank import whole_weights
from interlock.infra.values import GIB

_BUDGET_SOURCE = "v1/worker/gpu_worker.py::determine_available_memory"


def size(request: SizingRequest, *, suggest: bool = True) -> SizingResult:
    """Size one replica. Pure; never raises for a valid request: what cannot be judged is ``unsure`` with the reason.

    ``suggest``: when it does not surely fit, look for changes with which it does (about ten more sizings).
    """
    answer = _guarded(request)
    if suggest and answer.verdict is not Verdict.FITS and answer.terms:
        return replace(answer, suggestions=suggestions(request, _guarded))
    return answer


def start_refusals(request: SizingRequest) -> tuple[Refusal, ...]:
    """What is refused before memory counts. Never raises: a config that cannot be understood refuses nothing."""
    try:
        return refusals(resolve(request))
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        return ()


def _guarded(request: SizingRequest) -> SizingResult:
    """A config.json is foreign data: whatever it breaks makes the answer ``unsure``, never an exception."""
    try:
        found = resolve(request)
        return doubted(found, settled(found, _size(found), _plain))
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        reason = f"the model's config cannot be understood ({type(error).__name__}: {str(error)[:120]})"
        return SizingResult(verdict=Verdict.UNSURE, reasons=(reason,), unknown=())


def _plain(request: SizingRequest) -> SizingResult:
    return _size(resolve(request))


def _size(found: Resolved) -> SizingResult:
    facts, request = found.facts, found.request
    against = refusals(found)
    if against or facts is None:
        return _unsized(found, against)
    weights = loaded(found, facts) if facts.complete else None
    drafts = draft_caches(facts, request.speculative_method, found.draft)
    groups = layout(facts, found.kv, max(found.max_model_len, 1), drafts) if facts.sizes_cache else None
    if request.given_kv_gib is not None:
        return _given(found, groups, weights.param_bytes if weights else None)
    peak, peak_how = activation(found)
    graph, graph_how = graphs(found)
    other, other_how = non_torch(found)
    total = found.memory
    requested = _scaled(total, found.utilization) if total else None
    available = _available(found, requested, weights.gib if weights else None, peak, graph, other)
    pool = _pool(found, groups, available)
    outside = _minus(total, requested) if total and requested else None
    use = _sum(available, weights.gib, peak, graph, other) if available and weights else None
    rows = (
        ("outside", outside, f"total x (1 - {found.utilization:g})", _BUDGET_SOURCE),
        ("weights", weights.gib if weights else None, weights.formula if weights else "", WEIGHT_SOURCE),
        ("activation", peak, peak_how, ACTIVATION_SOURCE),
        ("cuda_graphs", graph, graph_how, GRAPH_SOURCE),
        ("non_torch", other, other_how, OTHER_SOURCE),
        ("kv_cache", available, "what is left", _BUDGET_SOURCE),
    )
    of_their_own: dict[str, Any] = {field: gib for name, field in _TERM_FIELDS.items() for row, gib, _, _ in rows if row == name}
    return SizingResult(
        **judge(found, pool, use),
        **_common(found),
        terms=tuple(Term(name=name, gib=gib, formula=how, source=source) for name, gib, how, source in rows if gib),
        total_gib=total,
        requested_gib=requested,
        **of_their_own,
        param_bytes=weights.param_bytes if weights else None,
        host=_host(found),
        **_pool_fields(found, groups, pool),
    )


def _common(found: Resolved) -> dict[str, Any]:
    return {"unknown": found.unknown, "vllm_version": str(found.version)}


def _unsized(found: Resolved, against: tuple[Refusal, ...]) -> SizingResult:
    """Refused before memory counts, or a model of which nothing is known."""
    return SizingResult(**(refused(*against) if against else judge(found, None)), **_common(found))


# Terms that have a field of their own in the answer.
_TERM_FIELDS = {
    "weights": "weights_gib",
    "activation": "activation_gib",
    "cuda_graphs": "cudagraph_gib",
    "non_torch": "non_torch_gib",
    "kv_cache": "kv_available_gib",
}


def _scaled(total: Estimate, share: float) -> Estimate:
    return Estimate(low=total.low * share, likely=total.likely * share, high=total.high * share)


def _minus(whole: Estimate, part: Estimate) -> Estimate:
    return Estimate(low=whole.low - part.low, likely=whole.likely - part.likely, high=whole.high - part.high)


def _sum(*parts: Estimate) -> Estimate:
    return Estimate(low=sum(p.low for p in parts), likely=sum(p.likely for p in parts), high=sum(p.high for p in parts))


def _available(found: Resolved, requested: Estimate | None, weights: Estimate | None, *others: Estimate) -> Estimate | None:
    fixed = found.request.kv_cache_memory_bytes
    if fixed:
        return Estimate(low=fixed / GIB, likely=fixed / GIB, high=fixed / GIB)
    if requested is None or weights is None:
        return None
    return Estimate(
        low=requested.low - weights.high - sum(other.high for other in others),
        likely=requested.likely - weights.likely - sum(other.likely for other in others),
        high=requested.high - weights.low - sum(other.low for other in others),
    )


def _pool(found: Resolved, groups: Layout | None, available: Estimate | None) -> Pool | None:
    if groups is None or available is None or found.max_model_len < 1:
        return None
    low, likely, high = (_planned(found, groups, gib) for gib in (available.low, available.likely, available.high))
    return Pool(groups, available, low, likely, high)


def _planned(found: Resolved, groups: Layout, gib: float) -> KvPlan:
    available = int(gib * GIB)
    answer = plan(groups, available, found.max_model_len)
    if found.fit_length and not answer.fits:
        fitted = longest(groups, available, found.max_model_len)
        return plan(groups, available, fitted) if fitted else answer
    return answer


def _estimate(low: float, likely: float, high: float) -> Estimate:
    return Estimate(low=min(low, likely), likely=likely, high=max(high, likely))


def _pool_fields(found: Resolved, groups: Layout | None, pool: Pool | None) -> dict[str, Any]:
    if groups is None:
        return {"max_model_len": found.max_model_len or None}
    fields: dict[str, Any] = {
        "kv_bytes_per_token": groups.bytes_per_token,
        "kv_needed_gib": groups.needed(found.max_model_len) / GIB if found.max_model_len else None,
        "block_size": groups.block_size,
        "max_model_len": found.max_model_len or None,
    }
    if pool is not None:
        low, likely, high = pool.low, pool.likely, pool.high
        fields |= {
            "kv_tokens": _estimate(low.tokens, likely.tokens, high.tokens),
            "max_concurrency": _estimate(low.concurrency, likely.concurrency, high.concurrency),
            "num_blocks": likely.blocks,
            "longest_model_len": _longest(found, pool),
        }
    return fields


def _longest(found: Resolved, pool: Pool) -> int:
    """The longest length that fits for sure: up to the model's own limit."""
    limit = max(found.facts.limit(found.version) if found.facts else 0, found.max_model_len)
    if pool.low.fits and limit == found.max_model_len:
        return limit
    return longest(pool.layout, int(pool.available.low * GIB), limit)


def _given(found: Resolved, groups: Layout | None, params: int | None) -> SizingResult:
    """Only the layout of a given amount of KV memory: exact."""
    gib = found.request.given_kv_gib or 0.0
    available = Estimate(low=gib, likely=gib, high=gib)
    pool = _pool(found, groups, available)
    fields = _pool_fields(found, groups, pool)
    if pool is not None:
        fields["longest_model_len"] = longest(pool.layout, int(gib * GIB), found.max_model_len)
        if found.fit_length:
            fields["max_model_len"] = fields["longest_model_len"]
    return SizingResult(**judge(found, pool), **_common(found), kv_available_gib=available, param_bytes=params, **fields)


def _host(found: Resolved) -> HostSide | None:
    if found.facts is None:
        return None
    whole = whole_weights(found.facts)
    ranks = found.request.tp * found.request.pp * found.request.dp
    offload = int(found.request.cpu_offload_gb * GIB) * ranks
    return HostSide(weights_bytes=whole, load_seconds=start_time(Start(weights=whole, ranks=ranks)).container.likely, offload_bytes=offload)
