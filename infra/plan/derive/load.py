"""How many requests a replica serves at the same time."""

from dataclasses import dataclass

from interlock.infra.config.servers import ServerConfig
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


def wished_requests(server: ServerConfig) -> tuple[int, str] | None:
    """(requests at the same time, arithmetic) of the whole server; None when nothing is wished."""
    wishes = server.wishes
    if wishes.concurrent is not None:
        return wishes.concurrent, f"{wishes.concurrent} at the same time"
    if wishes.requests_per_second is not None:
        mean = server.longest_answer_seconds * _TYPICAL
        whole = max(int(-(-wishes.requests_per_second * mean // 1)), 1)
        return whole, f"{wishes.requests_per_second:g} per second x {mean:g} s (half of longest_answer_seconds) = {whole}"
    return None


def wished_tokens(server: ServerConfig) -> float | None:
    """KV tokens that a wished request holds on average; None where no length is wished."""
    wishes = server.wishes
    return ((wishes.longest_prompt or 0) + (wishes.longest_answer or 0)) * _TYPICAL or None


def requests_per_engine(case: Case) -> tuple[int, str] | None:
    """(requests, arithmetic) of each engine at the most replicas; None when nothing is wished."""
    found, copies = wished_requests(case.server), max(case.most_replicas * case.engine.dp, 1)
    if found is None:
        return None
    whole, told = found
    each = -(-whole // copies)
    return each, f"{told} / {copies} = {each}" if copies > 1 else told


def wished_concurrency(case: Case) -> Load | None:
    """What the KV cache of one engine is to hold, by the wishes; None when they do not say it."""
    each, found = wished_tokens(case.server), requests_per_engine(case)
    if found is None or each is None:
        return None
    requests, told = found
    return Load(requests, requests * each, f"{requests} requests ({told}) of {each:g} tokens, half of the longest")
