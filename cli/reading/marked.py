"""YAML with marks: plain data, duplicate keys, and the place of every field, in bounded time for any text."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import yaml

from interlock.infra.paths import child_path
from interlock.infra.recognise import UNKNOWN

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
MOST_NODES = 300_000
_DEEPEST = 200
_MERGE = "tag:yaml.org,2002:merge"
_CORE = "tag:yaml.org,2002:"
_SEPARATOR = re.compile(r"^---(?=[ \t\r\n]|$).*$|^\.\.\.(?=[ \t\r\n]|$).*$", re.MULTILINE)
_STEP = re.compile(r'\["((?:[^"\\]|\\.)*)"\]|\[(\d+)\]|([^.\[]+)')


class Unreadable(ValueError):
    """A text that is not acceptable YAML. ``line`` and ``column`` count from 1."""

    def __init__(self, why: str, line: int = 1, column: int = 1) -> None:
        super().__init__(why)
        self.why = why
        self.line = line
        self.column = column


@dataclass(frozen=True, slots=True)
class Duplicate:
    """A key that stands twice in one mapping."""

    path: str
    key: str


@dataclass(slots=True)
class Marked:
    """One document: its data and how to find a field's place."""

    data: Any = None
    node: Any = None
    line: int = 0
    """Lines of the file before this document."""
    index: int = 0
    duplicates: list[Duplicate] = field(default_factory=list)
    error: Unreadable | None = None

    def place(self, path: str, text: str = "") -> tuple[int, int]:
        """Line and column (from 1) of the field at ``path``, or of the deepest field on the way that exists.

        Where a text of several lines stands there and holds ``text`` once, the line of that.
        """
        if self.error:
            return self.error.line, self.error.column
        line, column = locate(self.node, path)
        return self.line + line + 1 + self._within(path, text), column + 1

    def _within(self, path: str, text: str) -> int:
        node = at(self.node, path) if len(text) > 3 else None
        if not isinstance(node, yaml.ScalarNode) or node.style != "|" or node.value.count(text) != 1:
            return 0
        return 1 + int(node.value[: node.value.index(text)].count("\n"))


def pieces(text: str) -> Iterator[tuple[int, str]]:
    """The documents of a stream as (lines before, text); the separator ends a document wherever it stands at column 0."""
    if "\n---" not in text and not text.startswith("---") and "\n..." not in text:
        yield 0, text
        return
    start, explicit = 0, False
    for match in _SEPARATOR.finditer(text):
        yield from _piece(text, start, match.start(), explicit)
        marker = match.group(0)
        explicit = marker.startswith("---")
        # A value may stand on the separator's own line.
        start = match.start() + 3 if explicit else match.end()
    yield from _piece(text, start, len(text), explicit)


def _piece(text: str, start: int, end: int, explicit: bool) -> Iterator[tuple[int, str]]:
    body = text[start:end]
    if explicit or any(line.strip() and not line.lstrip().startswith(("#", "%")) for line in body.splitlines()):
        yield text.count("\n", 0, start), body if explicit else re.sub(r"^%.*$", "", body, flags=re.MULTILINE)


def read_stream(text: str) -> Iterator[Marked]:
    """All documents of a text, each with its own error where it cannot be read."""
    for index, (line, body) in enumerate(pieces(text)):
        document = Marked(line=line, index=index)
        try:
            document.node = compose(body)
            document.data = _Builder(document.duplicates).build(document.node)
        except Unreadable as error:
            error.line += line
            document.error = error
        yield document


def load_text(text: str) -> Any:
    """The data of one embedded YAML text. Raises Unreadable (a ValueError)."""
    node = compose(text)
    return _Builder([]).build(node)


def compose(text: str) -> Any:
    """The node tree of one document, or None for an empty one. Raises Unreadable."""
    try:
        loader = _LOADER(text)
    except (yaml.YAMLError, ValueError) as error:
        raise _unreadable(error, text) from None
    try:
        node = loader.get_single_node()
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise _unreadable(error, text) from None
    finally:
        loader.dispose()
    if node is not None:
        _measure(node, {}, 0)
    return node


def too_deep(data: Any) -> bool:
    """Whether plain data is nested deeper than a document may be."""
    level = [data]
    for _ in range(_DEEPEST + 1):
        inner = (each.values() if isinstance(each, dict) else each for each in level)
        level = [child for children in inner for child in children if isinstance(child, dict | list)]
        if not level:
            return False
    return True


def _unreadable(error: Exception, text: str) -> Unreadable:
    if isinstance(error, RecursionError):
        return Unreadable(f"nested deeper than {_DEEPEST} levels", 1, 1)
    mark = getattr(error, "problem_mark", None)
    line, column = (mark.line, mark.column) if mark else (0, 0)
    lines = text.split("\n", line + 1)
    if mark and line < len(lines) and lines[line][column : column + 1] == "\t":
        return Unreadable("a tab indents this line; YAML allows only spaces there", line + 1, column + 1)
    problem = getattr(error, "problem", None) or (str(error).splitlines() or [type(error).__name__])[0]
    context = getattr(error, "context", None)
    return Unreadable(f"{context}: {problem}" if context else str(problem), line + 1, column + 1)


def _measure(node: Any, sizes: dict[int, int], depth: int) -> int:
    """Nodes after aliases are expanded; refuses what grows beyond reason or refers to itself."""
    key = id(node)
    if key in sizes:
        if sizes[key] < 0:
            raise Unreadable("an anchor refers to itself", node.start_mark.line + 1, node.start_mark.column + 1)
        return sizes[key]
    if isinstance(node, yaml.ScalarNode):
        return 1
    if depth > _DEEPEST:
        raise Unreadable(f"nested deeper than {_DEEPEST} levels", node.start_mark.line + 1, node.start_mark.column + 1)
    sizes[key] = -1
    children = (child for pair in node.value for child in pair) if isinstance(node, yaml.MappingNode) else iter(node.value)
    total = 1 + sum(_measure(child, sizes, depth + 1) for child in children)
    if total > MOST_NODES:
        raise Unreadable(f"more than {MOST_NODES} values once anchors are expanded", node.start_mark.line + 1, node.start_mark.column + 1)
    sizes[key] = total
    return total


class _Builder:
    """Plain data from nodes: the core schema, merge keys, times as text, foreign tags as unknown."""

    def __init__(self, duplicates: list[Duplicate]) -> None:
        self._duplicates = duplicates
        self._constructor = yaml.constructor.SafeConstructor()

    def build(self, node: Any, path: str = "") -> Any:
        """The data of a node; ``path`` names it for duplicate keys."""
        if node is None:
            return None
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node)
        if isinstance(node, yaml.SequenceNode):
            return [self.build(item, f"{path}[{index}]") for index, item in enumerate(node.value)]
        return self._mapping(node, path)

    def _scalar(self, node: Any) -> Any:
        kind = node.tag
        if kind == f"{_CORE}str":
            return node.value
        if kind == f"{_CORE}null":
            return None
        if kind in (f"{_CORE}int", f"{_CORE}float", f"{_CORE}bool"):
            try:
                return self._constructor.construct_object(node)
            except (ValueError, TypeError, IndexError, KeyError, yaml.YAMLError):
                return node.value
        return node.value if kind.startswith(_CORE) or kind == "!" else UNKNOWN

    def _mapping(self, node: Any, path: str) -> dict[str, Any]:
        merged: dict[str, Any] = {}
        own: dict[str, Any] = {}
        for key_node, value_node in node.value:
            if key_node.tag == _MERGE:
                for source in value_node.value if isinstance(value_node, yaml.SequenceNode) else [value_node]:
                    if isinstance(source, yaml.MappingNode):
                        merged = {**self._mapping(source, path), **merged}
                continue
            key = key_node.value if isinstance(key_node, yaml.ScalarNode) else "?"
            child = child_path(path, key)
            if key in own:
                self._duplicates.append(Duplicate(child, key))
            own[key] = self.build(value_node, child)
        return {**merged, **own} if merged else own


def steps(path: str) -> list[str | int]:
    """``spec.containers[0].limits["nvidia.com/gpu"]`` -> its keys and indices."""
    return [int(index) if index else (plain or quoted) for quoted, index, plain in _STEP.findall(path)]


def locate(root: Any, path: str) -> tuple[int, int]:
    """Line and column (from 0) of the field at ``path`` in a node tree; of its deepest existing ancestor otherwise."""
    if root is None:
        return 0, 0
    place = (root.start_mark.line, root.start_mark.column)
    node = root
    remaining = steps(path)
    while remaining:
        found = _child(node, remaining[0])
        if found is None:
            return _inside(node, remaining, place[1]) or place
        mark, node = found
        place = (mark.line, mark.column)
        remaining = remaining[1:]
    return place


def at(root: Any, path: str) -> Any:
    """The node at ``path``, or None."""
    node = root
    for step in steps(path):
        found = _child(node, step) if node is not None else None
        node = found[1] if found else None
    return node


def _child(node: Any, step: str | int) -> tuple[Any, Any] | None:
    """Mark and node of a field or item."""
    if isinstance(node, yaml.MappingNode):
        for key, value in reversed(node.value):
            if isinstance(key, yaml.ScalarNode) and key.value == str(step):
                return key.start_mark, value
        for key, value in node.value:
            if key.tag == _MERGE and (found := _child(value, step)):
                return found
    if isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
        return node.value[step].start_mark, node.value[step]
    return None


def _inside(node: Any, remaining: list[str | int], column: int) -> tuple[int, int] | None:
    """The place of a field inside YAML that stands in a block text, which is taken to be indented by two from its key."""
    if not isinstance(node, yaml.ScalarNode) or node.style != "|" or len(node.value) > 200_000:
        return None
    try:
        inner = compose(node.value)
    except Unreadable:
        return None
    if inner is None or _child(inner, remaining[0]) is None:
        return None
    path = "".join(f"[{step}]" if isinstance(step, int) else f'["{step}"]' for step in remaining)
    inner_line, inner_column = locate(inner, path)
    return node.start_mark.line + 1 + inner_line, column + 2 + inner_column
