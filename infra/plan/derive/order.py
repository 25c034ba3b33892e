"""Who goes first when requests queue: by priority where tenants differ in their patience, with a long prompt in parts."""

from collections.abc import Iterator

from interlock.infra.plan.derive.case import Case, Choice

_PART = 4
"""A long prompt takes at most one of so many parts of a step, so that short ones are read beside it."""


def order(case: Case) -> Iterator[Choice]:
    """Priority scheduling, and a limit for partial prefills, where it is not decided already."""
    if not case.tiered or case.pools or not case.takes("scheduling_policy"):
        return
    told = "tenants state tiers (access.tenants): their deadlines order the queue, which fcfs would ignore"
    yield Choice("scheduling_policy", "priority", told, "fcfs: who came first goes first, whatever it costs")
    tokens, longest = case.resolved.batched_tokens // _PART, case.resolved.max_model_len
    if case.engine.long_prefill_token_threshold is None and tokens <= longest and case.takes("long_prefill_token_threshold"):
        told = f"a quarter of a step of {case.resolved.batched_tokens} tokens: the first token of a short request waits for no long prompt"
        yield Choice("long_prefill_token_threshold", tokens, told, "a long prompt fills whole steps")
