"""Ends the engine when its supervisor is killed. The kernel does that where the supervisor is PID 1; elsewhere this small process does.

It reads ``PID MARK`` on its input and waits there for the end: the word ``done``, or nothing, which means that the supervisor is gone.
"""

import contextlib
import os
import signal
import sys
from typing import NamedTuple

from interlock.runtime.supervise.processes import end_all
from interlock.runtime.supervise.start import start

DONE = b"done\n"


class Guard(NamedTuple):
    """The process, and the end of the pipe that it reads."""

    pid: int
    pipe: int


NONE = Guard(0, -1)


def watch(engine: int, mark: str, archive: str) -> Guard:
    """Starts one for an engine; from the tree without an archive."""
    read, write = os.pipe()
    try:
        command = [sys.executable, "-S", archive] if archive else [sys.executable, "-m", "interlock.runtime"]
        made = Guard(start([*command, "guard"], os.environ, (2, 2), read), write)
    finally:
        os.close(read)
    os.write(write, f"{engine} {mark}\n".encode())
    return made


def release(guarded: Guard) -> None:
    """Tells it that nothing is left to do, and takes its exit."""
    if not guarded.pid:
        return
    with contextlib.suppress(OSError):  # it was killed
        os.write(guarded.pipe, DONE)
    os.close(guarded.pipe)
    with contextlib.suppress(ChildProcessError):
        os.waitpid(guarded.pid, 0)


def main(_: list[str]) -> int:
    """Waits for the supervisor's end."""
    signal.pthread_sigmask(signal.SIG_BLOCK, set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP, signal.SIGCHLD})
    said = b""
    while data := os.read(0, 4096):
        said += data
    words = said.split()
    if len(words) == 2 and not said.endswith(DONE):
        end_all(int(words[0]), words[1].decode())
    return 0
