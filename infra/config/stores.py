"""Model stores: where weights are kept."""

from enum import StrEnum

from pydantic import Field, field_validator

from interlock.infra.config.base import Config, Name, dns_name
from interlock.infra.values import quantity


class StoreKind(StrEnum):
    """What holds the weights."""

    CLAIM = "claim"
    EXISTING_CLAIM = "existing-claim"
    HOST_PATH = "host-path"


class AccessMode(StrEnum):
    """Kubernetes access modes of a claim."""

    READ_WRITE_MANY = "ReadWriteMany"
    READ_ONLY_MANY = "ReadOnlyMany"
    READ_WRITE_ONCE = "ReadWriteOnce"


class StoreConfig(Config):
    """One place that holds weights; servers refer to it by name."""

    name: Name
    """Name of the store."""
    kind: StoreKind = StoreKind.CLAIM
    """claim (made by this stack), existing-claim or host-path."""
    size: str = "100Gi"
    """Size of a claim that this stack makes."""
    access: AccessMode = AccessMode.READ_WRITE_MANY
    """Access mode of a claim."""
    storage_class: str | None = None
    """StorageClass of a claim; None = the cluster's default."""
    claim: str | None = None
    """Name of an existing claim."""
    path: str | None = Field(default=None, pattern=r"^/")
    """Folder on the nodes for host-path."""

    @field_validator("name")
    @classmethod
    def _dns_label(cls, value: str) -> str:
        return dns_name(value)

    @field_validator("size")
    @classmethod
    def _positive_quantity(cls, value: str) -> str:
        if quantity(value) <= 0:
            raise ValueError(f"{value!r} is not above zero")
        return value
