"""Wishes that a plan does not meet: nothing fails by them, so nothing is refused, but a person has to know."""

import math

from interlock.infra.plan.derive.load import wished_requests, wished_tokens
from interlock.infra.plan.types import PlannedServer
from interlock.infra.sizing.result import SizingResult
from interlock.infra.values import plural


def unmet(server: PlannedServer, fit: SizingResult) -> str:
    """What of the wished load the KV caches of all replicas do not surely hold at the same time, and what would; empty when they do.

    A request counts with half of the longest prompt and answer where these are wished, else with the longest that the engine takes.
    """
    wished = wished_requests(server.config)
    if wished is None or fit.max_concurrency is None or not fit.max_model_len or not fit.kv_needed_gib:
        return ""
    requests, told = wished
    usual = wished_tokens(server.config)
    each = usual or fit.max_model_len
    held = int(fit.max_concurrency.low * fit.max_model_len / each) * server.args.engine.dp
    if held * server.max_replicas >= requests:
        return ""
    length = f"{each:,.0f} tokens ({'half of the longest prompt and answer' if usual else 'the longest that it takes'})"
    holds = f"{plural(server.max_replicas, 'replica')} surely {'holds' if server.max_replicas == 1 else 'hold'}"
    text = f"{told} are wished, and {holds} {held * server.max_replicas} of {length}: the others wait"
    return f"{text}; {plural(math.ceil(requests / held), 'replica')} would hold them" if held else text
