"""A bounded queue: requests that would wait longer than anybody waits are refused at once (HTTP 503), so that they go elsewhere."""

from collections.abc import Iterator

from interlock.infra.config.wishes import Goal
from interlock.infra.plan.derive.case import Case, Choice

_SCALER = 4
"""The queue is so many times as long as the length at which the scaler adds a replica."""
_STEPS = 16
"""Latency: prompts of so many full steps may wait for their prefill."""


def admission(case: Case) -> Iterator[Choice]:
    """Limits of what is in flight (vLLM: config/scheduler.py, max_num_queued_reqs counts running and waiting requests of all DP ranks)."""
    if case.simulated:
        return
    if case.takes("max_num_queued_reqs"):
        running = case.resolved.sequences * case.engine.dp
        scaler = (case.server.autoscale.waiting_per_replica or 0) * _SCALER if case.server.autoscale else 0
        waiting = max(running, scaler)
        each = f"max_num_seqs {case.resolved.sequences}" + (f" x DP {case.engine.dp}" if case.engine.dp > 1 else "")
        told = f"{running} running ({each}) + {waiting} waiting: one batch ahead of each, more would wait longer than an answer takes"
        yield Choice("max_num_queued_reqs", running + waiting, told, "no limit: requests queue until their clients give up")
    if case.server.wishes.goal is Goal.LATENCY and not case.pools and case.takes("max_num_queued_tokens"):
        longest = case.server.wishes.longest_prompt or 0
        tokens = max(_STEPS * case.resolved.batched_tokens * case.engine.dp, 4 * longest)
        told = f"goal latency: prompts of {_STEPS} steps of {case.resolved.batched_tokens} tokens may wait for their prefill"
        yield Choice("max_num_queued_tokens", tokens, told, "no limit: the first token of a late request waits for all prompts before it")
