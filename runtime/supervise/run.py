"""``run -- COMMAND``: the supervisor's shell around drain.py. Exit codes: 0 drained, 1 ended with requests in flight,
2 configuration, 3 the engine did not start, 4 the engine died, 5 the engine hung and was ended.
"""

import contextlib
import os
import signal
import sys
import time
from typing import NamedTuple

from interlock.runtime import board, spec, words
from interlock.runtime.supervise import command as commands
from interlock.runtime.supervise import guard, leftovers, processes, streams
from interlock.runtime.supervise.drain import CONFIGURATION, DRAINED, Effect, Event, Phase, State, Times, View, step, verdict

STOP = (signal.SIGTERM, signal.SIGINT)
DRAIN = signal.SIGUSR1
FORWARDED = (signal.SIGHUP, signal.SIGUSR2, signal.SIGWINCH, signal.SIGQUIT)
SIGNALS = {*STOP, DRAIN, signal.SIGCHLD, *FORWARDED}
TICK_SECONDS = {Phase.RUNNING: 3600.0, Phase.DRAINING: 0.05, Phase.STOPPING: 0.05, Phase.KILLED: 0.05}
PUMP_SECONDS = 1.0
"""How long the last output may take after the engine's end: someone who escaped may hold the pipe."""


class Run(NamedTuple):
    """One engine, and what the supervisor holds of it."""

    spec: spec.Spec
    pid: int
    mark: str
    control: memoryview
    pumps: tuple[streams.Pump, streams.Pump]
    guard: tuple[int, int]
    follower: bool

    def say(self, text: str) -> None:
        """One line of ours among the engine's."""
        words.say(text, self.spec.log == "json")


def main(arguments: list[str]) -> int:
    """Runs the engine until it ends."""
    signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)  # a signal that comes before the engine is kept for it
    command = arguments[arguments.index("--") + 1 :] if "--" in arguments else arguments
    given = spec.Spec()
    try:
        given = spec.load(os.environ)
        commands.checked(command, given, os.environ)
        running = begin(command, given)
    except words.RefusedError as error:
        words.say(str(error), given.log == "json")
        words.say(words.leave(f"configuration: {error}", given.termination_log) or "exit code 2", given.log == "json")
        return CONFIGURATION
    return watch(running)


def begin(command: list[str], given: spec.Spec) -> Run:
    """Makes the board and starts the engine. Raises RefusedError when one of them cannot be."""
    archive = os.path.abspath(sys.argv[0]) if os.path.isfile(sys.argv[0]) and not sys.argv[0].endswith(".py") else ""
    if given.own_shm and (left := leftovers.remove(given.shm)):
        words.say(f"removed {len(left)} files of an earlier engine from {given.shm}", given.log == "json")
    control = fresh_board(given.board)
    mark = f"{os.getpid()}-{time.monotonic_ns()}"
    guarded = guard.watch(archive) if os.getpid() != 1 else (0, -1)
    pipes = [os.pipe(), os.pipe()]
    try:
        pid = processes.start(command, commands.around(os.environ, given, archive, mark), (pipes[0][1], pipes[1][1]))
    except OSError as error:
        release(guarded)
        raise words.RefusedError(f"cannot start {command[0]}: {error.strerror}") from None
    if guarded[0]:
        os.write(guarded[1], f"{pid} {mark}\n".encode())
    forms = [streams.as_json(name) if given.log == "json" else None for name in ("stdout", "stderr")]
    pumps = streams.Pump(pipes[0][0], 1, forms[0]), streams.Pump(pipes[1][0], 2, forms[1])
    for _, write in pipes:
        os.close(write)
    return Run(given, pid, mark, control, pumps, guarded, commands.follows(command))


def fresh_board(at: str) -> memoryview:
    """An empty board with the supervisor's words. Pages of the container's earlier life are removed: pids repeat."""
    try:
        os.makedirs(at, exist_ok=True)
        for name in os.listdir(at):
            if name.startswith(board.PAGE):
                os.unlink(os.path.join(at, name))
        control = board.mapped(os.path.join(at, board.CONTROL), 16)
    except OSError as error:
        raise words.RefusedError(f"the board cannot be made in {at}: {error.strerror}") from None
    control[board.SUPERVISOR] = os.getpid()
    return control


def look(running: Run, dead: bool = False) -> View:
    """The board at this moment; with ``dead`` also what processes that ended last wrote."""
    try:
        found = board.pages(running.spec.board, dead)
    except OSError:
        found = []
    late = 0.0 if dead else board.silence(found, board.now())
    serving = bool(board.total(found, "serving"))
    return View(serving, board.total(found, "inflight"), board.total(found, "refused"), late, running.follower)


def watch(running: Run) -> int:
    """Turns signals and time into events until the engine has ended, then ends what is left of it."""
    given, state = running.spec, State()
    ended: dict[int, int] = {}
    times = Times(
        given.settle_seconds, given.drain_seconds, given.quiet_seconds, given.patience_seconds, given.teardown_seconds, given.hang_seconds
    )
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
    return finish(running, state, ended[running.pid])


def act(running: Run, effect: Effect) -> dict[int, int]:
    """Does it; returns the exit codes of children that ended meanwhile."""
    if effect is Effect.RAISE:
        running.control[board.DRAINING] = 1
    elif effect is Effect.TERM:
        processes.send(running.pid, signal.SIGTERM)
    else:
        return processes.end_all(running.pid, running.mark)
    return {}


def finish(running: Run, state: State, status: int) -> int:
    """Ends what is left, says why, and returns the exit code."""
    view = look(running, dead=True)
    processes.end_all(running.pid, running.mark)
    release(running.guard)
    for pump in running.pumps:
        pump.join(PUMP_SECONDS)
    if running.spec.own_shm:
        leftovers.remove(running.spec.shm)
    code, text = verdict(state, status, view)
    if code != DRAINED and (last := streams.last_error(*(pump.tail for pump in running.pumps))):
        text = f"{text}; its last error: {last}"
    trouble = words.leave(text, running.spec.termination_log)
    for line in filter(None, (trouble, f"{text}; exit code {code}")):
        running.say(line)
    return code


def release(guarded: tuple[int, int]) -> None:
    """Tells the guard that nothing is left to do, and takes its exit."""
    pid, pipe = guarded
    if not pid:
        return
    with contextlib.suppress(OSError):  # it was killed
        os.write(pipe, guard.DONE)
    os.close(pipe)
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, 0)
