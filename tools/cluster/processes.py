"""Processes that outlive the command that started them, and that can always be found again.

Each is started in a session of its own with ``INTERLOCK_CLUSTER_FOLDER`` in its environment. So ``find`` sees also what was started
and never recorded (the starter was killed in between), and never another program that got a recycled process id.
"""

import os
import signal
import subprocess
import time
from collections.abc import Iterable
from pathlib import Path

from tools.cluster.state import Cluster, Process

MARK = "INTERLOCK_CLUSTER_FOLDER"


def spawn(cluster: Cluster, name: str, argv: list[str], environment: dict[str, str] | None = None) -> Process:
    """Starts ``argv`` in the cluster's network, its output in ``logs/NAME.log``, and records it in the state."""
    log = cluster.folder / "logs" / f"{name}.log"
    log.parent.mkdir(exist_ok=True)
    clean = {key: os.environ[key] for key in ("PATH", "HOME", "LANG", "TMPDIR") if key in os.environ}
    with log.open("ab") as output:
        started = subprocess.Popen(
            [*cluster.enter(), *argv],
            cwd=cluster.folder,
            env=clean | (environment or {}) | {MARK: str(cluster.folder)},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    process = Process(started.pid, start_time(started.pid) or 0, argv)
    cluster.processes[name] = process
    cluster.save()
    return process


def start_time(pid: int) -> int | None:
    """When ``pid`` started, in clock ticks since boot; None when there is no such process or it is a zombie."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] == "Z" else int(fields[19])


def alive(process: Process) -> bool:
    """Whether this very process still runs."""
    return start_time(process.pid) == process.started


def end(process: Process) -> None:
    """Asks one process to end."""
    _send([process.pid], signal.SIGTERM)


def find(cluster: Cluster) -> list[int]:
    """The ids of all processes of ``cluster``: those that carry its mark, and those that live in its network namespace."""
    wanted = f"{MARK}={cluster.folder}".encode()
    inode = _inode(f"/run/netns/{cluster.namespace}") if cluster.namespace else None
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit() or int(entry) == os.getpid():
            continue
        try:
            marked = wanted in Path(f"/proc/{entry}/environ").read_bytes().split(b"\0")
        except OSError:
            continue
        if (marked or (inode and _inode(f"/proc/{entry}/ns/net") == inode)) and start_time(int(entry)) is not None:
            found.append(int(entry))
    return found


def stop(cluster: Cluster, patience: float = 3.0) -> int:
    """Ends every process of ``cluster``, by SIGTERM and after ``patience`` seconds by SIGKILL; returns how many there were."""
    first = find(cluster)
    _send(first, signal.SIGTERM)
    deadline = time.monotonic() + patience
    while (left := find(cluster)) and time.monotonic() < deadline:
        time.sleep(0.05)
    while left:
        _send(left, signal.SIGKILL)
        time.sleep(0.05)
        left = find(cluster)
    return len(first)


def _send(pids: Iterable[int], number: signal.Signals) -> None:
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            continue


def _inode(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino
