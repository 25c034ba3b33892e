"""Conditions over named values, as the tables of refusals write them, and the one reader of their rows.

Each condition is three-valued: a value that is unknown, or absent with no default, decides nothing, so that a row never fires on what was
not read.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Protocol, TypeVar

from interlock.infra.catalog.comparisons import TESTS
from interlock.infra.catalog.expressions import Scalar, names_in, value_of

_TESTS = frozenset({*TESTS, "stated", "several"})
_SHOWN = re.compile(r"\{([^}]*)\}")
SEVERITIES = ("error", "warning")
"""How bad a row's refusal is: an error only where it certainly happens."""


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


class Facts(Protocol):
    """What is known, by name: a mapping, or what works it out when it is asked."""

    def get(self, name: str, /) -> Stated | None:
        """What is known of a name; None where nothing is."""


@dataclass(frozen=True, slots=True)
class Condition:
    """One test of a name or of arithmetic over names, in JSON ``{"of": "a", "above": 2}``."""

    of: str
    """A name (``tensor-parallel-size``, ``kv-transfer-config.kv_role``, ``env:NAME``, ``model:heads``, ``gpus``) or ``= a * b + c``."""
    test: str
    """``stated`` (null in JSON counts as not stated), ``several`` (the name and those of the operand: two or more are stated), or a test of
    ``comparisons.TESTS``."""
    operand: Any
    """What the test compares with: a literal, ``= ...`` for another value, several literals, or names."""


Conditions = tuple[Condition | tuple[tuple[Condition, ...], ...], ...]
"""All must hold; a list of lists holds when all conditions of one inner list do."""
RowT = TypeVar("RowT")


def row_of(kind: type[RowT], data: Mapping[str, Any]) -> RowT:
    """A row of a table as ``kind``, a dataclass with ``id`` and ``when``. Raises ValueError when it is none."""
    known = {each.name for each in fields(kind)}  # type: ignore[arg-type]
    if strange := data.keys() - known:
        raise ValueError(f"row {data.get('id')!r} has keys that no row has: {sorted(strange)}")
    if not data.get("when"):
        raise ValueError(f"row {data.get('id')!r} has no condition")
    if data.get("severity", SEVERITIES[0]) not in SEVERITIES:
        raise ValueError(f"row {data.get('id')!r}: {data['severity']!r} is not one of {', '.join(SEVERITIES)}")
    try:
        plain = {name: tuple(value) if isinstance(value, list) else value for name, value in data.items()}
        return kind(**{**plain, "when": conditions_of(data["when"])})
    except TypeError as error:
        raise ValueError(f"row {data.get('id')!r}: {error}") from None


def conditions_of(when: Iterable[Any]) -> Conditions:
    """Conditions as JSON writes them. Raises ValueError."""
    return tuple(
        tuple(tuple(map(condition_of, group)) for group in each) if isinstance(each, list) else condition_of(each) for each in when
    )


def condition_of(data: Mapping[str, Any]) -> Condition:
    """One condition. Raises ValueError unless it has exactly one test, and that is one there is."""
    tests = [name for name in data if name != "of"]
    if len(tests) != 1 or tests[0] not in _TESTS or not isinstance(data.get("of"), str):
        raise ValueError(f"a condition has a name and exactly one test of {', '.join(sorted(_TESTS))}; this is {dict(data)}")
    operand = data[tests[0]]
    return Condition(data["of"], tests[0], tuple(operand) if isinstance(operand, list) else operand)


def flat(when: Conditions) -> list[Condition]:
    """Every condition, those of alternatives too."""
    return [one for part in when for one in ([part] if isinstance(part, Condition) else [inner for group in part for inner in group])]


def names_of(when: Conditions, *texts: str) -> frozenset[str]:
    """Every name that conditions and messages ask for."""
    each = flat(when)
    operands = [text for one in each for text in _texts(one.operand)]
    beside = [name for one in each if one.test == "several" for name in one.operand]
    shown = _SHOWN.findall("".join(texts))
    asked = [name for text in (*operands, *shown) if text.startswith("=") for name in names_in(text)]
    plain = [name for name in shown if not name.startswith("=")]
    return frozenset([*(name for one in each for name in names_in(one.of)), *beside, *asked, *plain])


def needs_of(when: Conditions) -> frozenset[str]:
    """Names that must have a value for the conditions to hold: those that are tested outside of alternatives."""
    alone = [each for each in when if isinstance(each, Condition) and each.test != "several"]
    tested = [each for each in alone if each.test != "stated" or each.operand]
    return frozenset(
        name
        for each in tested
        for text in (each.of, *(text for text in _texts(each.operand) if text.startswith("=")))
        for name in names_in(text)
    )


def _texts(operand: Any) -> list[str]:
    items = operand if isinstance(operand, tuple) else (operand,)
    return [item for item in items if isinstance(item, str)]


@dataclass(frozen=True, slots=True)
class Known:
    """Facts with the table's defaults: what is absent has its default, or no value."""

    facts: Facts
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


def holds(when: Iterable[Condition | Iterable[Iterable[Condition]]], known: Known) -> bool:
    """Whether all conditions hold; one that is not known does not."""
    # `all` over a generator takes twice as long, and this is asked some hundred times for one object.
    for each in when:  # noqa: SIM110
        if _holds(each, known) is not True:
            return False
    return True


def _holds(each: Condition | Iterable[Iterable[Condition]], known: Known) -> bool | None:
    if not isinstance(each, Condition):
        return True if any(holds(group, known) for group in each) else None
    if each.test == "stated":
        said = known.stated(each.of)
        return None if said is None else said is each.operand
    if each.test == "several":
        return True if sum(known.stated(name) is True for name in (each.of, *each.operand)) > 1 else None
    value = value_of(each.of, known)
    if value is None:
        return None
    operand = each.operand
    if isinstance(operand, str) and operand.startswith("="):
        operand = value_of(operand, known)
    return None if operand is None else TESTS[each.test](value, operand)


def told(text: str, known: Known) -> str:
    """A message with the values of its names."""

    def shown(found: re.Match[str]) -> str:
        value = value_of(found[1], known)
        return "(not stated)" if value is None else f"{value:g}" if isinstance(value, float) else str(value)

    return _SHOWN.sub(shown, text)
