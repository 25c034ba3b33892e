"""What Interlock relies on in the stock engine image, with the source of each fact; images built for tests fulfil the same table."""

from functools import cache
from typing import Generic, TypeVar

from pydantic import BaseModel, ConfigDict

from interlock.infra.catalog.tables import table

Value = TypeVar("Value")
_FROZEN = ConfigDict(frozen=True, extra="forbid")


class Sourced(BaseModel, Generic[Value]):
    """A fact about the image."""

    model_config = _FROZEN
    value: Value
    """The fact."""
    proven: bool
    """Read in a file of exactly this version."""
    source: str
    """Where it was read."""


class ImageUser(BaseModel):
    """The unprivileged user of the image."""

    model_config = _FROZEN
    name: str
    """Name in /etc/passwd."""
    uid: int
    """User id."""
    gid: int
    """Group id."""
    home: str
    """Home folder."""


class ImageContract(BaseModel):
    """What the manifests and the runtime take for granted."""

    model_config = _FROZEN
    image: str
    """The stock image."""
    date: str
    """When the facts were read."""
    note: str
    """How far they are proven."""
    python: Sourced[str]
    """Major and minor version of Python."""
    interpreter: Sourced[str]
    """Its command; the engine's packages are importable in it."""
    commands: Sourced[tuple[str, ...]]
    """Commands on PATH."""
    distributions: Sourced[dict[str, str]]
    """Python distributions and the least version of each."""
    entrypoint: Sourced[tuple[str, ...]]
    """What runs when a pod names no command."""
    default_uid: Sourced[int]
    """Who runs when a pod names no user."""
    user: Sourced[ImageUser]
    """The unprivileged user."""
    unset: Sourced[tuple[str, ...]]
    """Environment variables that the image leaves alone."""
    workdir: Sourced[str]
    """Working folder."""
    libraries: Sourced[tuple[str, ...]]
    """Shared libraries that the loader finds."""


@cache
def image_contract() -> ImageContract:
    """The contract of the deployment track's image."""
    return ImageContract.model_validate(table("image_contract.json"))
