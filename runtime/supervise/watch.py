"""Around drain.py: turns signals and time into events, does what it says, and tells how the engine ended."""

import os
import signal
import time
from collections.abc import Mapping

from interlock.runtime import board, words
from interlock.runtime.silence import silence
from interlock.runtime.supervise import guard, leftovers, processes, streams
from interlock.runtime.supervise.begin import DRAIN, FORWARDED, SIGNALS, STOP, Run
from interlock.runtime.supervise.drain import DRAINED, Effect, Event, Phase, State, Times, View, step, verdict

TICK_SECONDS = {Phase.RUNNING: 3600.0, Phase.DRAINING: 0.05, Phase.STOPPING: 0.05, Phase.KILLED: 0.05}
PUMP_SECONDS = 1.0
"""How long the last output may take after the engine's end: someone who escaped may hold the pipe."""
KEEP_ALIVE, KEPT_SECONDS = "VLLM_HTTP_TIMEOUT_KEEP_ALIVE", 5
"""vLLM's variable and its default."""


def kept(environment: Mapping[str, str]) -> float:
    """Seconds after which vLLM closes a connection on which nothing comes."""
    stated = environment.get(KEEP_ALIVE, "")
    return float(stated) if stated.isdigit() else KEPT_SECONDS


def look(running: Run, dead: bool = False) -> View:
    """The board at this moment; with ``dead`` also what processes that ended last wrote."""
    try:
        found = board.pages(running.spec.board, dead)
    except OSError:
        found = []
    late = 0.0 if dead else silence(found, board.now())
    serving = bool(board.total(found, "serving"))
    return View(serving, board.total(found, "inflight"), board.total(found, "refused"), late, running.follower)


def watch(running: Run) -> int:
    """Passes on the engine's output and turns signals and time into events, until the engine has ended; then ends what is left of it."""
    guarded = guard.watch(running.pid, running.mark, running.archive) if os.getpid() != 1 else guard.NONE
    given, state = running.spec, State()
    forms = [streams.as_json(name) if given.log == "json" else None for name in ("stdout", "stderr")]
    pumps = [streams.Pump(source, target, form) for source, target, form in zip(running.outputs, (1, 2), forms, strict=True)]
    times = Times(
        given.settle_seconds,
        given.drain_seconds,
        given.quiet_seconds,
        given.patience_seconds,
        given.teardown_seconds,
        given.hang_seconds,
        kept(os.environ),
    )
    ended = processes.reap()
    while running.pid not in ended:
        info = signal.sigtimedwait(SIGNALS, TICK_SECONDS[state.phase])
        ended |= processes.reap()
        event = Event.TICK
        if info and info.si_signo in STOP:
            event = Event.STOP
        elif info and info.si_signo == DRAIN:
            event = Event.DRAIN
        elif info and info.si_signo in FORWARDED:
            processes.send(running.pid, info.si_signo)
        if running.pid in ended:
            break
        if event is not Event.TICK or state.phase is not Phase.RUNNING:
            before = state.phase
            view = look(running)
            state, effects = step(state, event, time.monotonic(), view, times)
            for effect in effects:
                ended |= act(running, effect)
            if state.phase is not before:
                running.say(f"{state.phase.value}: {view.inflight} in flight; {state.cause.value or f'at most {given.drain_seconds:g} s'}")
    return finish(running, state, ended[running.pid], pumps, guarded)


def act(running: Run, effect: Effect) -> dict[int, int]:
    """Does it; returns the exit codes of children that ended meanwhile."""
    if effect is Effect.RAISE:
        running.control[board.DRAINING] = 1
    elif effect is Effect.TERM:
        processes.send(running.pid, signal.SIGTERM)
    else:
        return processes.end_all(running.pid, running.mark)
    return {}


def finish(running: Run, state: State, status: int, pumps: list[streams.Pump], guarded: guard.Guard) -> int:
    """Ends what is left, says why, and returns the exit code."""
    view = look(running, dead=True)
    processes.end_all(running.pid, running.mark)
    guard.release(guarded)
    for pump in pumps:
        pump.join(PUMP_SECONDS)
    if running.spec.own_shm:
        leftovers.remove(running.spec.shm)
    code, text = verdict(state, status, view)
    if code != DRAINED and (last := streams.last_error(*(pump.tail for pump in pumps))):
        text = f"{text}; its last error: {last}"
    trouble = words.leave(text, running.spec.termination_log)
    for line in filter(None, (trouble, f"{text}; exit code {code}")):
        running.say(line)
    return code
