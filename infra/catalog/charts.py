"""Which values a chart's templates read; every other key is dropped without a word."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from interlock.infra.catalog.tables import table
from interlock.infra.values import Version


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
    return Chart(name, row["version"], below_of(row, without))


def below_of(row: Mapping[str, Any], without: frozenset[str] = frozenset()) -> Below:
    """What the templates of a chart's row read. Keys that its own values hold and nothing reads are nobody's slip: they count as read."""
    whole, root = frozenset(row["whole"]), Below()
    for path, templates in row["reads"].items():
        if not set(templates) <= without:
            _placed(root, path).whole = path in whole and not path.endswith("[]")
    for path in row.get("dead", ()):
        _placed(root, path).whole = True
    return root


def _placed(root: Below, path: str) -> Below:
    node = root
    for step in path.replace("[]", ".[]").split("."):
        node = node.keys.setdefault(step, Below())
    return node


# Of the others the values themselves say which chart they are for.
_BY_SHAPE = frozenset({"vllm-stack", "llm-d-modelservice"})


@cache
def of_operators() -> frozenset[str]:
    """Charts that are known by their name alone."""
    return frozenset(table("chart_values.json")["charts"]) - _BY_SHAPE


def same_minor(name: str, version: str) -> bool:
    """Whether a version of a chart is of the minor release whose templates were read."""
    stated, read = Version.parse(version), Version.parse(chart(name).version)
    return stated is not None and read is not None and stated[:2] == read[:2]


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
