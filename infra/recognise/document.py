"""What recognition reads: plain documents, a sentinel for values not known yet, and a walker that never raises."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from interlock.infra.engine.words import templated
from interlock.infra.facts import Fact, Origin, absent, known, unknown
from interlock.infra.paths import child_path
from interlock.infra.values import bytes_of, quantity, seconds


class _Sentinel:
    """A value with a name."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return self._name

    def __deepcopy__(self, memo: object) -> "_Sentinel":
        """A copy of a document holds the same sentinel: it is told by identity."""
        return self


MAPPING: Final = (dict, Mapping)
"""For ``isinstance``: nearly every mapping is a dict, and to ask for an abstract class first takes ten times as long."""
UNKNOWN: Final = _Sentinel("UNKNOWN")
"""Stands anywhere in a document for a value that is not known at preview."""
MISSING: Final = _Sentinel("MISSING")

# Pulumi SDK, plugin/rpc: how an unknown value and a secret are written in JSON.
_PULUMI_UNKNOWNS = frozenset(
    {
        "[secret]",
        "04da6b54-80e4-46f7-96ec-b56ff0331ba9",
        "1c4a061d-8072-4f0a-a4cb-0ff528b18fe7",
        "3eeb2bf0-c639-47a8-9e75-3b44932eb421",
        "6a19a0b0-7e62-4c92-b797-7f8e31da9cc2",
        "dd056dcd-154b-4c76-9bd3-c8f88648b5ff",
        "030794c1-ac77-496b-92df-f27374a8bd58",
        "e48ece36-62e2-4504-bad9-02848725956a",
    }
)
_PULUMI_SIGNATURE = "4dabf18193072939515e22adb298388d"
# What is seldom asked for its own sake, and never unknown: told before the slow question whether it is a mapping.
_PLAIN = (int, float, list, tuple, type(None))
_LARGEST = 2**63


@dataclass(frozen=True, slots=True)
class Document:
    """One document: plain dicts, lists, strings and numbers (``UNKNOWN`` anywhere), and where it came from."""

    data: Any
    file: str = ""
    index: int = 0
    """Index in the file, from 0."""
    path: str = ""
    """Where ``data`` stands in that document (an item of a List); empty for the whole."""


def is_unknown(value: Any) -> bool:
    """Whether a value stands for one that is not known at preview (or is a Pulumi secret, which is never read)."""
    if isinstance(value, str):
        return value in _PULUMI_UNKNOWNS
    if isinstance(value, _PLAIN):
        return False
    if isinstance(value, _Sentinel):
        return value is UNKNOWN
    return isinstance(value, MAPPING) and _PULUMI_SIGNATURE in value


def scalar_text(value: Any) -> str | None:
    """The text YAML would have written for a scalar, or None for anything else."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        # str() refuses integers of thousands of digits.
        return str(value) if -(10**40) < value < 10**40 else None
    if isinstance(value, float):
        return repr(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
    return None


@dataclass(frozen=True, slots=True)
class Node:
    """A value in a document with its path. Every reader answers for any value: absent, unknown or known; none raises."""

    value: Any
    path: str = ""

    def __getitem__(self, key: str) -> "Node":
        whole = self.value
        value = whole.get(key, MISSING) if isinstance(whole, MAPPING) else UNKNOWN if is_unknown(whole) else MISSING
        return Node(MISSING if value is None else value, child_path(self.path, key))

    def at(self, *keys: str) -> "Node":
        """The node below several keys."""
        node = self
        for key in keys:
            node = node[key]
        return node

    def first(self, *keys: str) -> "Node":
        """The first stated of several fields; the first one (absent) when none is."""
        return next((self[key] for key in keys if self[key]), self[keys[0]])

    def __bool__(self) -> bool:
        """Whether anything is stated."""
        return self.value is not MISSING and self.value is not None

    @property
    def unknown(self) -> bool:
        """Stated but not known at preview."""
        return is_unknown(self.value)

    @property
    def mapping(self) -> Mapping[str, Any]:
        """The value as a mapping; empty for anything else."""
        return self.value if isinstance(self.value, MAPPING) and _PULUMI_SIGNATURE not in self.value else {}

    def fields(self) -> Iterator[tuple[str, "Node"]]:
        """Key and node of a mapping."""
        for key, value in self.mapping.items():
            name = scalar_text(key) or "?"
            yield name, Node(value, child_path(self.path, name))

    def items(self) -> Iterator["Node"]:
        """The nodes of a list; nodes in it keep their own paths."""
        if isinstance(self.value, list | tuple):
            for index in range(len(self.value)):
                yield self.item(index)

    def item(self, index: int) -> "Node":
        """One node of a list that has so many."""
        value = self.value[index]
        return value if isinstance(value, Node) else Node(value, f"{self.path}[{index}]")

    @property
    def is_list(self) -> bool:
        """Whether the value is a list."""
        return isinstance(self.value, list | tuple)

    def _fact(self) -> Fact[str] | None:
        if not self:
            return absent(self.path)
        if self.unknown:
            return unknown(self.path, "not known before the update")
        return None

    def text(self, *, raw: bool = False) -> Fact[str]:
        """The scalar as text; unknown when it is templated (unless ``raw``) or no scalar."""
        early = self._fact()
        if early is not None:
            return early
        text = scalar_text(self.value)
        if text is None:
            return unknown(self.path, f"{type(self.value).__name__} where a text belongs")
        if not raw and templated(text):
            return unknown(self.path, f"templated: {text[:200]}")
        return known(text, self.path)

    def string(self) -> str:
        """The text as written, empty when there is none."""
        if isinstance(self.value, str):
            return "" if is_unknown(self.value) else self.value
        return scalar_text(self.value) or ""

    def _number(self, convert: Any) -> Fact[Any]:
        fact = self.text()
        if not fact.known:
            return fact
        try:
            value = convert(fact.get())
        except (ValueError, ArithmeticError) as error:
            return unknown(self.path, str(error)[:200])
        # What no API takes would only overflow later; NaN compares false too.
        return known(value, self.path) if -_LARGEST < value < _LARGEST else unknown(self.path, "no number that anything takes")

    def integer(self) -> Fact[int]:
        """A whole number, also as a quantity (``"2"``, ``1k``)."""
        return self._number(_whole)

    def number(self) -> Fact[float]:
        """A number or quantity as a float."""
        return self._number(lambda text: float(quantity(text)))

    def size(self) -> Fact[int]:
        """A quantity in bytes."""
        return self._number(bytes_of)

    def duration(self) -> Fact[float]:
        """Seconds."""
        return self._number(seconds)

    def boolean(self) -> Fact[bool]:
        """A truth value, also as text."""
        fact = self.text()
        if not fact.known:
            return Fact(fact.state, None, fact.path, fact.why)
        word = fact.get().strip().lower()
        if word in ("true", "yes", "on", "1"):
            return known(True, self.path)
        return known(False, self.path) if word in ("false", "no", "off", "0") else unknown(self.path, f"{word[:40]!r} is not true or false")

    def texts(self) -> Mapping[str, str]:
        """A mapping of plain texts (labels, annotations, selectors); what is not a scalar is left out."""
        return {key: text for key, node in self.fields() if (text := node.string() if not node.unknown else None) is not None}

    def facts(self, *, raw: bool = False) -> Mapping[str, Fact[str]]:
        """A mapping of text facts."""
        return {key: node.text(raw=raw) for key, node in self.fields()}


@dataclass(frozen=True, slots=True)
class Overlay(Node):
    """A node some of whose fields stand elsewhere: how an operator's own fields are read as those of a container or pod."""

    fields_elsewhere: Mapping[str, Node] = field(default_factory=dict)

    def __getitem__(self, key: str) -> Node:
        found = self.fields_elsewhere.get(key)
        # Named: zero-argument super() does not work in a dataclass with slots.
        return Node.__getitem__(self, key) if found is None else found

    def __bool__(self) -> bool:
        return bool(self.fields_elsewhere) or Node.__bool__(self)

    def fields(self) -> Iterator[tuple[str, Node]]:
        """Key and node, those that stand elsewhere included."""
        for key in dict.fromkeys((*self.mapping, *self.fields_elsewhere)):
            name = scalar_text(key) or "?"
            yield name, self[name]


def _whole(text: str) -> int:
    number = quantity(text)
    if number != number.to_integral_value():
        raise ValueError(f"{text} is not an integer")
    return int(number)


def origin(root: Node, document: Document, form: str = "") -> Origin:
    """Where an object was read from."""
    metadata = root["metadata"]
    return Origin(
        kind=root["kind"].string(),
        name=metadata["name"].string() or metadata["generateName"].string(),
        namespace=metadata["namespace"].string(),
        file=document.file,
        document=document.index,
        path=root.path,
        form=form,
        annotations=metadata["annotations"].texts(),
        labels=metadata["labels"].texts(),
    )
