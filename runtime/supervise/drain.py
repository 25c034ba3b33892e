"""When the engine may end: events in, effects out. Pure: the clock and the counts come with each event.

RUNNING --asked--> DRAINING --nothing in flight, or the budget ends--> STOPPING --too slow--> KILLED
A loading engine has nothing to drain, a hung one cannot: RUNNING goes to STOPPING or KILLED at once.
"""

from enum import Enum
from typing import NamedTuple

IDLE_SECONDS = 0.2
"""How long nothing must be in flight at least: a busy client sends its next request within some milliseconds."""
LOADING_SECONDS = 3
"""What a loading engine gets after SIGTERM: it holds no request, and in the later part of its start vLLM 0.32 does not heed SIGTERM."""


class Phase(Enum):
    """How far the end of the engine has come."""

    RUNNING = "running"
    DRAINING = "draining"
    STOPPING = "stopping"
    KILLED = "killed"


class Event(Enum):
    """What happens to the supervisor."""

    DRAIN = "drain"  # asked by `runtime drain`: any number of times is once
    STOP = "stop"  # SIGTERM or SIGINT: the second one ends the engine at once
    TICK = "tick"


class Effect(Enum):
    """What the supervisor does."""

    RAISE = "raise the flag"
    TERM = "SIGTERM to the engine"
    KILL = "SIGKILL to the engine's group"


class Cause(Enum):
    """Why the engine was told to end."""

    NONE = ""
    DRAINED = "nothing in flight"
    BUDGET = "the drain budget is over"
    SECOND = "second signal"
    LOADING = "the engine was still loading"
    HUNG = "an engine core hangs"
    FOLLOWER = "the leader did not end this engine within the drain budget"


class Times(NamedTuple):
    """Seconds; see spec.Spec."""

    settle: float
    drain: float
    quiet: float
    patience: float
    teardown: float
    hang: float
    kept: float = 0.0
    """How long the server keeps a connection that idles: until then a client may send on it, and find it closed."""


class View(NamedTuple):
    """What the board shows at one moment."""

    serving: bool = False
    inflight: int = 0
    refused: int = 0
    silence: float = 0.0
    follower: bool = False
    """A node without an API server: its leader drains, and ends it."""


class State(NamedTuple):
    """All that is remembered between events. ``cut``: requests in flight when the engine was told to end."""

    phase: Phase = Phase.RUNNING
    since: float = 0.0
    stops: int = 0
    cause: Cause = Cause.NONE
    cut: int = 0
    idle_since: float = -1.0
    refused: int = -1
    refused_at: float = 0.0


Outcome = tuple[State, tuple[Effect, ...]]


def step(state: State, event: Event, now: float, view: View, times: Times) -> Outcome:
    """The next state, and what to do. ``now`` in seconds of a clock that never goes back."""
    if event is Event.STOP:
        state = state._replace(stops=state.stops + 1)
    if state.phase is Phase.RUNNING:
        return _begin(state, now, view, times) if event is not Event.TICK else (state, ())
    if state.phase is Phase.KILLED:
        return state, ()
    if event is Event.STOP and state.stops > 1:
        return _kill(state, now, view, Cause.SECOND)
    if state.phase is Phase.STOPPING:
        limit = min(LOADING_SECONDS, times.teardown) if state.cause is Cause.LOADING else times.teardown
        return _kill(state, now, view, state.cause) if now - state.since >= limit else (state, ())
    return _drain(state, now, view, times)


def _begin(state: State, now: float, view: View, times: Times) -> Outcome:
    state = state._replace(phase=Phase.DRAINING, since=now, refused_at=now)
    state, effects = _drain(state, now, view, times)
    return state, (Effect.RAISE, *effects)


def _drain(state: State, now: float, view: View, times: Times) -> Outcome:
    if times.hang and view.silence > times.hang:
        return _kill(state, now, view, Cause.HUNG)
    lasted = now - state.since
    if view.follower:
        return _stop(state, now, view, Cause.FOLLOWER) if lasted >= times.drain else (state, ())
    if not view.serving:
        return _stop(state, now, view, Cause.LOADING)
    if view.refused != state.refused:
        state = state._replace(refused=view.refused, refused_at=now)
    if view.inflight:
        state = state._replace(idle_since=-1.0)
    elif state.idle_since < 0:
        state = state._replace(idle_since=now)
    idle = now - state.idle_since if state.idle_since >= 0 else -1.0
    quiet = now - state.refused_at >= times.quiet or idle >= times.patience
    if idle >= IDLE_SECONDS + min(times.kept, times.patience) and lasted >= times.settle and quiet:
        return _stop(state, now, view, Cause.DRAINED)
    return _stop(state, now, view, Cause.BUDGET) if lasted >= times.drain else (state, ())


def _stop(state: State, now: float, view: View, cause: Cause) -> Outcome:
    return state._replace(phase=Phase.STOPPING, since=now, cause=cause, cut=view.inflight), (Effect.TERM,)


def _kill(state: State, now: float, view: View, cause: Cause) -> Outcome:
    cut = max(state.cut, view.inflight)
    return state._replace(phase=Phase.KILLED, since=now, cause=cause, cut=cut), (Effect.KILL,)


class Verdict(NamedTuple):
    """How it ended: the exit code and the reason."""

    code: int
    text: str


DRAINED, CUT, START_FAILED, ENGINE_DIED, HUNG = 0, 1, 3, 4, 5


def verdict(state: State, status: int, view: View) -> Verdict:
    """What the supervisor says when the engine is gone. ``status``: its exit code, or minus the signal that ended it."""
    how = f"signal {-status}" if status < 0 else f"exit code {status}"
    if state.cause is Cause.HUNG:
        return Verdict(HUNG, f"hung and ended: no engine step although {state.cut} requests were in flight")
    if state.phase is Phase.DRAINING and view.follower:
        return Verdict(DRAINED, "ended by its leader")
    if state.phase in (Phase.RUNNING, Phase.DRAINING):
        if view.serving or view.follower:
            return Verdict(ENGINE_DIED, f"the engine ended by itself ({how}) with {view.inflight} requests in flight")
        return Verdict(START_FAILED, f"the engine ended before it served ({how})")
    if state.cut:
        return Verdict(CUT, f"{state.cause.value}: {state.cut} requests were still in flight")
    return Verdict(DRAINED, f"drained: {state.cause.value}")
