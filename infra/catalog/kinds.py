"""Kinds of Kubernetes objects: how the API names each, when Pulumi holds one for ready, and what may be left out for it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from typing import Any

from interlock.infra.catalog.tables import table
from interlock.infra.errors import InterlockError

_FILE = "kinds.json"


class UnknownKindError(InterlockError):
    """An object is built whose kind or version has no row in the table."""


class Maker(StrEnum):
    """Which of our stacks makes objects of a kind."""

    NOBODY = ""
    SERVING = "serving"
    """A serving stack may, whether its present config asks for them or not."""
    PLATFORM = "platform"
    """The platform stack only."""


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of object."""

    kind: str
    """``Deployment``."""
    api: str
    """Group and version in which we make it: ``apps/v1``; other versions are read as well."""
    plural: str
    """As RBAC names it: ``deployments``."""
    namespaced: bool = True
    """Lives in a namespace."""
    made: Maker = Maker.NOBODY
    """Who makes it here."""
    wait: Mapping[str, str] = field(default_factory=dict)
    """Annotations that tell Pulumi's provider when an object is ready, where it does not know, or that it must not wait."""
    runs_nothing: bool = False
    """Starts nothing, so it is judged with its stack alone."""
    pods: bool = True
    """May hold a pod template that no reader of this kind knows."""

    @property
    def group(self) -> str:
        """API group; empty for the core."""
        return self.api.rpartition("/")[0]

    @property
    def version(self) -> str:
        """API version: ``v1``."""
        return self.api.rpartition("/")[2]


@cache
def kinds() -> Mapping[str, Kind]:
    """Every kind of the table by its name."""
    return {row["kind"]: Kind(**{**row, "made": Maker(row.get("made", ""))}) for row in table(_FILE)["kinds"]}


def kind_of(api_version: str, kind: str) -> Kind:
    """The row of an object that we make. Raises UnknownKindError for a kind, group or version that the table does not have."""
    found = kinds().get(kind)
    if found is None:
        raise UnknownKindError(f"no object of kind {kind} ({api_version}) can be made: infra/catalog/{_FILE} has no such row; add it")
    if found.api != api_version:
        raise UnknownKindError(f"a {kind} is made as {found.api}, not as {api_version}: correct the object or its row in {_FILE}")
    return found


def kind_of_object(manifest: Mapping[str, Any]) -> Kind:
    """``kind_of`` a whole object."""
    return kind_of(manifest["apiVersion"], manifest["kind"])
