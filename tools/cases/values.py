"""Reading the loose values of a case: numbers, sizes and durations in several spellings, words that mean absence."""

import re
from collections.abc import Mapping
from typing import Any

from interlock.infra.values import bytes_of, seconds

NOTHING = ("", "none", "null", "unset", "missing", "omitted", "absent", "off", "no", "false", "not set")


def mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def number(value: Any) -> float | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return float(value)
    match = re.search(r"-?\d+(\.\d+)?", value) if isinstance(value, str) else None
    return float(match.group()) if match else None


def duration(value: Any) -> float | None:
    if isinstance(value, bool) or value is None:
        return None
    try:
        return seconds(value)
    except ValueError:
        return number(value)


def size(value: Any) -> int | None:
    """Bytes of ``8Gi``, ``100GB`` or a plain number of bytes."""
    text = str(value).strip().replace(" ", "")
    text = re.sub(r"(?i)(g|m|t)i?b$", lambda m: m.group().rstrip("bB"), text)
    try:
        return bytes_of(text)
    except ValueError:
        return None


def nothing(value: Any) -> bool:
    return value is None or value is False or (isinstance(value, str) and value.strip().lower() in NOTHING)


def first(source: Mapping[str, Any], *names: str) -> Any:
    """The first of several spellings that is there."""
    return next((source[name] for name in names if name in source), None)
