"""One chain of times: load < ready timeout <= startup budget < progress deadline < update timeout, and the drain budget."""

from interlock.infra.config.servers import ServerConfig
from interlock.infra.plan.types import TimeBudget

LOAD_BYTES_PER_SECOND = 1e9
"""Placeholder until start-up is measured per storage: one gigabyte a second."""
ENGINE_START_SECONDS = 60.0
"""Process start, compilation and graph capture; 20-55 s were measured on an H200 for vLLM 0.26-0.33 with a cold cache."""
SHORTEST_STARTUP = 300
STARTUP_MARGIN = 2.0
DEREGISTRATION_SECONDS = 15
"""Endpoints and gateways have stopped sending by then; Kubernetes gives no signal, so it is a wait."""
GRACE_MARGIN = 10
ROLLOUT_MARGIN = 120


def load_seconds(weight_bytes: int | None) -> float:
    """Predicted seconds from container start to ready, high estimate. Unknown weights count as nothing to read."""
    return ENGINE_START_SECONDS + (weight_bytes or 0) / LOAD_BYTES_PER_SECOND


def time_budget(server: ServerConfig, weight_bytes: int | None, steps: int, surge: int) -> TimeBudget:
    """All times of a server in seconds. ``steps`` = rollout steps one after the other, ``surge`` = pods added first."""
    load = load_seconds(weight_bytes)
    startup = server.startup_seconds or max(SHORTEST_STARTUP, int(STARTUP_MARGIN * load + 0.999))
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
