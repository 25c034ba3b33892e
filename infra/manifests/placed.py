"""Where each value of a manifest came from: builders place a value together with the config field that it follows from."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from interlock.infra.paths import child_path, within

Manifest = dict[str, Any]
"""A Kubernetes object as plain camelCase data."""


def identity(made: Manifest) -> tuple[str, str, str]:
    """(kind, namespace or nothing, name) of an object."""
    return made["kind"], made["metadata"].get("namespace") or "", made["metadata"]["name"]


@dataclass(frozen=True, slots=True)
class Source:
    """The config field that a value follows from."""

    field: str
    """Path in the config: ``servers[0].gpus``, ``servers[0].extra.pod_patch.hostIPC``, ``pools[1].taints[0]``."""
    why: str = ""
    """The plan's decision (``infra/plan/decisions.py``) that made the value of the field and of others; empty = the field as written."""
    plus: int = 0
    """What the plan adds to the field's number."""
    times: int = 1
    """The field's number for each one of the value: seconds of a probe's period."""


@dataclass(frozen=True, slots=True)
class Placed:
    """A value in a manifest under construction, with its source."""

    value: Any
    source: Source


@dataclass(frozen=True, slots=True)
class Owned:
    """A part that follows from another part of the config than the object around it: fields in it are relative to ``owner``."""

    value: Any
    owner: str


@dataclass(frozen=True, slots=True)
class Encoded:
    """Data that the manifest holds as JSON text; its parts keep their sources, by the path that they have in it."""

    value: Any
    indent: int | None = None
    """Spaces of each level, for what people read; None = on one line."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A finished object, with the source of its parts."""

    manifest: Manifest
    owner: str
    """What a person wrote it as: ``servers[0]``, ``stores[1]``."""
    sources: Mapping[str, Source] = field(default_factory=dict)
    """By path in the manifest; a part's source holds for everything in it that has none of its own."""

    def source(self, path: str) -> Source | None:
        """The source at ``path``: its own, that of the nearest part around it, else the one that everything below it shares."""
        around = [place for place in self.sources if within(path, place)]
        if around:
            return self.sources[max(around, key=len)]
        below = {source for place, source in self.sources.items() if within(place, path)}
        return below.pop() if len(below) == 1 else None


def put(value: Any, field: str, why: str = "", plus: int = 0, times: int = 1) -> Any:
    """``value`` with its source. ``field`` is relative to the object's owner unless it begins like a path of the config."""
    return Placed(value, Source(field, why, plus, times))


def bare(value: Any) -> Any:
    """The value itself."""
    return value.value if isinstance(value, Placed) else value


def replaced(placed: Any, value: Any) -> Any:
    """``value`` from where ``placed`` came."""
    return Placed(value, placed.source) if isinstance(placed, Placed) else value


def traced(patch: Any, field: str) -> Any:
    """A person's own structure with every leaf placed under its own path."""
    if isinstance(patch, Mapping):
        return {key: traced(value, child_path(field, key)) for key, value in patch.items()}
    if isinstance(patch, list | tuple):
        return [traced(value, f"{field}[{index}]") for index, value in enumerate(patch)]
    return patch if patch is None else put(patch, field)


def merged(base: Any, patch: Any, field: str) -> Any:
    """A person's ``patch`` (the value of ``field``) merged into ``base``: mappings merge, lists of named items merge by name, everything
    else is replaced; None removes. Each part of the patch has its own path as source, what is removed or emptied too."""
    if isinstance(base, Placed) and isinstance(patch, Mapping | list):
        return Placed(merged(base.value, patch, field), base.source)
    if isinstance(base, Mapping) and isinstance(patch, Mapping):
        own = {
            key: merged(base.get(key), value, child_path(field, key)) for key, value in patch.items() if value is not None or key in base
        }
        return {**base, **own}
    if _named(base) and _named(patch):
        by_name = {_name(item): (item, f"{field}[{at}]") for at, item in enumerate(patch)}
        kept_items = [merged(item, *by_name.pop(_name(item))) if _name(item) in by_name else item for item in base]
        return [*kept_items, *(traced(item, place) for item, place in by_name.values())]
    whole = traced(patch, field)
    return put(whole, field) if isinstance(patch, Mapping | list) or patch is None else whole


def _named(items: Any) -> bool:
    return isinstance(items, list) and bool(items) and all(_name(item) is not None for item in items)


def _name(item: Any) -> Any:
    inner = bare(item)
    name = bare(inner["name"]) if isinstance(inner, Mapping) and "name" in inner else None
    return name if isinstance(name, str) else None


CONFIG_ROOTS = (
    "access.tenants",
    "servers[",
    "ray_services[",
    "pools[",
    "stores[",
    "tenants[",
    "service_accounts[",
    "platform",
    "namespace",
    "conventions",
    "network",
    "monitoring.",
    "production",
    "waivers",
)
"""How a path of the config begins that is not relative to an owner."""


def finished(tree: Any, owner: str, *, whole: bool = False) -> Draft:
    """The plain object of ``tree``, a fresh copy, with the sources of its parts; ``whole`` = the owner is the source of all others."""
    sources = {"": Source(owner)} if whole else {}
    manifest = _plain(tree, "", owner, sources)
    return Draft(manifest, owner, sources)


# What holds nothing that has a source.
_LEAF = (str, int, float, type(None))


def _plain(node: Any, path: str, owner: str, sources: dict[str, Source]) -> Any:
    if isinstance(node, _LEAF):
        return node
    if isinstance(node, Placed):
        source = node.source
        absolute = source.field.startswith(CONFIG_ROOTS)
        sources[path] = source if absolute else Source(f"{owner}.{source.field}", source.why, source.plus, source.times)
        return _plain(node.value, path, owner, sources)
    if isinstance(node, Owned):
        return _plain(node.value, path, node.owner, sources)
    if isinstance(node, Encoded):
        plain = _plain(node.value, path, owner, sources)
        return json.dumps(plain, indent=node.indent) if node.indent else json.dumps(plain, separators=(",", ":"))
    if isinstance(node, Mapping):
        plain = {
            key: value if isinstance(value, _LEAF) else _plain(value, child_path(path, key), owner, sources) for key, value in node.items()
        }
        return {key: value for key, value in plain.items() if value is not None}
    if isinstance(node, list | tuple):
        return [_plain(value, f"{path}[{index}]", owner, sources) for index, value in enumerate(node)]
    return node


def leaves(node: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """(path, value) of everything in plain data that is neither a mapping nor a list."""
    if isinstance(node, Mapping) and node:
        for key, value in node.items():
            yield from leaves(value, child_path(path, key))
    elif isinstance(node, list) and node:
        for index, value in enumerate(node):
            yield from leaves(value, f"{path}[{index}]")
    else:
        yield path, node
