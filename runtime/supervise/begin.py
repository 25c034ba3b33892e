"""The start of an engine: a fresh board, its process, its pipes."""

import os
import sys
import time

from interlock.runtime import board, mapped, spec, words
from interlock.runtime.supervise import command as commands
from interlock.runtime.supervise.signals import signal
from interlock.runtime.supervise.start import start

STOP = (signal.SIGTERM, signal.SIGINT)
DRAIN = signal.SIGUSR1
FORWARDED = (signal.SIGHUP, signal.SIGUSR2, signal.SIGWINCH, signal.SIGQUIT)
SIGNALS = {*STOP, DRAIN, signal.SIGCHLD, *FORWARDED}


class Run:
    """One engine, and what the supervisor holds of it. ``outputs``: the ends of its stdout and stderr that are read."""

    __slots__ = ("archive", "control", "follower", "mark", "outputs", "pid", "spec")

    def __init__(self, given: spec.Spec, command: list[str], archive: str) -> None:
        self.spec, self.archive, self.follower = given, archive, commands.follows(command)
        self.control = fresh_board(given.board)
        self.mark = f"{os.getpid()}-{time.monotonic_ns()}"
        pipes = os.pipe(), os.pipe()
        environment = commands.around(os.environ, given, archive, self.mark)
        try:
            self.pid = start(command, environment, (pipes[0][1], pipes[1][1]))
        except OSError as error:
            raise words.RefusedError(f"cannot start {command[0]}: {error.strerror}") from None
        for _, write in pipes:
            os.close(write)
        self.outputs = pipes[0][0], pipes[1][0]

    def say(self, text: str) -> None:
        """One line of ours among the engine's."""
        words.say(text, self.spec.log == "json")


def begin(command: list[str], given: spec.Spec) -> Run:
    """Starts the engine. Raises RefusedError when that, or the board, cannot be made."""
    archive = os.path.abspath(sys.argv[0])
    if given.own_shm:
        _clean(given)
    return Run(given, command, "" if archive.endswith(".py") else archive)


def _clean(given: spec.Spec) -> None:
    from interlock.runtime.supervise import leftovers  # noqa: PLC0415 - only where it is asked for

    if left := leftovers.remove(given.shm):
        words.say(f"removed {len(left)} files of an earlier engine from {given.shm}", given.log == "json")


def fresh_board(at: str) -> memoryview:
    """An empty board with the supervisor's words. Pages of the container's earlier life are removed: pids repeat."""
    try:
        os.makedirs(at, exist_ok=True)
        for name in os.listdir(at):
            if name.startswith(board.PAGE):
                os.unlink(os.path.join(at, name))
        control = mapped.mapped(os.path.join(at, board.CONTROL), 16)
    except OSError as error:
        raise words.RefusedError(f"the board cannot be made in {at}: {error.strerror}") from None
    control[board.SUPERVISOR] = os.getpid()
    return control
