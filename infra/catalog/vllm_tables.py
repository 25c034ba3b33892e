"""What is known by vLLM version: spans of read versions, and what may be said about a version that was not read."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Any, Literal

from interlock.infra.catalog.tables import table
from interlock.infra.values import Version


class Standing(StrEnum):
    """How a name stands in one version."""

    EXISTS = "exists"
    RENAMED = "renamed"
    """Not there; what to write instead is known."""
    REMOVED = "removed"
    """An older version had it."""
    NOT_YET = "not_yet"
    """Only a newer version has it."""
    UNKNOWN = "unknown"
    """No version that was read has it."""
    UNSURE = "unsure"
    """The version was not read and its neighbours differ, or it is outside what was read."""


@dataclass(frozen=True, slots=True)
class Status:
    """A name in a version. `to`: what to use instead; `since`, `until`: first and last read version that has the name."""

    standing: Standing
    to: str | None = None
    note: str = ""
    since: str | None = None
    until: str | None = None
    deprecated: bool = False

    @property
    def exists(self) -> bool:
        """Whether the version certainly has it."""
        return self.standing is Standing.EXISTS


@dataclass(frozen=True, slots=True)
class Span:
    """Consecutive read versions in which the facts of a name are the same."""

    since: str
    until: str
    facts: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Replacement:
    """What stands in for a name; `to` is None where nothing does."""

    to: str | None
    note: str
    source: str


@dataclass(frozen=True, slots=True)
class Table:
    """One kind of name (flags, metrics, environment, values of arguments) over all versions read."""

    versions: tuple[str, ...]
    spans: Mapping[str, tuple[Span, ...]]
    replacements: Mapping[str, Replacement]

    def at(self, name: str, version: str | None) -> Span | Literal["unsure"] | None:
        """The span that holds in `version`; None if the name is absent there. An unread version between two that agree is like them."""
        key = _parsed(version)
        spans = self.spans.get(name, ())
        around = self._neighbours(key)
        if around is None:
            everywhere = len(spans) > 0 and spans[0].since == self.versions[0] and spans[-1].until == self.versions[-1]
            return spans[-1] if key is None and everywhere else None if key is None and not spans else "unsure"
        low, high = (_covering(spans, v) for v in around)
        if (low is None) != (high is None):
            return "unsure"
        return low

    def _neighbours(self, key: Version | None) -> tuple[str, str] | None:
        keys = _keys(self.versions)
        if key is None or key < keys[0] or key > keys[-1]:
            return None
        low = max(i for i, k in enumerate(keys) if k <= key)
        return self.versions[low], self.versions[low if keys[low] == key else low + 1]

    def absent(self, name: str, version: str | None) -> Status:
        """Why a name that is absent from `version` is: never there, gone, or not there yet."""
        spans, replacement = self.spans.get(name, ()), self.replacements.get(name)
        key = _parsed(version)
        later = bool(spans) and key is not None and all(_read(s.since) > key for s in spans)
        standing = Standing.NOT_YET if later else Standing.REMOVED if spans else Standing.UNKNOWN
        since, until = (spans[0].since, spans[-1].until) if spans else (None, None)
        if later or replacement is None:
            return Status(standing, since=since, until=until)
        return Status(Standing.RENAMED if replacement.to else standing, replacement.to, replacement.note, since, until)


def _covering(spans: tuple[Span, ...], version: str) -> Span | None:
    key = _read(version)
    return next((s for s in spans if _read(s.since) <= key <= _read(s.until)), None)


@cache
def _parsed(version: str | None) -> Version | None:
    return Version.parse(version or "")


@cache
def _read(version: str) -> Version:
    """A version of the table itself. Raises ValueError for anything else."""
    found = Version.parse(version)
    if found is None:
        raise ValueError(f"{version!r} is not a version")
    return found


@cache
def _keys(versions: tuple[str, ...]) -> tuple[Version, ...]:
    return tuple(_read(v) for v in versions)


@cache
def vllm_names(kind: Literal["flags", "metrics", "env", "values", "members"]) -> Table:
    """The names of one kind over all versions read, as generated from the wheels."""
    data = table(f"vllm_{kind}.json")
    spans = {name: tuple(Span(row["since"], row["until"], row) for row in rows) for name, rows in data[kind].items()}
    replacements = {name: Replacement(row["to"], row.get("note", ""), row["source"]) for name, row in data["replacements"].items()}
    return Table(tuple(data["versions"]), spans, replacements)
