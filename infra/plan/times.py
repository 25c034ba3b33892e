"""One chain of times: load < ready timeout <= startup budget < progress deadline < update timeout, and the drain budget."""

from interlock.infra.config.servers import ServerConfig
from interlock.infra.plan.rungs import rung
from interlock.infra.plan.types import TimeBudget
from interlock.infra.sizing.host import load_seconds

STARTUP_MARGIN = 2.0
DEREGISTRATION_SECONDS = 15
"""Endpoints and gateways have stopped sending by then; Kubernetes gives no signal, so it is a wait."""
GRACE_MARGIN = 10
ROLLOUT_MARGIN = 120


def time_budget(server: ServerConfig, weight_bytes: int | None, steps: int, surge: int) -> TimeBudget:
    """All times of a server in seconds. ``steps`` = rollout steps one after the other, ``surge`` = pods added first."""
    load = load_seconds(weight_bytes).likely
    startup = server.startup_seconds or rung(STARTUP_MARGIN * load)
    gateway = server.route.timeout_seconds if server.route else None
    answer = server.longest_answer_seconds
    drain = server.rollout.drain_seconds
    shutdown = drain if drain is not None else max(answer, gateway or 0)
    grace = DEREGISTRATION_SECONDS + shutdown + GRACE_MARGIN
    # Without a surge pod the old one drains before the new one starts, inside the same deadline.
    progress = startup + ROLLOUT_MARGIN + (0 if surge else grace)
    return TimeBudget(
        load=load,
        startup=startup,
        progress_deadline=progress,
        update_timeout=(progress + ROLLOUT_MARGIN) * max(1, steps),
        longest_answer=answer,
        gateway=gateway,
        deregistration=DEREGISTRATION_SECONDS,
        engine_shutdown=shutdown,
        grace=grace,
    )
