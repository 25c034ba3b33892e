"""Fits, does not fit, or cannot be sure, and what decides it."""

from dataclasses import dataclass
from typing import TypedDict

from interlock.infra.sizing.kv.plan import KvPlan, Layout, longest
from interlock.infra.sizing.refusal import Kind, Refusal
from interlock.infra.sizing.result import Estimate, Verdict
from interlock.infra.sizing.settings import Resolved
from interlock.infra.sizing.terms.graphs import growth_gib, start_gib
from interlock.infra.values import GIB

# Above so many requests their fraction says nothing.
_WHOLE = 10

MORE_GPUS = "use more GPUs or larger ones"
"""The remedy where no shorter length helps."""


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
    refusals: tuple[Refusal, ...]
    doubtful: tuple[Refusal, ...]


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
        slice_of = f"MIG instance {found.request.mig_profile} of " if found.request.mig_profile else ""
        reasons.append(f"the memory of {slice_of}GPU {found.request.gpu} is not known" if found.request.gpu else "no GPU is stated")
    if facts is not None and found.max_model_len < 1:
        reasons.append("neither max_model_len nor the model's own length is known")
    return reasons


def refused(*refusals: Refusal) -> Judgement:
    """The verdict where something is refused: the reasons are the refusals' own."""
    return {"verdict": Verdict.DOES_NOT_FIT, "reasons": tuple(each.text for each in refusals), "refusals": refusals, "doubtful": ()}


def _said(verdict: Verdict, *reasons: str, doubtful: tuple[Refusal, ...] = ()) -> Judgement:
    return {"verdict": verdict, "reasons": reasons, "refusals": (), "doubtful": doubtful}


def judge(found: Resolved, pool: Pool | None, use: Estimate | None = None) -> Judgement:
    """The verdict with its reasons. ``use``: GiB that the engine takes beside and with a KV pool of a fixed size."""
    if pool is None:
        return _said(Verdict.UNSURE, *_unsure(found))
    start = headroom(found)
    over = _beyond_card(found, use) if use is not None else Doubt()
    refusals = tuple(each for each in (start.refusal, over.refusal) if each)
    if refusals:
        return refused(*refusals)
    doubt = start.text or over.text
    if pool.low.fits and _concurrent(found, pool.low):
        if doubt:
            return _said(Verdict.UNSURE, doubt, doubtful=start.likely)
        return _said(Verdict.FITS, _arithmetic(found, pool, pool.low, pool.available.low))
    if not pool.high.fits or not _concurrent(found, pool.high):
        return refused(_too_small(found, pool))
    reason = _arithmetic(found, pool, pool.likely, pool.available.likely)
    text = f"KV memory is between {pool.available.low:.2f} and {pool.available.high:.2f} GiB: {reason}"
    likely = start.likely if pool.likely.fits and _concurrent(found, pool.likely) else (*start.likely, _likely_too_small(found, pool))
    return _said(Verdict.UNSURE, text, doubtful=likely)


@dataclass(frozen=True, slots=True)
class Doubt:
    """Why it cannot start, or why it may run out."""

    refusal: Refusal | None = None
    text: str = ""
    likely: tuple[Refusal, ...] = ()
    """The same as a refusal that cannot be sure."""


def _likely_too_small(found: Resolved, pool: Pool) -> Refusal:
    """The pool at its likely size holds no request; at its high end it does."""
    return _told_of(found, pool, pool.likely, pool.available.likely)


def _too_small(found: Resolved, pool: Pool) -> Refusal:
    """The pool at its high end holds no request, or fewer than are wanted."""
    return _told_of(found, pool, pool.high, pool.available.high)


def _told_of(found: Resolved, pool: Pool, plan: KvPlan, available: float) -> Refusal:
    text = _arithmetic(found, pool, plan, available, hint=False)
    if available <= 0:
        return Refusal(kind=Kind.WEIGHTS, field="model", text=text, remedy="use more GPUs, larger ones, or a smaller or quantized model")
    flag, shorter = "max-model-len", longest(pool.layout, int(max(pool.available.low, 0) * GIB), found.max_model_len) // 16 * 16
    remedy = f"set --{flag} to {shorter} (fits for sure)" if shorter and not plan.fits else MORE_GPUS
    fits = shorter if shorter and not plan.fits else None
    return Refusal(kind=Kind.REQUEST, field=flag, text=text, remedy=remedy, value=fits)


def _beyond_card(found: Resolved, use: Estimate) -> Doubt:
    """A fixed pool is not derived from the card, so the card need not hold it: all engines of the card together are compared with it."""
    if found.memory is None or not found.request.kv_cache_memory_bytes:
        return Doubt()
    count, flag = found.request.sharers, "kv-cache-memory-bytes"
    each = f"{count} engines x " if count > 1 else ""
    pool = found.request.kv_cache_memory_bytes / GIB
    if use.low * count > found.memory.high:
        text = (
            f"{each}({use.low - pool:.2f} GiB of weights and overheads + {pool:.2f} GiB of KV cache) = {use.low * count:.2f} GiB, "
            f"the card has {found.memory.high:.2f}"
        )
        least = int((found.memory.low / count - (use.high - pool)) * 1024) << 20
        remedy = f"set --{flag} to {least} or less" if least > 0 else "use larger GPUs, or fewer engines on each"
        return Doubt(Refusal(kind=Kind.POOL, field=flag, text=text, remedy=remedy, value=least if least > 0 else None))
    if use.high * count > found.memory.low:
        return Doubt(text=f"{each}{use.low:.2f} to {use.high:.2f} GiB with a KV cache of {pool:.2f}, the card has {found.memory.low:.2f}")
    return Doubt()


def headroom(found: Resolved) -> Doubt:
    """What utilization leaves free on the card."""
    if found.memory is None or found.request.kv_cache_memory_bytes or found.request.given_kv_gib is not None:
        return Doubt()
    start, growth, free = start_gib(found), growth_gib(found), found.request.free_at_start_gib
    asked = found.memory.likely * found.utilization
    most_free = min(free, found.memory.high) if free is not None else found.memory.likely - start.low
    if asked > most_free:
        flag, text = (
            "gpu-memory-utilization",
            f"utilization {found.utilization:g} asks for {asked:.2f} GiB, at most {most_free:.2f} GiB are free at the start",
        )
        share = int(100 * most_free / found.memory.likely) / 100
        return Doubt(Refusal(kind=Kind.FREE_MEMORY, field=flag, text=text, remedy=f"set --{flag} to {share:g} or less", value=share))
    outside = found.memory.likely - asked
    if free is None and start.likely + growth.high > outside:
        text = f"utilization {found.utilization:g} leaves {outside:.2f} GiB outside the budget; "
        text += f"contexts, collectives and graphs may need up to {start.likely + growth.high:.2f} GiB"
        share = int(100 * (1 - (start.likely + growth.high) / found.memory.likely)) / 100
        flag = "gpu-memory-utilization"
        told = Refusal(kind=Kind.OUTSIDE, field=flag, text=text, remedy=f"set --{flag} to {share:g} or less", value=share)
        return Doubt(text=text, likely=(told,))
    return Doubt()


def _concurrent(found: Resolved, plan: KvPlan) -> bool:
    wanted = found.request.wanted_concurrency
    return wanted is None or plan.concurrency >= wanted


def _arithmetic(found: Resolved, pool: Pool, plan: KvPlan, available: float, *, hint: bool = True) -> str:
    """``hint``: name the length that surely fits; a refusal names it in its remedy."""
    if available <= 0:
        return f"no memory is left for the KV cache: weights and overheads exceed the budget by {-available:.2f} GiB"
    if not pool.layout.block_bytes:
        return "no KV cache needed: an encoder keeps nothing between requests"
    need, length = pool.layout.needed(found.max_model_len) / GIB, found.max_model_len
    if plan.fits:
        many = f"{plan.concurrency:.0f}" if plan.concurrency >= _WHOLE else f"{plan.concurrency:.2f}"
        text = f"{available:.2f} GiB KV cache = {many} concurrent requests of {length:,} tokens ({need:.2f} GiB each)"
        sure = 0 if pool.low.fits else longest(pool.layout, int(max(pool.available.low, 0) * GIB), length)
        return f"{text}; {sure:,} tokens surely fit" if sure else text
    text = f"{available:.2f} GiB KV cache is less than the {need:.2f} GiB of one request of {length:,} tokens"
    sure = longest(pool.layout, int(max(pool.available.low, 0) * GIB), length)
    likely = longest(pool.layout, int(max(pool.available.likely, 0) * GIB), length)
    if not hint or not likely:
        return text
    return f"{text}; {sure:,} tokens surely fit, {likely:,} likely" if sure else f"{text}; {likely:,} tokens likely fit, none surely"
