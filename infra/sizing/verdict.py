"""Fits, does not fit, or cannot be sure, and what decides it."""

from dataclasses import dataclass
from typing import TypedDict

from interlock.infra.sizing.kv.plan import KvPlan, Layout, longest
from interlock.infra.sizing.result import Estimate, Verdict
from interlock.infra.sizing.settings import Resolved
from interlock.infra.sizing.terms.graphs import growth_gib, start_gib
from interlock.infra.values import GIB


@dataclass(frozen=True, slots=True)
class Pool:
    """The KV pool at the low, likely and high end of the available memory."""

    layout: Layout
    available: Estimate
    low: KvPlan
    likely: KvPlan
    high: KvPlan


class Judgement(TypedDict):
    """Fields of the result that the verdict fills."""

    verdict: Verdict
    reasons: tuple[str, ...]


def _unsure(found: Resolved) -> list[str]:
    facts, reasons = found.facts, []
    if facts is None:
        named = found.request.model
        reasons.append(f"model {named} is not in the catalog: give its config.json" if named else "no model is stated")
    else:
        if not facts.complete:
            reasons.append("the shapes of the model are incomplete: its weights cannot be derived")
        if not facts.sizes_cache:
            reasons.append("the shapes of the model's KV cache are not known")
    if found.memory is None and found.request.given_kv_gib is None:
        reasons.append(f"the memory of GPU {found.request.gpu} is not known" if found.request.gpu else "no GPU is stated")
    if facts is not None and found.max_model_len < 1:
        reasons.append("neither max_model_len nor the model's own length is known")
    return reasons


def judge(found: Resolved, pool: Pool | None, refused: tuple[str, ...]) -> Judgement:
    """The verdict with its reasons."""
    if refused:
        return {"verdict": Verdict.DOES_NOT_FIT, "reasons": refused}
    if pool is None:
        return {"verdict": Verdict.UNSURE, "reasons": tuple(_unsure(found))}
    refusal, doubt = headroom(found)
    if refusal:
        return {"verdict": Verdict.DOES_NOT_FIT, "reasons": (refusal,)}
    if pool.low.fits and _concurrent(found, pool.low) and doubt:
        return {"verdict": Verdict.UNSURE, "reasons": (doubt,)}
    if pool.low.fits and _concurrent(found, pool.low):
        return {"verdict": Verdict.FITS, "reasons": (_arithmetic(found, pool, pool.low, pool.available.low),)}
    if not pool.high.fits or not _concurrent(found, pool.high):
        return {"verdict": Verdict.DOES_NOT_FIT, "reasons": (_arithmetic(found, pool, pool.high, pool.available.high),)}
    reason = _arithmetic(found, pool, pool.likely, pool.available.likely)
    spread = f"KV memory is between {pool.available.low:.2f} and {pool.available.high:.2f} GiB: {reason}"
    return {"verdict": Verdict.UNSURE, "reasons": (spread,)}


def headroom(found: Resolved) -> tuple[str | None, str | None]:
    """(why it cannot start, why it may run out) from what utilization leaves free on the card."""
    if found.memory is None or found.request.kv_cache_memory_bytes or found.request.given_kv_gib is not None:
        return None, None
    start, growth, free = start_gib(found), growth_gib(found), found.request.free_at_start_gib
    asked = found.memory.likely * found.utilization
    most_free = min(free, found.memory.high) if free is not None else found.memory.likely - start.low
    if asked > most_free:
        return f"utilization {found.utilization:g} asks for {asked:.2f} GiB, at most {most_free:.2f} GiB are free at the start", None
    outside = found.memory.likely - asked
    if free is None and start.likely + growth.high > outside:
        return None, (
            f"utilization {found.utilization:g} leaves {outside:.2f} GiB outside the budget; "
            f"contexts, collectives and graphs may need up to {start.likely + growth.high:.2f} GiB"
        )
    return None, None


def _concurrent(found: Resolved, plan: KvPlan) -> bool:
    wanted = found.request.wanted_concurrency
    return wanted is None or plan.concurrency >= wanted


def _arithmetic(found: Resolved, pool: Pool, plan: KvPlan, available: float) -> str:
    if available <= 0:
        return f"no memory is left for the KV cache: weights and overheads exceed the budget by {-available:.2f} GiB"
    need = pool.layout.needed(found.max_model_len) / GIB
    word = "holds" if plan.fits else "is less than"
    text = f"{available:.2f} GiB of KV cache {word} the {need:.2f} GiB of one request of {found.max_model_len} tokens"
    if plan.fits:
        return f"{text} ({plan.concurrency:.2f} at the same time)"
    shorter = longest(pool.layout, int(available * GIB), found.max_model_len)
    return f"{text}; {shorter} tokens would fit" if shorter else text
