"""The wished load against what the KV caches hold: nothing fails by too much of it, so nothing is refused, but a person has to know."""

import math

from interlock.infra.config.servers import ServerConfig
from interlock.infra.plan.derive.load import wished_requests, wished_tokens
from interlock.infra.plan.reasons import Reason
from interlock.infra.sizing.result import SizingResult
from interlock.infra.values import plural

NOT_HELD = "too much at once"
"""The value of a decision about a load of which a part waits."""


def held_load(server: ServerConfig, fit: SizingResult, *, engines: int, replicas: int) -> Reason | None:
    """How much of the wished load surely fits into all caches at the same time, and what would; None where no load is wished or known.

    ``engines``: data-parallel ranks of a replica. A request counts with half of the longest prompt and answer where these are wished,
    else with the longest that the engine takes.
    """
    wished = wished_requests(server)
    if wished is None or fit.max_concurrency is None or not fit.max_model_len or not fit.kv_needed_gib:
        return None
    requests, told = wished
    usual = wished_tokens(server)
    each = usual or fit.max_model_len
    held = int(fit.max_concurrency.low * fit.max_model_len / each) * engines
    length = f"{each:,.0f} tokens ({'half of the longest prompt and answer' if usual else 'the longest that it takes'})"
    holds = f"{plural(replicas, 'replica')} surely {'holds' if replicas == 1 else 'hold'} {held * replicas} of {length}"
    if held * replicas >= requests:
        return Reason(value="held", reason=f"{told} are wished, and {holds}")
    more = f"; {plural(math.ceil(requests / held), 'replica')} would hold them" if held else ""
    return Reason(value=NOT_HELD, reason=f"{told} are wished, and {holds}: the others wait{more}")
