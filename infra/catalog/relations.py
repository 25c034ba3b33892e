"""Relations between flags, variables, versions and model facts that stop the engine at its start, as rows of a table.

A row fires when all of its conditions hold in a version between the first and the last in which the refusal was read.
"""

from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

from interlock.infra.catalog.conditions import Conditions, Known, Stated, holds, names_of, needs_of, row_of, told
from interlock.infra.catalog.expressions import Scalar
from interlock.infra.catalog.tables import table
from interlock.infra.values import Version


@dataclass(frozen=True)
class Relation:
    """A refusal of the engine at its start, in words of the command line."""

    id: str
    """Stable name of the row."""
    when: Conditions
    """What must hold for the engine to refuse."""
    message: str
    """What is wrong, with ``{name}`` or ``{= a * b}`` for the values."""
    fix: str
    """The change that removes it."""
    at: str
    """The name to point at."""
    source: str
    """``file::symbol`` of the refusal in vLLM."""
    severity: str = "error"
    """An error only where the engine certainly stops."""
    since: str = ""
    """First version read that has it; empty: not known, so that it never fires."""
    until: str = ""
    """Last version read that has it."""

    @cached_property
    def names(self) -> frozenset[str]:
        """Every name that the row asks for."""
        return names_of(self.when, self.message, self.fix)

    @cached_property
    def needs(self) -> frozenset[str]:
        """Names that must have a value for the row to fire: those that it tests outside of alternatives."""
        return needs_of(self.when)

    @cached_property
    def asked(self) -> frozenset[str]:
        """Flags and variables that its names stand for."""
        return _written(self.names)

    @cached_property
    def span(self) -> tuple[Version, Version] | None:
        """First and last version of the refusal."""
        since, until = Version.parse(self.since), Version.parse(self.until)
        return (since, until) if since is not None and until is not None else None


@dataclass(frozen=True)
class Relations:
    """The table."""

    read: tuple[str, ...]
    """Versions whose source was read, oldest first."""
    defaults: Mapping[str, Scalar]
    """What the engine takes for a name that is not stated; the same in all versions read."""
    rows: tuple[Relation, ...]
    """Rows in the order of the engine's configuration."""

    @cached_property
    def _needed(self) -> tuple[tuple[Relation, frozenset[str]], ...]:
        """Rows with the flags and variables that must be written for them to fire."""
        return tuple((row, _written(row.needs - self.defaults.keys())) for row in self.rows if row.span)

    def standing(self, version: Version, written: Set[str] | None = None) -> Iterator[Relation]:
        """Rows that hold in a version; with the names that are ``written``, only those that can fire on them: defaults agree."""
        for row, needed in self._needed:
            if written is not None and not needed <= written:
                continue
            if row.span and row.span[0] <= version <= row.span[1] and (written is None or not row.asked.isdisjoint(written)):
                yield row


def _written(names: Iterable[str]) -> frozenset[str]:
    """Flags and variables that names stand for."""
    return frozenset(name if name.startswith("env:") else name.split(".")[0] for name in names if not name.startswith(_BESIDE))


_BESIDE = ("model", "gpus", "vendor", "capability")


@dataclass(frozen=True, slots=True)
class Refused:
    """A row that fires."""

    relation: Relation
    message: str
    fix: str


def relations_of(data: Mapping[str, Any]) -> Relations:
    """The table in ``data``. Raises ValueError when it breaks the schema."""
    return Relations(tuple(data["read"]), data["defaults"], tuple(row_of(Relation, row) for row in data["rows"]))


@cache
def relations() -> Relations:
    """The table of this package. Raises ValueError when the file breaks the schema."""
    return relations_of(table("vllm_relations.json"))


def refused(
    facts: Mapping[str, Stated], version: str | None, rows: Relations | None = None, written: Set[str] | None = None
) -> Iterator[Refused]:
    """The rows that fire on ``facts`` in ``version``. A name that is not in ``facts`` is unknown; so is any row of an unread version.

    ``written``: every flag (and ``env:NAME``) that may be stated, so that rows about others are skipped.
    """
    found = rows or relations()
    key = Version.parse(version or "")
    if key is None:
        return
    known = Known(facts, found.defaults)
    for row in found.standing(key, written):
        if holds(row.when, known):
            yield Refused(row, told(row.message, known), told(row.fix, known))
