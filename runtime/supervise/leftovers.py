"""Shared memory that an engine left behind when it was killed: /dev/shm outlives a container's restart where it is a volume."""

import os
import re
from collections.abc import Collection

LEFT = re.compile(r"psm_[0-9a-f]+|sem\.mp-\w+")
"""Names that Python's shared memory and semaphores have; vLLM makes both."""


def there(folder: str) -> list[str]:
    """Names of such files, in use or not."""
    try:
        return [name for name in os.listdir(folder) if LEFT.fullmatch(name)]
    except OSError:
        return []


def remove(folder: str, kept: Collection[str] = ()) -> list[str]:
    """Removes what no living process has mapped; returns the names. Only for a folder that no other container uses."""
    found = [name for name in there(folder) if name not in kept]
    removed = []
    used = _mapped(folder) if found else ""
    for name in found:
        if f"{folder}/{name}" in used:
            continue
        try:
            os.unlink(os.path.join(folder, name))
        except OSError:
            continue
        removed.append(name)
    return removed


def _mapped(folder: str) -> str:
    texts = []
    for pid in os.listdir("/proc"):
        if pid.isdigit():
            try:
                with open(f"/proc/{pid}/maps", encoding="utf-8", errors="replace") as file:
                    texts += [line for line in file if folder in line]
            except OSError:
                continue
    return "".join(texts)
