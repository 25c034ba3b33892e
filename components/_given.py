"""Arguments as a component gets them: plain values that decide what is made, and outputs that only flow into it.

An output stands in the plain config as a name of its own, its stand-in, and takes its place again when an object is applied. So plan
and rules see a whole config, a value that is not known yet hides no error, and nothing is decided by it.
"""

import difflib
import inspect
import typing
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import pulumi

from interlock.infra.errors import Problem
from interlock.infra.naming import content_hash

_CONTAINERS: dict[Any, tuple[type | tuple[type, ...], str]] = {list: ((list, tuple), "a list"), dict: (Mapping, "a mapping")}
_SCALARS: dict[Any, str] = {str: "text", int: "an integer", bool: "true or false"}


@dataclass(frozen=True, slots=True)
class Flows:
    """Outputs by their stand-in."""

    outputs: Mapping[str, pulumi.Output[str]] = field(default_factory=dict)

    def put(self, value: Any) -> Any:
        """``value`` with every stand-in in its texts replaced by its output."""
        if not self.outputs:
            return value
        if isinstance(value, Mapping):
            return {key: self.put(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.put(item) for item in value]
        return self._text(value) if isinstance(value, str) else value

    def _text(self, text: str) -> pulumi.Input[str]:
        found = [each for each in self.outputs if each in text]
        if not found:
            return text
        if text == found[0]:
            return self.outputs[text]
        return pulumi.Output.all(*(self.outputs[each] for each in found)).apply(lambda known: _replaced(text, found, known))


def _replaced(text: str, stand_ins: Sequence[str], known: Sequence[str]) -> str:
    for each, value in zip(stand_ins, known, strict=True):
        text = text.replace(each, value)
    return text


@dataclass(slots=True)
class Given:
    """What was given to one component."""

    component: str
    """Class and name, as messages say them."""
    values: dict[str, Any] = field(default_factory=dict)
    """Plain values by argument, stand-ins for outputs among them."""
    outputs: dict[str, pulumi.Output[str]] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    unreadable: bool = False
    """Whether so much is wrong that nothing can be read from the rest."""

    def wrong(self, path: str, text: str) -> None:
        """Notes a problem."""
        self.problems.append(Problem(path, text))

    def read(self, args: Any, kind: type) -> "Given":
        """Reads ``args`` by the TypedDict ``kind``; what is wrong is noted, not raised."""
        known, required = hints(kind), frozenset(getattr(kind, "__required_keys__", ()))
        if not isinstance(args, Mapping):
            self.wrong("args", f"{_shown(args)} is not a mapping; its keys are {', '.join(known)}")
            self.unreadable = True
            return self
        for key in args:
            if key not in known:
                near = difflib.get_close_matches(str(key), known, n=1)
                hint = f"did you mean {near[0]}?" if near else f"arguments: {', '.join(known)}"
                self.wrong(str(key), f"unknown argument; {hint}")
        for key, annotation in known.items():
            if args.get(key) is not None:
                self.values[key] = self.value(args[key], annotation, key)
            elif key in required:
                self.wrong(key, f"is required and missing: {_wanted(annotation)}")
                self.unreadable = True
        return self

    def value(self, value: Any, annotation: Any, path: str) -> Any:
        """One value as plain data."""
        annotation, flows = _bare(annotation)
        if isinstance(value, pulumi.Output) or inspect.isawaitable(value):
            return self._output(value, path, flows)
        origin = typing.get_origin(annotation) or annotation
        if typing.is_typeddict(annotation):
            return self._mapping(value, annotation, path)
        if origin in _CONTAINERS:
            wanted, words = _CONTAINERS[origin]
            if not isinstance(value, wanted) or isinstance(value, str):
                self._unfit(path, value, words)
                return value
            return self._items(value, typing.get_args(annotation)[-1], path)
        if annotation is Any and isinstance(value, Mapping | list | tuple):
            return self._items(value, Any, path)
        if annotation is int and isinstance(value, bool):
            self.wrong(path, f"{value} is not {_SCALARS[int]}")
        elif "." not in path and annotation in _SCALARS and not isinstance(value, annotation):
            self._unfit(path, value, _SCALARS[annotation])
        return value

    def _items(self, value: Any, inner: Any, path: str) -> Any:
        if isinstance(value, Mapping):
            return {key: self.value(item, inner, f"{path}.{key}") for key, item in value.items()}
        return [self.value(item, inner, f"{path}[{index}]") for index, item in enumerate(value)]

    def _mapping(self, value: Any, annotation: Any, path: str) -> Any:
        known = hints(annotation)
        if not isinstance(value, Mapping):
            self._unfit(path, value, f"a mapping with keys such as {', '.join(list(known)[:4])}")
            return value
        # A key that nobody knows is told by the config itself, with the nearest one.
        return {key: self.value(item, known.get(key, Any), f"{path}.{key}") for key, item in value.items() if item is not None}

    def _unfit(self, path: str, value: Any, wanted: str) -> None:
        self.wrong(path, f"{_shown(value)} is not {wanted}")
        self.unreadable = True

    def _output(self, value: Any, path: str, flows: bool) -> Any:
        if not flows:
            self.wrong(path, "is an output, and it decides what is made: give a plain value that is known before anything is made")
            self.unreadable = True
            return None
        digest, address = path.endswith("digest"), "https://" if path.endswith("url") else ""
        # The same one whatever the component is called: it may stand in content that names an object.
        stand_in = content_hash(path, 64) if digest else f"{address}input-{content_hash(path, 12)}"
        self.outputs[stand_in] = pulumi.Output.from_input(value).apply(lambda known: self._known(known, path, digest))
        return f"sha256:{stand_in}" if digest else stand_in

    def _known(self, known: Any, path: str, digest: bool) -> str:
        if not isinstance(known, str) or not known:
            raise pulumi.RunError(f"{self.component}: {path}: {_shown(known)} is not a name; the output must hold text")
        return known.removeprefix("sha256:") if digest else known


@cache
def hints(kind: Any) -> dict[str, Any]:
    """Annotations by key of a TypedDict."""
    return inspect.get_annotations(kind)


@cache
def _bare(annotation: Any) -> tuple[Any, bool]:
    """(the plain type, whether outputs may stand there)."""
    if typing.get_origin(annotation) is typing.NotRequired:
        return _bare(typing.get_args(annotation)[0])
    parts = typing.get_args(annotation)
    if any(typing.get_origin(part) is Awaitable for part in parts):
        return parts[0], True
    return annotation, False


def _wanted(annotation: Any) -> str:
    plain, flows = _bare(annotation)
    if typing.is_typeddict(plain):
        return f"a mapping with keys such as {', '.join(list(hints(plain))[:4])}"
    words = _SCALARS.get(plain) or _CONTAINERS.get(typing.get_origin(plain), (None, "a value"))[1]
    return f"{words}, or an output" if flows else words


def _shown(value: Any) -> str:
    text = "an output" if isinstance(value, pulumi.Output) else repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
