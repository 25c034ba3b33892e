"""The tests that a condition can make of a value: each says yes, no, or that the value is none that it can judge."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from interlock.infra.catalog.expressions import LARGEST, number, same
from interlock.infra.values import quantity


def _compare(value: Any, operand: Any, decide: Any) -> bool | None:
    left, right = number(value), number(operand)
    return None if left is None or right is None else bool(decide(left, right))


def _remainder(value: Any, operand: Any, wanted: bool) -> bool | None:
    left, right = number(value), number(operand)
    if left is None or not right or not (abs(left) < LARGEST and abs(right) < LARGEST) or left % 1 or right % 1:
        return None
    return (left % right != 0) is wanted


def _items(value: Any) -> list[str] | None:
    if isinstance(value, str):
        return [item.strip() for item in value.split(",")]
    return [str(item) for item in value] if isinstance(value, list | tuple) else None


def _repeats(value: Any, operand: Any) -> bool | None:
    items = _items(value)
    return None if items is None else (len(set(items)) < len(items)) is operand


def _stranger(value: Any, operand: str) -> bool | None:
    items = _items(value)
    return None if items is None else any(re.fullmatch(operand, item) is None for item in items)


def _has(value: Any, operand: Any) -> bool | None:
    items = _items(value)
    return None if items is None else any(same(item, operand) for item in items)


def _exceeds(value: Any, operand: Any) -> bool | None:
    try:
        return quantity(value) > quantity(operand)
    except (ValueError, TypeError, ArithmeticError):
        return None


TESTS: Mapping[str, Callable[[Any, Any], bool | None]] = {
    "equals": same,
    "differs": lambda value, operand: not same(value, operand),
    "one_of": lambda value, operand: any(same(value, each) for each in operand),
    "none_of": lambda value, operand: not any(same(value, each) for each in operand),
    "below": lambda value, operand: _compare(value, operand, lambda a, b: a < b),
    "above": lambda value, operand: _compare(value, operand, lambda a, b: a > b),
    "indivisible_by": lambda value, operand: _remainder(value, operand, True),
    "divisible_by": lambda value, operand: _remainder(value, operand, False),
    "matches": lambda value, operand: bool(re.search(operand, value)) if isinstance(value, str) else None,
    "repeats": _repeats,
    "holds": _has,
    "item_not": _stranger,
    "keys_outside": lambda value, operand: bool(set(value) - set(operand)) if isinstance(value, Mapping) else None,
    "key_not": lambda value, operand: any(not re.fullmatch(operand, str(key)) for key in value) if isinstance(value, Mapping) else None,
    "longer_than": lambda value, operand: len(value) > operand if isinstance(value, list | tuple | str) else None,
    "shorter_than": lambda value, operand: len(value) < operand if isinstance(value, list | tuple | Mapping) else None,
    "exceeds": _exceeds,
}
"""Test of a condition by its name: whether it holds for a value and an operand, None where it cannot be said."""
