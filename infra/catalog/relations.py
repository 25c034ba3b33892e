"""Relations between flags, variables, versions and model facts that stop the engine at its start, as rows of a table.

A row fires when all of its conditions hold. Each is three-valued: a value that is unknown, or absent with no default in the table,
decides nothing, so that a row never fires on what was not read.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, Literal, Protocol

from pydantic import BaseModel, ConfigDict, Field, model_validator

from interlock.infra.catalog.comparisons import TESTS
from interlock.infra.catalog.expressions import Scalar, names_in, value_of
from interlock.infra.catalog.tables import table
from interlock.infra.values import Version


class Stated(Protocol):
    """What is known of a name: as ``facts.Fact``."""

    @property
    def known(self) -> bool:
        """A value was read."""

    @property
    def absent(self) -> bool:
        """Nothing was stated, so that a default holds."""

    @property
    def value(self) -> Any:
        """The value that was read, else None."""


class Row(BaseModel):
    """A part of a table: frozen, without unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Condition(Row):
    """One test of a name or of arithmetic over names."""

    of: str
    """A name (``tensor-parallel-size``, ``kv-transfer-config.kv_role``, ``env:NAME``, ``model:heads``, ``gpus``) or ``= a * b + c``."""
    stated: bool | None = None
    """Whether it is stated at all; null in JSON counts as not stated."""
    equals: Scalar | None = None
    """A literal, or ``= ...`` for another value. A switch equals true or false."""
    differs: Scalar | None = None
    """Known and not equal."""
    one_of: tuple[Scalar, ...] | None = None
    """Equal to one of them."""
    none_of: tuple[Scalar, ...] | None = None
    """Known and equal to none of them."""
    below: Scalar | None = None
    """A number less than."""
    above: Scalar | None = None
    """A number greater than."""
    indivisible_by: Scalar | None = None
    """A whole number with a remainder."""
    divisible_by: Scalar | None = None
    """A whole number without one."""
    matches: str | None = None
    """A text in which the regular expression is found."""
    repeats: bool | None = None
    """Whether an item of a list (or of a text with commas) occurs twice."""
    holds: Scalar | None = None
    """A list (or a text with commas) that has this item."""
    item_not: str | None = None
    """A list (or a text with commas) with an item that the regular expression does not match whole."""
    keys_outside: tuple[str, ...] | None = None
    """A mapping with a key that is none of these."""
    key_not: str | None = None
    """A mapping with a key that the regular expression does not match whole."""
    shorter_than: int | None = None
    """A list or mapping with fewer items."""
    longer_than: int | None = None
    """A list with more items, or a text with more characters."""
    exceeds: Scalar | None = None
    """A Kubernetes quantity greater than."""

    @model_validator(mode="after")
    def _one_test(self) -> "Condition":
        if len(self.model_fields_set - {"of"}) != 1:
            raise ValueError(f"a condition has exactly one test, {self.of!r} has {sorted(self.model_fields_set - {'of'})}")
        return self

    @property
    def test(self) -> str:
        """The name of its test."""
        return next(iter(self.model_fields_set - {"of"}))

    @property
    def operand(self) -> Any:
        """What the test compares with."""
        return getattr(self, self.test)


Conditions = tuple[Condition | tuple[tuple[Condition, ...], ...], ...]
"""All must hold; a list of lists holds when all conditions of one inner list do."""


def flat(when: Conditions) -> list[Condition]:
    """Every condition, those of alternatives too."""
    return [one for part in when for one in ([part] if isinstance(part, Condition) else [inner for group in part for inner in group])]


def names_of(when: Conditions, *texts: str) -> frozenset[str]:
    """Every name that conditions and messages ask for."""
    each = flat(when)
    operands = [text for one in each for text in _texts(one.operand)]
    shown = re.findall(r"\{([^}]*)\}", "".join(texts))
    asked = [name for text in (*operands, *shown) if text.startswith("=") for name in names_in(text)]
    return frozenset([*(name for one in each for name in names_in(one.of)), *asked, *(name for name in shown if not name.startswith("="))])


def needs_of(when: Conditions) -> frozenset[str]:
    """Names that must have a value for the conditions to hold: those that are tested outside of alternatives."""
    tested = [each for each in when if isinstance(each, Condition) and (each.test != "stated" or each.operand)]
    return frozenset(
        name
        for each in tested
        for text in (each.of, *(text for text in _texts(each.operand) if text.startswith("=")))
        for name in names_in(text)
    )


class Relation(Row):
    """A refusal of the engine at its start, in words of the command line."""

    id: str
    """Stable name of the row."""
    when: Conditions = Field(min_length=1)
    """What must hold for the engine to refuse."""
    message: str
    """What is wrong, with ``{name}`` or ``{= a * b}`` for the values."""
    fix: str
    """The change that removes it."""
    at: str
    """The name to point at."""
    source: str
    """``file::symbol`` of the refusal in vLLM."""
    severity: Literal["error", "warning"] = "error"
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


def _texts(operand: Any) -> list[str]:
    items = operand if isinstance(operand, tuple) else (operand,)
    return [item for item in items if isinstance(item, str)]


class Relations(Row):
    """The table."""

    read: tuple[str, ...]
    """Versions whose source was read, oldest first."""
    defaults: Mapping[str, Scalar]
    """What the engine takes for a name that is not stated; the same in all versions read."""
    rows: tuple[Relation, ...]
    """Rows in the order of the engine's configuration."""

    @cached_property
    def _spans(self) -> tuple[tuple[Version, Version, Relation, frozenset[str], frozenset[str]], ...]:
        read = [(Version.parse(row.since), Version.parse(row.until), row) for row in self.rows]
        return tuple(
            (since, until, row, _written(row.needs - self.defaults.keys()), _written(row.names))
            for since, until, row in read
            if since is not None and until is not None
        )

    def standing(self, version: Version, written: Set[str] | None = None) -> Iterator[Relation]:
        """Rows that hold in a version; with the names that are ``written``, only those that can fire on them: defaults agree."""
        for since, until, row, needed, asked in self._spans:
            if since <= version <= until and (written is None or (needed <= written and not asked.isdisjoint(written))):
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


@cache
def relations() -> Relations:
    """The table of this package. Raises ValidationError (a ValueError) when the file breaks the schema."""
    data = {key: value for key, value in table("vllm_relations.json").items() if not key.startswith("_")}
    return Relations.model_validate(data)


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


def holds(when: Conditions, known: "Known") -> bool:
    """Whether all conditions hold; one that is not known does not."""
    return all(_holds(each, known) is True for each in when)


@dataclass(frozen=True, slots=True)
class Known:
    """Facts with the table's defaults: what is absent has its default, or no value."""

    facts: Mapping[str, Stated]
    defaults: Mapping[str, Scalar]

    def __call__(self, name: str) -> Any:
        """The value, or None where it is unknown, null, or absent without a default."""
        fact = self.facts.get(name)
        if fact is None or (fact.absent and name not in self.defaults):
            return None
        return self.defaults[name] if fact.absent else fact.value if fact.known else None

    def stated(self, name: str) -> bool | None:
        """Whether something is stated; None when that is unknown."""
        fact = self.facts.get(name)
        if fact is None or not (fact.absent or fact.known):
            return None
        return bool(fact.known and fact.value is not None)


def _holds(each: Condition | Iterable[Iterable[Condition]], known: Known) -> bool | None:
    if not isinstance(each, Condition):
        groups = [[_holds(inner, known) for inner in group] for group in each]
        return True if any(all(inner is True for inner in group) for group in groups) else None
    if each.test == "stated":
        said = known.stated(each.of)
        return None if said is None else said is each.operand
    value = value_of(each.of if each.of.startswith("=") else f"= {each.of}", known)
    if value is None:
        return None
    operand = each.operand
    if isinstance(operand, str) and operand.startswith("="):
        operand = value_of(operand, known)
    return None if operand is None else TESTS[each.test](value, operand)


def told(text: str, known: Known) -> str:
    """A message with the values of its names."""

    def shown(found: re.Match[str]) -> str:
        value = value_of(found[1] if found[1].startswith("=") else f"= {found[1]}", known)
        return "(not stated)" if value is None else f"{value:g}" if isinstance(value, float) else str(value)

    return re.sub(r"\{([^}]*)\}", shown, text)
