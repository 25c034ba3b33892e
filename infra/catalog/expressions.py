"""Values of the command line compared as the engine reads them, and sums of products over named values."""

import re
from collections.abc import Callable
from functools import cache
from typing import Any

LARGEST = 2**80
"""Beyond it a number on a command line is a mistake that other checks tell."""
Scalar = bool | int | float | str
_NUMBER = re.compile(r"^([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?)([kmgtKMGT]?)$")
# vllm/engine/arg_utils.py::human_readable_int: small letters are decimal, capitals binary.
_SCALE = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


def number(value: Any) -> float | int | None:
    """A number as it was meant (``"8k"`` is 8000, ``"1K"`` 1024); None for anything else, booleans included."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return value
    found = _NUMBER.match(value.strip()) if isinstance(value, str) else None
    if not found:
        return None
    scaled = float(found[1]) * _SCALE[found[2]]
    return int(scaled) if scaled == scaled // 1 and abs(scaled) < 2**53 else scaled


def truth(value: Any) -> bool | None:
    """A switch as flags and variables write it; None for anything else."""
    return {"true": True, "1": True, "false": False, "0": False}.get(str(value).strip().lower())


def same(value: Any, literal: Scalar) -> bool:
    """Whether a value as written is the literal: ``"true"`` and ``"1"`` are true, ``"8k"`` is 8000; other texts are compared exactly."""
    if isinstance(literal, bool) or isinstance(value, bool):
        return (truth(value), truth(literal)) in ((True, True), (False, False))
    left, right = number(value), number(literal)
    return left == right if left is not None and right is not None else str(value) == str(literal)


def value_of(expression: str, lookup: Callable[[str], Any]) -> Any:
    """The value of ``= a * b + c``: of one name as it is, of arithmetic as a number. None when a part is not a number or not known."""
    if expression[:1].isalpha():
        return lookup(expression)
    products = _products(expression)
    if len(products) == 1 and len(products[0]) == 1 and isinstance(products[0][0], str):
        return lookup(products[0][0])
    total: float | int = 0
    for factors in products:
        product: float | int = 1
        for factor in factors:
            found = number(lookup(factor)) if isinstance(factor, str) else factor
            if found is None or not -LARGEST < found < LARGEST:
                return None
            product *= found
        total += product
    return total


def names_in(expression: str) -> list[str]:
    """The names that an expression asks for; what does not begin with ``=`` is one name."""
    if expression[:1].isalpha():
        return [expression]
    return [factor for factors in _products(expression) for factor in factors if isinstance(factor, str)]


@cache
def _products(expression: str) -> tuple[tuple[str | float | int, ...], ...]:
    """The factors of each product: names as text, numbers as they are. The tables hold all expressions that there are."""
    parts = [[part.strip() for part in term.split(" * ")] for term in expression.removeprefix("=").split(" + ")]
    return tuple(tuple(part if (own := number(part)) is None else own for part in factors) for factors in parts)
