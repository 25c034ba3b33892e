"""One chain of times: load < ready timeout <= startup budget < progress deadline < update timeout, and what a stop may take."""

import math

from interlock.infra.config.servers import ServerConfig
from interlock.infra.plan.rollout import Rollout
from interlock.infra.plan.rungs import SILENCES, rung
from interlock.infra.plan.start_types import PlannedStart
from interlock.infra.plan.types import TimeBudget

DEREGISTRATION_SECONDS = 15
"""Endpoints and gateways have stopped sending by then; Kubernetes gives no signal, so it is a wait."""
GRACE_MARGIN = 10
ENGINE_SECONDS = 20
"""--shutdown-timeout under a supervisor, which has drained before: 0 would kill the engine core, which then leaves shared memory."""
TEARDOWN_SECONDS = ENGINE_SECONDS + 5
ROLLOUT_MARGIN = 120
MINUTE = 60


def time_budget(server: ServerConfig, start: PlannedStart, rollout: Rollout, replicas: int, *, supervised: bool, step: float) -> TimeBudget:
    """All times of a server in seconds; ``step``: the engine's longest."""
    load, before = start.cold.container, start.cold.before.high
    startup = server.startup_seconds or rung(load.high)
    gateway = server.route.timeout_seconds if server.route else None
    answer = server.longest_answer_seconds
    stated = server.rollout.drain_seconds
    drain = stated if stated is not None else max(answer, gateway or 0)
    teardown = TEARDOWN_SECONDS if supervised else 0
    grace = DEREGISTRATION_SECONDS + drain + teardown + GRACE_MARGIN
    # Without a card for every new pod an old one drains before the new one starts, inside the same deadline.
    progress = startup + math.ceil(before / MINUTE) * MINUTE + ROLLOUT_MARGIN + (grace if rollout.waits(replicas) else 0)
    return TimeBudget(
        load=load.likely,
        slow=load.high,
        before=before,
        scale_up=start.cold.total.likely,
        startup=startup,
        progress_deadline=progress,
        update_timeout=(progress + ROLLOUT_MARGIN) * max(1, rollout.steps(replicas)),
        longest_answer=answer,
        gateway=gateway,
        deregistration=DEREGISTRATION_SECONDS,
        drain=drain,
        engine_shutdown=ENGINE_SECONDS if supervised else drain,
        teardown=teardown,
        step=step,
        hang=server.runtime.hang_seconds or rung(step, SILENCES),
        grace=grace,
    )
