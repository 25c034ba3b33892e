"""Fields of custom resources, of Ray Serve's configuration and of ``ray start``, as the tables of this package have them."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from interlock.infra.catalog.tables import table
from interlock.infra.values import Version

_RAY = "ray_fields.json"


@dataclass(frozen=True, slots=True)
class Resource:
    """A kind of custom resource."""

    type: str
    """Name of its type in ``types``."""
    behind: bool
    """Newer releases than the one read are in use: a field that is not here may be one of theirs."""


@dataclass(frozen=True, slots=True)
class Model:
    """A model that Ray reads a mapping into."""

    fields: Mapping[str, str]
    """Name to annotation, as in Ray's source."""
    required: tuple[str, ...]
    forbids_others: bool
    """An unknown key stops the application."""


@cache
def resources() -> Mapping[str, Resource]:
    """``group/version/Kind`` to its type."""
    return {key: Resource(row["type"], row["behind"]) for key, row in table("crd_fields.json")["kinds"].items()}


def types() -> Mapping[str, Mapping[str, Any]]:
    """Every type of the custom resources: ``fields`` and ``required`` as in k8s_fields.json, ``enums`` and ``bounds`` where there are any.

    ``PodSpec``, ``ObjectMeta`` and the scalars are those of k8s_fields.json. Bounds: minimum, maximum, minLength, maxLength.
    """
    found: Mapping[str, Mapping[str, Any]] = table("crd_fields.json")["types"]
    return found


def ray_model(name: str, version: str | None) -> Model | None:
    """One of Ray's models in a version. None where the versions around it differ, or none was read."""
    row = _agreed("models", name, version)
    return Model(row["fields"], tuple(row["required"]), row["forbids_others"]) if row else None


def ray_fields(name: str, version: str | None) -> Mapping[str, str] | None:
    """Every key that a model takes in a version, or in any that was read where the version is not one of these; None where a version
    ignores what it does not know, or where there is no such model."""
    exact = ray_model(name, version)
    rows = [exact] if exact else [Model(row["fields"], (), row["forbids_others"]) for row in table(_RAY)["models"].get(name, ())]
    return {key: kind for row in rows for key, kind in row.fields.items()} if rows and all(row.forbids_others for row in rows) else None


def ray_within(version: str | None) -> bool:
    """Whether a version lies between the oldest and the newest that were read; one that is not known counts as such."""
    key, read = Version.parse(version or ""), table(_RAY)["versions"]
    oldest, newest = Version.parse(read[0]), Version.parse(read[-1])
    return key is None or oldest is None or newest is None or oldest <= key <= newest


def ray_start_option(name: str, version: str | None) -> str | None:
    """Kind of an option of ``ray start`` without its dashes (integer, number, text, switch); None as for ``ray_model``."""
    row = _agreed("start", name, version)
    return str(row["kind"]) if row else None


def ray_knows(part: Literal["models", "start", "accelerators"], name: str) -> bool:
    """Whether any version that was read has the name: what none has is a mistake in every version."""
    return name in table(_RAY)[part]


def _agreed(part: str, name: str, version: str | None) -> Mapping[str, Any] | None:
    """The row that holds in ``version``: its own, or that of the versions read on both sides when it is the same."""
    data = table(_RAY)
    key, read = Version.parse(version or ""), data["versions"]
    keys = [found for each in read if (found := Version.parse(each))]
    if key is None or not keys[0] <= key <= keys[-1]:
        return None
    low = max(index for index, each in enumerate(keys) if each <= key)
    around = {read[low], read[low if keys[low] == key else low + 1]}
    rows: list[Mapping[str, Any]] = data[part].get(name, [])
    return next((row for row in rows if around <= set(row["versions"])), None)
