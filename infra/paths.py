"""Paths into plain data, as findings write them: ``servers[0].engine``, ``metadata.labels["a.b/c"]``."""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

_PLAIN_KEY = re.compile(r"^[A-Za-z0-9_-]+$")
_STEP = re.compile(r'\["([^"]+)"\]|\[(\d+)\]|([^.\[]+)')

Step = str | int
"""A key of a mapping or an index of a list."""


def child_path(path: str, key: str) -> str:
    """The path of a field: ``a.b``, with brackets where the key holds anything but letters, digits, ``_`` and ``-``."""
    if not _is_plain(key):
        return f'{path}["{key}"]'
    return f"{path}.{key}" if path else key


@lru_cache(maxsize=4096)
def _is_plain(key: str) -> bool:
    """Whether a key needs no brackets; documents have the same few keys again and again."""
    return _PLAIN_KEY.match(key) is not None


def path_of(steps: Iterable[Step], path: str = "") -> str:
    """The path along ``steps``, below ``path``."""
    for step in steps:
        path = f"{path}[{step}]" if isinstance(step, int) else child_path(path, step)
    return path


def steps_of(path: str) -> list[Step]:
    """The keys and indices of a path."""
    return [key or (int(index) if index else name) for key, index, name in _STEP.findall(path)]


def at(data: Any, path: str) -> Any:
    """The value at ``path`` in mappings, lists and objects with attributes. Raises LookupError."""
    for step in steps_of(path):
        if isinstance(step, int) or hasattr(data, "keys"):
            data = data[step]
        elif hasattr(data, step):
            data = getattr(data, step)
        else:
            raise LookupError(f"nothing at {path}")
    return data


def within(path: str, place: str) -> bool:
    """Whether ``path`` is ``place`` or stands in it."""
    return path.startswith(place) and (len(path) == len(place) or not place or path[len(place)] in ".[")
