"""The engine's batch: requests and tokens of one step, by the wished load and goal."""

from collections.abc import Iterator

from interlock.infra.catalog.versions import since
from interlock.infra.config.wishes import Goal
from interlock.infra.plan.derive.case import Case, Choice, tried
from interlock.infra.plan.derive.load import requests_per_engine
from interlock.infra.sizing.result import Verdict
from interlock.infra.sizing.settings import drafts_ahead

_SHORT_STEP = 2_048
"""Tokens of a step for latency (vLLM: docs/configuration/optimization.md, "smaller values (e.g., 2048) achieve better ITL")."""
_LARGER = 2


def sequences(case: Case) -> Iterator[Choice]:
    """``max_num_seqs``: what each engine is to serve at the same time."""
    found = requests_per_engine(case)
    if found is None or case.simulated:
        return
    count, told = found
    usual = case.resolved.sequences
    yield Choice("max_num_seqs", count, told, f"the engine's own {usual}, with graphs and buffers for as many" if usual > count else "")


def step_tokens(case: Case) -> Iterator[Choice]:
    """``max_num_batched_tokens`` by the goal, and how much of a step one long prompt may take."""
    goal, usual = case.server.wishes.goal, case.resolved.batched_tokens
    facts = case.facts
    if goal is Goal.BALANCED or case.simulated or case.pools or case.base.chunked_prefill is False or facts is None or facts.multimodal:
        return
    if goal is Goal.LATENCY:
        tokens = max(_SHORT_STEP, case.resolved.sequences)
        if tokens < usual:
            told = "goal latency: short steps, so that running answers wait less for the prompts of others"
            yield Choice("max_num_batched_tokens", tokens, told, f"the engine's own {usual}: prompts finish in fewer steps")
        yield from _long_prompts(case, min(tokens, usual))
        return
    if tried(case, max_num_batched_tokens=usual * _LARGER).verdict is Verdict.FITS:
        told = f"goal throughput: {_LARGER} x the engine's own {usual}, and it fits"
        yield Choice("max_num_batched_tokens", usual * _LARGER, told, "shorter steps for a steadier stream of tokens")
    else:
        yield Choice("max_num_batched_tokens", None, f"the engine's own {usual}: {_LARGER} x as many do not surely fit beside the KV cache")


def _long_prompts(case: Case, tokens: int) -> Iterator[Choice]:
    """One long prompt leaves half of each step to others (vLLM: config/scheduler.py, long_prefill_token_threshold)."""
    prompt = case.server.wishes.longest_prompt or 0
    if prompt > tokens and case.takes("long_prefill_token_threshold"):
        told = f"goal latency: a prompt of up to {prompt} tokens takes at most half of a step of {tokens}"
        yield Choice("long_prefill_token_threshold", tokens // 2, told, "0: one long prompt fills whole steps")


def overlap(case: Case) -> Iterator[Choice]:
    """``async_scheduling`` is left to the engine: what it will do, and why."""
    if case.simulated or case.pools or not case.takes("async_scheduling"):
        return
    found = case.resolved
    if not since("async_scheduling", found.version):
        yield Choice("async_scheduling", None, "the engine's own: off before 0.14", "true: the next step is prepared while the GPU runs")
    elif drafts_ahead(case.request, found.version, found.v2):
        yield Choice("async_scheduling", None, "the engine's own: on, the next step is prepared while the GPU runs this one")
    else:
        method = case.request.speculative_method
        yield Choice("async_scheduling", None, f"the engine's own: off, drafts by {method} are needed before the next step")
