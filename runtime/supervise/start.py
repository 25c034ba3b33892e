"""Starting a program as a process group of its own."""

from __future__ import annotations

import os

from interlock.runtime.supervise.signals import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

MARK = "INTERLOCK_RUN"
"""Environment variable that every process of one run carries, also one that left the group."""
IGNORED = (signal.SIGPIPE, signal.SIGXFSZ)
"""Python ignores these; the engine starts with the kernel's defaults, as without a supervisor."""


def start(command: list[str], environment: Mapping[str, str], outputs: tuple[int, int], inputs: int | None = None) -> int:
    """The pid of a new process, which leads a group of its own. Raises OSError when it cannot be started."""
    files: list[tuple[int, int, int]] = [(os.POSIX_SPAWN_DUP2, given, wanted) for given, wanted in zip(outputs, (1, 2), strict=True)]
    if inputs is not None:
        files.append((os.POSIX_SPAWN_DUP2, inputs, 0))
    return os.posix_spawnp(command[0], command, environment, file_actions=files, setpgroup=0, setsigmask=(), setsigdef=IGNORED)
