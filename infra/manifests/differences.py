"""What differs between two sets of objects, path by path, and what the difference makes the cluster do."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from interlock.infra.manifests.placed import Manifest, identity
from interlock.infra.paths import child_path, within


class What(StrEnum):
    """What happens to an object."""

    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"
    REPLACED = "replaced"


@dataclass(frozen=True, slots=True)
class Field:
    """A part of an object before and after; None where it is not there. What is secret is not shown."""

    path: str
    before: Any
    after: Any


@dataclass(frozen=True, slots=True)
class ObjectChange:
    """One object that differs."""

    api_version: str
    kind: str
    namespace: str
    name: str
    what: What
    fields: tuple[Field, ...] = ()
    restarts: bool = False
    """Whether its pods are replaced."""


TEMPLATES: Mapping[str, str] = {
    "Deployment": "spec.template",
    "StatefulSet": "spec.template",
    "DaemonSet": "spec.template",
    "LeaderWorkerSet": "spec.leaderWorkerTemplate",
}
"""Where the pods of a workload are described: a change of it replaces them."""
FIXED: Mapping[str, tuple[str, ...]] = {
    "Deployment": ("spec.selector",),
    "DaemonSet": ("spec.selector",),
    "StatefulSet": ("spec.selector", "spec.serviceName", "spec.volumeClaimTemplates", "spec.podManagementPolicy"),
    "Job": ("spec.template", "spec.selector", "spec.completionMode"),
    "PersistentVolumeClaim": ("spec.accessModes", "spec.selector", "spec.storageClassName", "spec.volumeName", "spec.volumeMode"),
    "StorageClass": ("provisioner", "parameters", "volumeBindingMode", "reclaimPolicy"),
    "PriorityClass": ("value", "preemptionPolicy"),
    "RuntimeClass": ("handler",),
    "Service": ("spec.clusterIP",),
    "Secret": ("type",),
}
"""Fields that the API server lets nobody change: the object is deleted and made anew."""
HIDDEN = "(hidden)"
_LONGEST = 200


def differences(before: Sequence[Manifest], after: Sequence[Manifest]) -> list[ObjectChange]:
    """The objects that differ, by kind and name. An empty list means that a deployment of ``after`` over ``before`` changes nothing."""
    old, new = {_key(each): each for each in before}, {_key(each): each for each in after}
    found = []
    for key in sorted({*old, *new}):
        if key not in old or key not in new:
            found.append(_object(old.get(key) or new[key], What.ADDED if key in new else What.REMOVED))
        elif fields := tuple(_fields(old[key], new[key], "")):
            found.append(_changed(old[key], new[key], fields))
    return found


def _key(made: Manifest) -> tuple[str, str, str, str]:
    return *identity(made), made["apiVersion"].rpartition("/")[0]


def _object(made: Manifest, what: What, fields: tuple[Field, ...] = (), *, restarts: bool = False) -> ObjectChange:
    return ObjectChange(made["apiVersion"], *identity(made), what, fields, restarts)


def _changed(before: Manifest, after: Manifest, fields: tuple[Field, ...]) -> ObjectChange:
    kind = after["kind"]
    fixed = FIXED.get(kind, ()) if not before.get("immutable") else ("data", "binaryData", "immutable", "type")
    replaced = any(within(field.path, path) or within(path, field.path) for field in fields for path in fixed)
    template = TEMPLATES.get(kind)
    restarts = replaced or (template is not None and any(within(field.path, template) for field in fields))
    said = tuple(_safe(field, kind) for field in fields)
    return _object(after, What.REPLACED if replaced else What.CHANGED, said, restarts=restarts and template is not None)


def _safe(field: Field, kind: str) -> Field:
    """The field as it may be shown: no secret, no bytes, no page of text."""
    secret = kind == "Secret" and field.path.partition(".")[0] in ("data", "stringData")
    return Field(field.path, *(_value(each, secret=secret) for each in (field.before, field.after)))


def _value(value: Any, *, secret: bool) -> Any:
    if value is None:
        return None
    if secret:
        return HIDDEN
    if isinstance(value, str) and len(value) > _LONGEST:
        return f"{value[:60]}... ({len(value)} characters)"
    return value


def _fields(before: Any, after: Any, path: str) -> Iterator[Field]:
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in sorted({*before, *after}):
            yield from _fields(before.get(key), after.get(key), child_path(path, key))
    elif isinstance(before, list) and isinstance(after, list):
        yield from _items(before, after, path)
    elif type(before) is not type(after) or before != after:
        inside = _decoded(before), _decoded(after)
        found = list(_fields(*inside, path)) if all(inside) else []
        yield from found or [Field(path, before, after)]


def _decoded(value: Any) -> dict[str, Any]:
    """The object that a text holds as JSON (annotations, the runtime's settings); empty for anything else."""
    try:
        found = json.loads(value) if isinstance(value, str) and value.startswith("{") else {}
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _items(before: list[Any], after: list[Any], path: str) -> Iterator[Field]:
    """Lists of named things are compared by name, as server-side apply does; of texts what is gone and what is new."""
    names = [[item.get("name") if isinstance(item, Mapping) else None for item in each] for each in (before, after)]
    if all(all(isinstance(name, str) for name in each) and len(set(each)) == len(each) for each in names):
        old, new = ({item["name"]: item for item in each} for each in (before, after))
        for name in dict.fromkeys((*old, *new)):
            yield from _fields(old.get(name), new.get(name), f"{path}[{name}]")
        if not any(old.get(name) is None or new.get(name) is None for name in (*old, *new)) and list(old) != list(new):
            yield Field(path, list(old), list(new))
    elif before != after:
        before, after = _together(before), _together(after)
        gone, come = [item for item in before if item not in after], [item for item in after if item not in before]
        yield Field(path, gone, come) if gone or come else Field(path, before, after)


def _together(items: list[Any]) -> list[Any]:
    """Words of a command line with each option and its value as one."""
    found: list[Any] = []
    for item in items:
        last = found[-1] if found else None
        if isinstance(item, str) and not item.startswith("-") and isinstance(last, str) and last.startswith("--") and " " not in last:
            found[-1] = f"{last} {item}"
        else:
            found.append(item)
    return found
