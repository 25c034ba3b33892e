"""Node pools: nodes of one GPU kind."""

from enum import StrEnum
from typing import Self

from pydantic import Field, field_validator, model_validator

from interlock.infra.config.base import Config, Name, dns_name
from interlock.infra.values import quantity


class Sharing(StrEnum):
    """How one card is given out."""

    EXCLUSIVE = "exclusive"
    TIME_SLICING = "time-slicing"
    MPS = "mps"
    MIG = "mig"


class ShareConfig(Config):
    """How the cards of a pool are shared."""

    kind: Sharing = Sharing.EXCLUSIVE
    """exclusive, time-slicing, mps or mig."""
    replicas: int | None = Field(default=None, ge=2, le=64)
    """Shares of one card for time-slicing and MPS (2-4 advised)."""
    profile: str | None = None
    """MIG profile that the pool offers, such as ``1g.10gb``."""
    per_card: int | None = Field(default=None, ge=1, le=7)
    """MIG instances of that profile on one card; without it, as many as the card's geometry allows."""

    @model_validator(mode="after")
    def _fits_its_kind(self) -> Self:
        shared = self.kind in (Sharing.TIME_SLICING, Sharing.MPS)
        if shared and self.replicas is None:
            raise ValueError(f"{self.kind} needs replicas: 2 to 4 shares of one card")
        if not shared and self.replicas is not None:
            raise ValueError(f"replicas belong to time-slicing and mps, not to {self.kind}")
        if (self.kind is Sharing.MIG) != (self.profile is not None):
            raise ValueError("mig needs a profile such as 1g.10gb, and only mig has one")
        return self


class PoolBackend(StrEnum):
    """Who makes the nodes."""

    EXISTING = "existing"
    KARPENTER = "karpenter"
    MANAGED = "managed"


class PoolConfig(Config):
    """Nodes of one GPU kind."""

    name: Name
    """Name of the pool; servers refer to it and its nodes carry it as ``interlock.dev/pool``."""
    gpu: str
    """GPU of every node, by catalog name such as ``h100-80gb-sxm`` (``interlock plan`` lists near names for a typo)."""
    gpus_per_node: int = Field(ge=1, le=16)
    """Cards of one node."""
    nodes: int = Field(ge=1, le=1000)
    """Nodes of the pool; for an autoscaled pool, the most it may have."""
    cpu: str = "32"
    """Allocatable cores of one node, as a Kubernetes quantity."""
    memory: str = "256Gi"
    """Allocatable memory of one node, as a Kubernetes quantity."""
    share: ShareConfig = ShareConfig()
    """How the cards are given out."""
    nvlink: bool | None = None
    """Whether the cards of one node are joined by NVLink; None = as the GPU's catalog entry says."""
    labels: dict[str, str] = Field(default_factory=dict)
    """Further labels that the nodes carry; servers on this pool select by them."""
    taints: tuple[str, ...] = ("nvidia.com/gpu",)
    """Keys of NoSchedule taints on the nodes; servers on this pool tolerate them."""
    backend: PoolBackend = PoolBackend.EXISTING
    """existing (nodes are there, we label them), karpenter (NodePool) or managed (a cloud's own pool)."""

    @field_validator("name")
    @classmethod
    def _dns_label(cls, value: str) -> str:
        return dns_name(value)

    @field_validator("cpu", "memory")
    @classmethod
    def _positive_quantity(cls, value: str) -> str:
        if quantity(value) <= 0:
            raise ValueError(f"{value!r} is not above zero")
        return value
