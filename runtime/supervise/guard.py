"""Ends the engine when its supervisor is killed. The kernel does that where the supervisor is PID 1; elsewhere this small process does.

It reads ``PID MARK`` on its input and waits there for the end: the word ``done``, or nothing, which means that the supervisor is gone.
"""

import os
import signal
import sys

from interlock.runtime.supervise.processes import end_all, start

DONE = b"done\n"


def watch(archive: str) -> tuple[int, int]:
    """(pid of a new guard, the end of the pipe that it reads)."""
    read, write = os.pipe()
    try:
        command = [sys.executable, "-S", archive, "guard"] if archive else [sys.executable, "-m", "interlock.runtime", "guard"]
        return start(command, os.environ, (2, 2), read), write
    finally:
        os.close(read)


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
