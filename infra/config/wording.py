"""What is wrong with a value that the schema refuses, in the words of who writes YAML."""

import datetime as dt
from typing import Any

from pydantic_core import ErrorDetails

# What a value must look like, by the pattern of its field.
_PATTERNS = {
    r"^[A-Z]+-[0-9]{3}$": "is not a code such as GPU-001",
    r"^\d+\.\d+(\.\d+)*([a-z.]+\d+)?$": "is not a version such as 0.33.0",
    r"^(([0-9]+(s|m|h))+|Never)$": "is not an age such as 720h, or Never",
}
_MAPPINGS = ("model_type", "dict_type", "model_attributes_type", "mapping_type")
_LISTS = ("tuple_type", "list_type")
_INTEGERS = ("int_type", "int_parsing", "int_from_float", "int_parsing_size")
_WANTED = dict.fromkeys(_MAPPINGS, "a mapping (key: value)") | dict.fromkeys((*_LISTS, "too_short"), "a list") | {"string_type": "text"}
_BOUNDS = {"greater_than_equal": ("ge", "at least"), "less_than_equal": ("le", "at most"), "greater_than": ("gt", "above")}


def worded(detail: ErrorDetails) -> str:
    """One sentence with the value as it was written: ``96: is not text; put it in quotes``."""
    kind, value, context = detail["type"], detail["input"], detail.get("ctx") or {}
    if value is None or (value in ("", (), [], {}) and kind != "value_error"):
        return f"is empty: {_WANTED.get(kind, 'a value')} belongs here"
    said = _said(kind, value, context)
    if said:
        return f"{_shown(value)} {said}"
    message = detail["msg"].removeprefix("Value error, ")
    named = not isinstance(value, str | int | float | bool) or _shown(value)[:40] in message
    return message if named else f"{_shown(value)}: {message}"


def _said(kind: str, value: Any, context: dict[str, Any]) -> str:
    if kind in _MAPPINGS:
        return "is not a mapping (key: value)"
    if kind in _LISTS:
        return "is not a list"
    if kind == "string_type":
        return "is not text: put it in quotes" if isinstance(value, int | float | dt.date) else "is not text"
    if kind in _INTEGERS:
        return "is not an integer"
    if kind in _BOUNDS:
        name, word = _BOUNDS[kind]
        return f"is out of range: it must be {word} {context.get(name)}"
    return _of_texts(kind, context)


def _of_texts(kind: str, context: dict[str, Any]) -> str:
    if kind in ("bool_type", "bool_parsing"):
        return "is neither true nor false"
    if kind in ("float_type", "float_parsing", "finite_number"):
        return "is not a finite number"
    if kind in ("enum", "literal_error"):
        return f"is not one of {context.get('expected')}"
    if kind in ("string_too_short", "too_short"):
        return f"is too short: at least {context.get('min_length')} {'characters' if kind[0] == 's' else 'entries'}"
    if kind.startswith("date"):
        return "is not a date such as 2027-01-31"
    return _PATTERNS.get(str(context.get("pattern")), "") if kind == "string_pattern_mismatch" else ""


def _shown(value: Any) -> str:
    """The value as a sentence begins with it."""
    text = str(value) if isinstance(value, dt.date) else repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
