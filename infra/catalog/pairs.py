"""What the two sides of a prefill/decode pair must agree in, by version of vLLM."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from interlock.infra.catalog.tables import table
from interlock.infra.values import Version

_FILE = "kv_pairs.json"
NEVER = Version(99, 0)


@dataclass(frozen=True, slots=True)
class Side:
    """One thing that both sides have."""

    of: str
    """What it is, in words: a flag, or a part of the engine."""
    test: str
    """How the two are compared; see the file."""
    hashed: bool
    since: Version
    before: Version
    effect: str
    severity: str


@cache
def sides() -> tuple[Side, ...]:
    """Every row of the table. Raises ValueError when one has no version."""
    data = table(_FILE)
    return tuple(
        Side(
            row["of"],
            row["test"],
            row["hash"],
            _version(row["since"]),
            _version(row["before"]) if "before" in row else NEVER,
            row.get("effect", data["hashed"]),
            row.get("severity", "error"),
        )
        for row in data["sides"]
    )


def _version(text: str) -> Version:
    found = Version.parse(text)
    if found is None:
        raise ValueError(f"{_FILE}: {text!r} is not a version")
    return found


def standing(version: Version) -> Iterator[Side]:
    """The rows that hold in a version."""
    return (row for row in sides() if row.since <= version.release < row.before)


def was_read(version: Version) -> bool:
    """Whether the source of a version lies between those that were read."""
    first, last = (_version(text) for text in table(_FILE)["read"])
    return first <= version.release <= last


def groups() -> Mapping[str, Any]:
    """Labels by which the sides of a pair know each other."""
    found: Mapping[str, Any] = table(_FILE)["groups"]
    return found


def on_failure(version: Version) -> tuple[str, str] | None:
    """What a version does with a request whose cache does not arrive, and the first one that does so; None before there was a choice."""
    rows = table(_FILE)["failure"]["default"]
    return next(((rows[text], text) for text in reversed(rows) if _version(text) <= version.release), None)
