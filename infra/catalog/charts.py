"""Which values a chart's templates read; every other key is dropped without a word."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from interlock.infra.catalog.tables import table


@dataclass(slots=True)
class Below:
    """What templates read below a path."""

    keys: dict[str, "Below"] = field(default_factory=dict)
    """By key; ``[]`` for the items of a list."""
    whole: bool = False
    """Handed on with whatever is below."""


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart whose templates were read."""

    name: str
    version: str
    below: Below


@cache
def chart(name: str, without: frozenset[str] = frozenset()) -> Chart:
    """The chart of that name, some of its templates left out (those of a kind that is not made). Raises KeyError for an unknown one."""
    row = table("chart_values.json")["charts"][name]
    whole, root = frozenset(row["whole"]), Below()
    for path, templates in row["reads"].items():
        if not set(templates) <= without:
            node = root
            for step in path.replace("[]", ".[]").split("."):
                node = node.keys.setdefault(step, Below())
            node.whole = path in whole and not path.endswith("[]")
    return Chart(name, row["version"], root)


def unread(below: Below, value: Any, steps: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """The paths of keys in ``value`` that no template reads. Nothing is said of what is handed on whole, or read without its parts."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            there = below.keys.get(str(key)) or below.keys.get("[]")
            if there is None:
                yield (*steps, str(key))
            elif not there.whole and there.keys:
                yield from unread(there, inner, (*steps, str(key)))
    elif isinstance(value, list) and "[]" in below.keys:
        for at, inner in enumerate(value):
            yield from unread(below.keys["[]"], inner, (*steps, at))
