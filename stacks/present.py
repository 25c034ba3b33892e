"""What a cluster holds of a stack's objects, cut to the fields that a deployment states: to be compared with what is rendered."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from interlock.infra.manifests.placed import Manifest, identity
from interlock.infra.naming import label
from interlock.infra.values import is_quantity, quantity
from interlock.stacks.api import Reader, RefusedError

MANAGER = "pulumi"
"""How the names of the managers begin that a deployment writes fields as."""


@dataclass(frozen=True, slots=True)
class Present:
    """Objects of a stack as they are, and what could not be read."""

    objects: list[Manifest]
    unread: dict[str, str] = field(default_factory=dict)
    """Object or kind to the reason. Such an object is left out of ``objects``, and must be left out of what it is compared with."""

    def lacks(self, made: Manifest) -> bool:
        """Whether it could not be read what is there of an object."""
        return made["kind"] in self.unread or _named(made) in self.unread


def present(api: Reader, stack: str, wanted: Sequence[Manifest]) -> Present:
    """What is there of ``wanted``, and the stack's other objects of the same kinds. Raises ApiError where nothing answers."""
    looked = _Look(api, stack)
    for each in wanted:
        looked.take(each)
    for version, kind, namespace in dict.fromkeys((each["apiVersion"], each["kind"], each["metadata"].get("namespace")) for each in wanted):
        looked.others(version, kind, namespace)
    return Present(list(looked.found.values()), looked.unread)


@dataclass(slots=True)
class _Look:
    api: Reader
    stack: str
    found: dict[tuple[str, ...], Manifest] = field(default_factory=dict)
    unread: dict[str, str] = field(default_factory=dict)
    paths: dict[tuple[str, str], str] = field(default_factory=dict)

    def take(self, wanted: Manifest) -> None:
        """The object, if it is there."""
        collection = self._collection(wanted["apiVersion"], wanted["kind"], wanted["metadata"].get("namespace"))
        try:
            live = self.api.get(f"{collection}/{wanted['metadata']['name']}") if collection else None
        except RefusedError as error:
            live = None
            if error.status != 404:
                self.unread[_named(wanted)] = str(error)
        if live:
            self.found[identity(wanted)] = _cut(live, wanted)

    def others(self, version: str, kind: str, namespace: str | None) -> None:
        """The stack's objects of a kind that are not wanted any more; what a controller made of others is not counted."""
        collection = self._collection(version, kind, namespace)
        try:
            items = self.api.get(collection, labelSelector=f"{label('stack')}={self.stack}")["items"] if collection else []
        except RefusedError as error:
            self.unread.setdefault(kind, f"cannot be listed: {error}")
            return
        for item in items:
            made = {"apiVersion": version, "kind": kind, **item}
            if not item["metadata"].get("ownerReferences"):
                self.found.setdefault(identity(made), made)

    def _collection(self, version: str, kind: str, namespace: str | None) -> str:
        """Where objects of a kind are; empty where the cluster serves none."""
        if (version, kind) not in self.paths:
            try:
                self.paths[version, kind] = _path(self.api, version, kind)
            except RefusedError as error:
                self.paths[version, kind] = ""
                if error.status != 404:
                    self.unread[kind] = str(error)
        return self.paths[version, kind].replace("{namespace}", namespace or "default")


def _named(made: Manifest) -> str:
    return "/".join(part for part in identity(made) if part)


def _path(api: Reader, version: str, kind: str) -> str:
    """The collection of a kind, with ``{namespace}`` where it has one. empty for one that is not served. Raises RefusedError."""
    root = f"/apis/{version}" if "/" in version else f"/api/{version}"
    for each in api.get(root).get("resources", ()):
        if each["kind"] == kind and "/" not in each["name"]:
            return f"{root}/namespaces/{{namespace}}/{each['name']}" if each["namespaced"] else f"{root}/{each['name']}"
    return ""


def _cut(live: Manifest, wanted: Manifest) -> Manifest:
    """The live object, of which only what is wanted, or was stated by a deployment before, is kept."""
    # Its owner is only known where it runs.
    live = {**live, "metadata": {key: value for key, value in live["metadata"].items() if key != "ownerReferences"}}
    owned: dict[str, Any] = {}
    for each in live["metadata"].get("managedFields") or ():
        if str(each.get("manager", "")).startswith(MANAGER) and each.get("operation") == "Apply":
            _merge(owned, each.get("fieldsV1") or {})
    cut: Manifest = _kept(live, wanted, owned)
    return cut | {"apiVersion": wanted["apiVersion"], "kind": wanted["kind"]}


def _merge(into: dict[str, Any], more: Mapping[str, Any]) -> None:
    for key, value in more.items():
        _merge(into.setdefault(key, {}), value)


def _kept(live: Any, wanted: Any, owned: Mapping[str, Any]) -> Any:
    if isinstance(live, Mapping) and (isinstance(wanted, Mapping) or wanted is None):
        stated = wanted or {}
        keys = [key for key in live if key in stated or f"f:{key}" in owned]
        if wanted is None and not any(f"f:{key}" in owned for key in live):
            return live
        return {key: _kept(live[key], stated.get(key), owned.get(f"f:{key}", {})) for key in keys}
    if isinstance(live, list) and isinstance(wanted, list):
        return _kept_items(live, wanted, owned)
    return wanted if same(live, wanted) else live


def _kept_items(live: list[Any], wanted: list[Any], owned: Mapping[str, Any]) -> list[Any]:
    """Items by name where they have one, else by place."""
    if all(isinstance(item, Mapping) and "name" in item for item in (*live, *wanted)):
        by_name = {item["name"]: item for item in wanted}
        kept = {item["name"]: _kept(item, by_name.get(item["name"]), _owned_item(owned, item["name"])) for item in live}
        mine = [name for name in kept if name in by_name or _owned_item(owned, name)]
        order = {name: at for at, name in enumerate(by_name)}
        return [kept[name] for name in sorted(mine, key=lambda name: order.get(name, len(order)))]
    if len(live) == len(wanted):
        return [_kept(one, other, {}) for one, other in zip(live, wanted, strict=True)]
    return live


def _owned_item(owned: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found: Iterator[Mapping[str, Any]] = (value for key, value in owned.items() if key.startswith("k:") and f'"name":"{name}"' in key)
    return next(found, {})


def same(live: Any, wanted: Any) -> bool:
    """Whether the API server holds what was written: it writes quantities its own way, and leaves out what is empty."""
    if live == wanted or (not live and not wanted and live is not False and wanted is not False and live != 0 and wanted != 0):
        return True
    if isinstance(live, str | int | float) and isinstance(wanted, str | int | float) and not isinstance(live, bool):
        texts = str(live), str(wanted)
        return all(map(is_quantity, texts)) and quantity(texts[0]) == quantity(texts[1])
    return False
