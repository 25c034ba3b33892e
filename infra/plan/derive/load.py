"""How many requests a replica serves at the same time."""

from dataclasses import dataclass

from interlock.infra.plan.derive.case import Case

_TYPICAL = 0.5
"""Part of the longest prompt and answer that a request holds on average, where nothing else is known."""


@dataclass(frozen=True, slots=True)
class Load:
    """Requests that one engine serves at the same time."""

    requests: int
    tokens: float
    """KV tokens that they hold together."""
    told: str


def requests_per_engine(case: Case) -> tuple[int, str] | None:
    """(requests, arithmetic) of each engine at the most replicas; None when nothing is wished."""
    wishes, copies = case.server.wishes, max(case.most_replicas * case.engine.dp, 1)
    if wishes.concurrent is not None:
        whole, told = wishes.concurrent, f"{wishes.concurrent} at the same time"
    elif wishes.requests_per_second is not None:
        mean = case.server.longest_answer_seconds * _TYPICAL
        whole = max(int(-(-wishes.requests_per_second * mean // 1)), 1)
        told = f"{wishes.requests_per_second:g} per second x {mean:g} s (half of longest_answer_seconds) = {whole}"
    else:
        return None
    each = -(-whole // copies)
    return each, f"{told} / {copies} = {each}" if copies > 1 else told


def wished_concurrency(case: Case) -> Load | None:
    """What the KV cache of one engine is to hold, by the wishes; None when they do not say it."""
    wishes, found = case.server.wishes, requests_per_engine(case)
    if found is None or not (wishes.longest_prompt or wishes.longest_answer):
        return None
    requests, told = found
    each = ((wishes.longest_prompt or 0) + (wishes.longest_answer or 0)) * _TYPICAL
    return Load(requests, requests * each, f"{requests} requests ({told}) of {each:g} tokens, half of the longest")
