"""Signals to the engine, and the end of all that it started."""

import os
import signal
import time
from collections.abc import Iterable

from interlock.runtime.supervise.start import MARK


def reap() -> dict[int, int]:
    """Exit codes of the children that ended, orphans that came to us included; minus the number for a signal."""
    ended: dict[int, int] = {}
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return ended
        if not pid:
            return ended
        ended[pid] = os.waitstatus_to_exitcode(status)


def send(pid: int, number: int, group: bool = False) -> bool:
    """Sends a signal; False when nobody is there."""
    try:
        os.killpg(pid, number) if group else os.kill(pid, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def end_all(leader: int, mark: str) -> dict[int, int]:
    """SIGKILL to the leader's group, its descendants, and whoever carries the mark, until none is left (at most two seconds).

    Whoever is left would hold GPU memory, the port and the output. Returns the exit codes of the children that ended meanwhile.
    """
    children = descendants(leader)
    ended: dict[int, int] = {}
    until = time.monotonic() + 2
    while True:
        left = send(leader, signal.SIGKILL, group=True)
        for pid in {*children, *marked(mark)}:
            left = send(pid, signal.SIGKILL) or left
        ended |= reap()
        children = [pid for pid in children if _state(pid) not in ("", "Z")]
        if not left or time.monotonic() > until:
            return ended
        time.sleep(0.005)


def processes() -> Iterable[int]:
    """The pids that can be seen here."""
    return (int(name) for name in os.listdir("/proc") if name.isdigit())


def marked(mark: str) -> list[int]:
    """Living processes with this run's mark. One that renames itself may have lost it: hence the group and the descendants beside."""
    wanted = f"{MARK}={mark}".encode()
    found = []
    for pid in processes():
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                if wanted in file.read().split(b"\0"):
                    found.append(pid)
        except OSError:
            continue
    return [pid for pid in found if pid != os.getpid()]


def descendants(root: int) -> list[int]:
    """The children of a process, theirs, and so on."""
    parents = {pid: _stat(pid)[1:2] for pid in processes()}
    found, new = [], [str(root)]
    while new:
        new = [str(pid) for pid, parent in parents.items() if parent and parent[0] in new and pid not in found]
        found += [int(pid) for pid in new]
    return found


def _stat(pid: int) -> list[str]:
    """State, parent and what follows in the kernel's line about a process; empty when it is gone."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].decode().split()
    except OSError:
        return []


def _state(pid: int) -> str:
    return (_stat(pid) or [""])[0]
