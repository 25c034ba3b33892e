"""Documents against the fields of the Kubernetes API: misspelt, misplaced, of the wrong type, missing, removed."""

import marshal
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from typing import Any

from interlock.infra.catalog import fields as resources
from interlock.infra.catalog.field_relations import SEGMENT, field_refused
from interlock.infra.catalog.tables import table
from interlock.infra.engine.words import templated
from interlock.infra.facts import DocumentProblem, Origin
from interlock.infra.recognise.document import MAPPING, Node, is_unknown
from interlock.infra.recognise.within import is_patch, within
from interlock.infra.values import is_quantity

# Kubernetes deprecation guide: group versions that no supported API server has any more.
_MOST = 40
_NOTHING: Mapping[str, Any] = {"fields": {}, "required": ()}
_BOOLEAN = (bool,)
# Scalars by the types of Python that hold them; a truth value is no number.
_SCALARS: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "boolean": _BOOLEAN,
    "integer": (int, float),
    "number": (int, float),
    "intOrString": (int, str),
    "quantity": (int, float, str),
}
_EXPECTED = {"string": "a text", "integer": "a whole number", "boolean": "true or false", "number": "a number"}
_QUANTITY = "a quantity such as 2, 500m or 16Gi"


# What RayJob calls the field.
_SIBLINGS = {("RayService.spec", "rayClusterSpec"): "rayClusterConfig"}


@cache
def _types() -> Mapping[str, Mapping[str, Any]]:
    """Every named type: of custom resources, and of Kubernetes itself, which come first."""
    return {**resources.types(), **table("k8s_fields.json")["types"]}


def _entry(name: str) -> Mapping[str, Any] | None:
    """A named type; None for a scalar."""
    return _types().get(name)


def readable(value: Any) -> bool:
    """Whether a value is what will be applied: known now, and no text that something else fills in."""
    return not is_unknown(value) and not (isinstance(value, str) and templated(value))


@cache
def _homes() -> Mapping[str, tuple[str, ...]]:
    """Types that have a field of that name."""
    homes: dict[str, list[str]] = {}
    for name, entry in table("k8s_fields.json")["types"].items():
        for field in entry["fields"]:
            homes.setdefault(field, []).append(name)
    return {field: tuple(names) for field, names in homes.items()}


def schema_problems(root: Node, origin: Origin, *, whole: bool) -> list[DocumentProblem]:
    """All problems of one document of a kind that the table knows, at most 40.

    ``whole``: it is a complete object, no patch, so that a required field must stand in it.
    """
    version, kind = root["apiVersion"].string(), root["kind"].string()
    name, custom = table("k8s_fields.json")["kinds"].get(f"{version}/{kind}"), resources.resources().get(f"{version}/{kind}")
    name = name or (custom.type if custom else None)
    if name is None:
        return []
    whole = whole and not is_patch(root)
    walker = _Walker(origin, whole, [], behind=custom.behind if custom else False)
    walker.type(root, name, ())
    if whole:
        walker.found.extend(within(root, origin))
    return walker.found[:_MOST]


_sound: set[tuple[str, bool, bool, bytes]] = set()
"""Values without a problem: files hold the same probes, volumes and contexts over and over."""
_MOST_SOUND, _MOST_BYTES = 5_000, 4_000


def _bytes_of(value: Any) -> bytes:
    """Equal plain data as equal bytes; nothing for what is large or not plain (a value that is not known)."""
    try:
        made = marshal.dumps(value, 2)
    except ValueError:
        return b""
    return made if len(made) <= _MOST_BYTES else b""


@dataclass(slots=True)
class _Walker:
    origin: Origin
    whole: bool
    found: list[DocumentProblem]
    behind: bool = False
    """Newer releases of the custom resource may have fields that the table has not."""

    def add(self, kind: str, text: str, path: str, value: str = "", remedy: str = "", **more: Any) -> None:
        self.found.append(DocumentProblem(self.origin, kind, text, path, value[:80], remedy, **more))

    def type(self, node: Node, name: str, above: tuple[str, ...]) -> None:
        """A value that should be of a named type. One that was found sound before, of this type and equal, is not walked again."""
        if len(self.found) > _MOST or node.unknown or not node:
            return
        key = (name, self.whole, self.behind, _bytes_of(node.value)) if above else (name, self.whole, self.behind, b"")
        if key in _sound:
            return
        before = len(self.found)
        self._walk(node, name, above)
        if key[3] and len(self.found) == before:
            if len(_sound) >= _MOST_SOUND:
                _sound.clear()
            _sound.add(key)

    def _walk(self, node: Node, name: str, above: tuple[str, ...]) -> None:
        if not isinstance(node.value, MAPPING):
            self._mismatch(node, "a mapping")
            return
        entry = _entry(name) or _NOTHING
        limited = "enums" in entry or "bounds" in entry
        for key, child in node.fields():
            if key == "status" and not above:
                continue
            expected = entry["fields"].get(key)
            if expected is None:
                self._stranger(child, key, name, above)
            elif child:
                if not _fits(child.value, expected):
                    self.value(child, expected, (*above, name))
                if limited:
                    self._limits(child, entry.get("enums", {}).get(key), entry.get("bounds", {}).get(key))
        for key in entry["required"] if self.whole else ():
            if node.mapping.get(key) is None and not any((name, other) in _SIBLINGS for other in node.mapping):
                self.add("schema-broken", f"{name} needs the field {key}", node.path, remedy=f"add {key}")
        for refused in field_refused(name, node.mapping, readable, whole=self.whole):
            row = refused.relation
            place = _place(node, row.at)
            also = tuple(_place(node, each).path for each in sorted(row.names) if each != row.at)
            more = {"severity": row.severity, "fault": row.id, "also": also}
            self.add("schema-broken", refused.message, place.path, place.string(), refused.fix, **more)

    def _limits(self, node: Node, allowed: list[Any] | None, bounds: Mapping[str, float] | None) -> None:
        """Values that a custom resource's schema lists, and the range that it gives."""
        for item in (node.items() if node.is_list else (node,)) if allowed or bounds else ():
            if not readable(item.value) or isinstance(item.value, Mapping | list | bool):
                continue
            if allowed and item.value not in allowed:
                some = ", ".join(map(str, allowed[:12]))
                self.add("schema-broken", f"{item.string()[:60]!r} is none of {some}", item.path, item.string(), "write one of these")
            size = len(item.value) if isinstance(item.value, str) else item.value
            lower, upper = ("minLength", "maxLength") if isinstance(item.value, str) else ("minimum", "maximum")
            least, most = (bounds or {}).get(lower), (bounds or {}).get(upper)
            if isinstance(size, int | float) and ((least is not None and size < least) or (most is not None and size > most)):
                text = f"{item.string()[:60]!r} is outside of the bounds {'' if least is None else least}..{'' if most is None else most}"
                self.add("schema-broken", text, item.path, item.string(), "choose a value within the bounds")

    def value(self, node: Node, expected: str, above: tuple[str, ...]) -> None:
        """A value of any kind: list, mapping, type or scalar."""
        if node.unknown or not node:
            return
        if expected.startswith("[]"):
            if not node.is_list:
                self._mismatch(node, "a list")
                return
            inner = expected[2:]
            for item in node.items():
                if not _fits(item.value, inner):
                    self.value(item, inner, above)
        elif expected.startswith("map:"):
            if not isinstance(node.value, MAPPING):
                self._mismatch(node, "a mapping")
                return
            inner = expected[4:]
            for _, child in node.fields():
                if not _fits(child.value, inner):
                    self.value(child, inner, above)
        elif _entry(expected) is not None:
            self.type(node, expected, above)
        else:
            self._scalar(node, expected)

    def _scalar(self, node: Node, expected: str) -> None:
        value = node.value
        if isinstance(value, str) and templated(value):
            return
        if expected in _SCALARS and not _fits(value, expected):
            wanted = _QUANTITY if expected == "quantity" else "a number or a text"
            self._mismatch(node, _EXPECTED.get(expected, wanted))

    def _mismatch(self, node: Node, wanted: str) -> None:
        if isinstance(node.value, dict) and [*node.value] == ["?"]:
            text = "an expression in braces without quotes is a mapping for YAML, and no text"
            self.add("template-leftover", text, node.path, "", "render the template, or put the expression in quotes")
            return
        given = {dict: "a mapping", list: "a list", str: "a text", bool: "true or false"}.get(type(node.value), "a number")
        told = repr(node.value)[:60] if wanted == _QUANTITY else given
        text = f"{wanted} belongs here, {told} is given; the API server refuses the object"
        quoted = given in ("a number", "true or false") and wanted == "a text"
        self.add("schema-broken", text, node.path, repr(node.value), "put it in quotes" if quoted else f"give {wanted}")

    def _stranger(self, node: Node, key: str, name: str, above: tuple[str, ...]) -> None:
        """A field that its type does not have: misspelt, at home somewhere on the way, or of no type at all."""
        fields = (_entry(name) or {})["fields"]
        if key.startswith("$"):
            return  # A directive of a strategic merge patch: $patch, $retainKeys, $setElementOrder/...
        sibling = _SIBLINGS.get((name, key))
        if sibling:
            said = f"{name} has no field {key}, RayJob has; {sibling} is meant, and without it the object is refused"
            self.add("schema-typo", said, node.path, key, f"write {sibling}", severity="error")
            return
        close = next((field for field in fields if field.lower() == key.lower()), None)
        close = close or next(iter(get_close_matches(key, fields, 1, 0.84)), None)
        homes = _homes().get(key, ())
        # A slip of the finger is likelier than a field of a type that is nowhere near.
        near = next((home for home in (*reversed(above), *_below(name), *(() if close else homes)) if home in homes), None)
        near = None if self.behind and name not in table("k8s_fields.json")["types"] else near
        if self.behind and not close and name not in table("k8s_fields.json")["types"]:
            return
        if close and not near:
            self.add("schema-typo", f"{name} has no field {key}; {close} is meant", node.path, key, f"write {close}")
        elif near:
            text = f"{name} has no field {key}; it belongs to {near}, so it has no effect here"
            self.add("schema-misplaced", text, node.path, key, f"move {key} to {near}")
        else:
            self.add("schema-typo", f"{name} has no field {key}", node.path, key, f"remove {key} or correct its name")


def _fits(value: Any, expected: str) -> bool:
    """Whether a value is certainly a scalar of the expected type."""
    kinds = _SCALARS.get(expected)
    if kinds is None or not isinstance(value, kinds) or (isinstance(value, bool) and kinds is not _BOOLEAN):
        return False
    return expected != "quantity" or not isinstance(value, str) or is_quantity(value)


def _place(node: Node, at: str) -> Node:
    """The node at a row's path, up to the first list in it."""
    for key, name in SEGMENT.findall(at.partition("[]")[0]):
        node = node[key or name]
    return node


@cache
def _below(name: str) -> tuple[str, ...]:
    kinds = (_entry(name) or {})["fields"].values()
    return tuple(kind.removeprefix("[]").removeprefix("map:") for kind in kinds)
