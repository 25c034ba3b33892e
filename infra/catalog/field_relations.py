"""What an API server or an operator refuses of an object beyond unknown fields and wrong types, as rows of a table over types of fields."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any

from interlock.infra.catalog.conditions import Conditions, Known, flat, holds, names_of, needs_of, row_of, told
from interlock.infra.catalog.tables import table

SEGMENT = re.compile(r"\[([^\]]*)\]|([^.\[\]]+)")
"""One step of a path: a key in brackets, or a name; neither for ``[]``, every item of a list."""


@dataclass(frozen=True)
class FieldRelation:
    """A refusal of an object, in words of its fields."""

    id: str
    """Stable name of the row."""
    types: tuple[str, ...]
    """Types as k8s_fields.json and crd_fields.json name them (``Probe``, ``RayCluster.spec``)."""
    when: Conditions
    """What must hold. Names are paths below the type: ``rollingUpdate.maxSurge``, ``ports[].name`` (a list), ``annotations[a.b/c]``."""
    message: str
    """What is wrong, with ``{path}`` for values."""
    fix: str
    """The change that removes it."""
    at: str
    """The path to point at, below the type; may be empty for the type itself."""
    source: str
    """``artefact: file::symbol``."""
    severity: str = "error"
    """An error only where the object is certainly refused."""

    @cached_property
    def names(self) -> frozenset[str]:
        """Every path that the row asks for."""
        return names_of(self.when, self.message, self.fix)

    @cached_property
    def needs(self) -> frozenset[str]:
        """First keys of the paths that must be stated for the row to fire."""
        return frozenset(_steps(name)[0] or "" for name in needs_of(self.when))

    @cached_property
    def of_absence(self) -> bool:
        """Whether it fires on something that is not stated, which a partial document (a patch) says of everything."""
        return any(each.test == "stated" and not each.operand for each in flat(self.when))


@dataclass(frozen=True, slots=True)
class Said:
    """What a document says at a path; neither known nor absent: something that cannot be read now."""

    known: bool = False
    absent: bool = False
    value: Any = None


@dataclass(frozen=True, slots=True)
class FieldRefused:
    """A row that fires."""

    relation: FieldRelation
    message: str
    fix: str


@cache
def field_relations() -> Mapping[str, tuple[FieldRelation, ...]]:
    """Rows by type. Raises ValueError when the file breaks the schema."""
    found: dict[str, list[FieldRelation]] = {}
    for data in table("field_relations.json")["rows"]:
        row = row_of(FieldRelation, data)
        for name in row.types:
            found.setdefault(name, []).append(row)
    return {name: tuple(rows) for name, rows in found.items()}


def field_refused(
    name: str, value: Mapping[str, Any], readable: Callable[[Any], bool] = lambda _: True, *, whole: bool = True
) -> Iterator[FieldRefused]:
    """The rows of a type that fire on a value of it. ``readable`` says whether a scalar is what will be applied (no template);
    of a document that is not ``whole`` nothing is said about what is not stated."""
    known = Known(_Sayings(value, readable), {})
    for row in field_relations().get(name, ()):
        if not row.needs <= value.keys() or (row.of_absence and not whole):
            continue
        if holds(row.when, known):
            yield FieldRefused(row, told(row.message, known), told(row.fix, known))


@dataclass(frozen=True, slots=True)
class _Sayings:
    """What a value says, path by path; each is read when a row first asks for it, and once for all rows of its type."""

    value: Mapping[str, Any]
    readable: Callable[[Any], bool]
    found: dict[str, Said] = field(default_factory=dict)

    def get(self, path: str, /) -> Said:
        said = self.found.get(path)
        if said is None:
            said = self.found[path] = said_at(self.value, path, self.readable)
        return said


@cache
def _steps(path: str) -> tuple[str | None, ...]:
    """The keys along a path of the table; None gathers over a list."""
    return tuple(key or name or None for key, name in SEGMENT.findall(path))


_UNREAD, _ABSENT = Said(), Said(absent=True)


def said_at(value: Any, path: str, readable: Callable[[Any], bool] = lambda _: True) -> Said:
    """What plain data says at a path. ``[]`` gathers over a list, items that lack the rest left out."""
    steps, each = _steps(path), value
    for place, key in enumerate(steps):
        if not readable(each):
            return _UNREAD
        if key is None:
            return _gathered([each], steps[place:], readable)
        if not isinstance(each, (dict, Mapping)):  # the first is asked first, and is quick to tell
            return _UNREAD
        each = each.get(key)
        if each is None:
            return _ABSENT
    whole = readable(each) and (not isinstance(each, list) or all(map(readable, each)))
    return Said(known=True, value=each) if whole else _UNREAD


def _gathered(found: list[Any], steps: tuple[str | None, ...], readable: Callable[[Any], bool]) -> Said:
    """What several values say at the same steps, of which the first gathers over a list."""
    for key in steps:
        following: list[Any] = []
        for each in found:
            if readable(each) and key is None and isinstance(each, list):
                following += each
            elif readable(each) and key is not None and isinstance(each, Mapping):
                following += [each[key]] if each.get(key) is not None else []
            else:
                return _UNREAD
        found = following
    whole = all(map(readable, (item for each in found for item in (each, *(each if isinstance(each, list) else ())))))
    return Said(known=True, value=found) if whole else _UNREAD
