"""The control groups of a node's pods: one parent of its own in every hierarchy, so that they can be found and removed."""

import contextlib
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

from tools.node import needs

ROOT = Path("/sys/fs/cgroup")
PATIENCE_SECONDS = 10.0
#: What the pods together weigh against the machine's other processes, each of which weighs 1024 in version 1 (100 in version 2):
#: as much as eight of them, so that a machine that runs many does not starve an engine, which has several busy processes itself.
WEIGHTS = {"cpu.shares": "8192", "cpu.weight": "800"}


def parents(name: str) -> list[Path]:
    """Where the group ``name`` lies or would lie: once per hierarchy."""
    if not ROOT.is_dir():
        return []
    if needs.version(ROOT) == 2:
        return [ROOT / name]
    # Hierarchies that are mounted together are links to one folder.
    return sorted({(folder / name).resolve() for folder in ROOT.iterdir() if (folder / "cgroup.procs").exists()})


def create(name: str) -> None:
    """Makes the group in every hierarchy. Raises OSError with what to do where version 2 does not hand its controllers down."""
    if needs.version(ROOT) == 2:
        try:
            (ROOT / "cgroup.subtree_control").write_text(" ".join(f"+{controller}" for controller in needs.V2_CONTROLLERS))
        except OSError as error:
            text = "in a container, move its processes out of the topmost group first"
            raise OSError(f"control groups version 2 at {ROOT} do not hand down their controllers ({error.strerror}): {text}") from error
    for group in parents(name):
        group.mkdir(exist_ok=True)
        for setting, value in WEIGHTS.items():
            if (group / setting).exists():
                (group / setting).write_text(value)
        for setting in ("cpuset.cpus", "cpuset.mems"):
            # In version 1 a new group has no processors, and nothing can be put into it.
            if needs.version(ROOT) == 1 and (group.parent / setting).exists():
                (group / setting).write_text((group.parent / setting).read_text())


def found(name: str) -> list[Path]:
    """All groups at and below ``name``, the deepest first."""
    return [group for parent in parents(name) if parent.exists() for group in _below(parent)]


def remove(name: str) -> int:
    """Ends what still runs in the groups and removes them; returns how many there were."""
    count = len(found(name))
    deadline = time.monotonic() + PATIENCE_SECONDS
    while left := found(name):
        for group in left:
            for pid in members(group):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            _remove(group)
        if time.monotonic() > deadline:
            raise OSError(f"{left[0]} cannot be removed")
        time.sleep(0.02)
    return count


def members(group: Path) -> list[int]:
    """The processes in one group, as this process namespace numbers them."""
    try:
        return [int(pid) for pid in (group / "cgroup.procs").read_text().split() if pid != "0"]
    except OSError:
        return []


def _below(parent: Path) -> Iterator[Path]:
    for folder, _, _ in os.walk(parent, topdown=False):
        yield Path(folder)


def _remove(group: Path) -> None:
    # A group whose last process has not left yet stays for the next round.
    with contextlib.suppress(OSError):
        group.rmdir()
