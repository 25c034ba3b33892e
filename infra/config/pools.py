"""Node pools: nodes of one GPU kind."""

from enum import StrEnum
from typing import Annotated, Self

from pydantic import Field, field_validator, model_validator

from interlock.infra.config.base import Bytes, Config, LabelKey, LabelValue, Name, ObjectName, Quantity, checked
from interlock.infra.config.taints import taint_problem
from interlock.infra.values import GIB, TIB, quantity


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


class Allocation(StrEnum):
    """How pods get their GPUs."""

    DEVICE_PLUGIN = "device-plugin"
    CLAIM = "claim"


class KarpenterConfig(Config):
    """What a Karpenter NodePool needs beyond the pool itself."""

    node_class: Name
    """Name of the node class that makes the machines."""
    node_class_kind: str = "EC2NodeClass"
    """Its kind."""
    node_class_group: str = "karpenter.k8s.aws"
    """Its API group."""
    instance_types: tuple[str, ...] = Field(min_length=1)
    """Instance types that carry this pool's GPU, such as ``p5.48xlarge``."""
    capacity_types: tuple[str, ...] = ("on-demand",)
    """on-demand, reserved, spot."""
    zones: tuple[str, ...] = ()
    """Zones; empty = all."""
    expire_after: str = Field(default="Never", pattern=r"^(([0-9]+(s|m|h))+|Never)$")
    """Age at which a node is replaced; Never for nodes that serve."""
    idle_seconds: int = Field(default=600, ge=0)
    """Seconds that a node stays after its last pod."""
    disruption_nodes: int = Field(default=1, ge=0)
    """Nodes that may be disrupted at the same time."""


class DomainConfig(Config):
    """Nodes that are joined more closely than others: a rack, or one NVLink fabric over several nodes."""

    label: LabelKey
    """Label of the nodes whose value names the domain, such as ``topology.kubernetes.io/rack``."""
    nodes: int = Field(ge=1)
    """Nodes of one domain."""


TaintText = Annotated[str, checked(taint_problem)]
"""A taint as kubectl writes it."""


class PoolConfig(Config):
    """Nodes of one GPU kind."""

    name: Name
    """Name of the pool; servers refer to it and its nodes carry it as ``interlock.dev/pool``."""
    gpu: str
    """GPU of every node, by catalog name such as ``h100-80gb-sxm``; one that the catalog does not know needs gpu_memory."""
    gpu_memory: Bytes | None = None
    """Memory of one GPU (with MIG: of one instance) as CUDA reports it, such as ``96Gi``; wins over the catalog's figure."""
    gpus_per_node: int = Field(ge=1, le=16)
    """Cards of one node."""
    nodes: int = Field(ge=1, le=1000)
    """Nodes of the pool; for an autoscaled pool, the most it may have."""
    cpu: Quantity = "32"
    """Allocatable cores of one node, as a Kubernetes quantity."""
    memory: Bytes = "256Gi"
    """Allocatable memory of one node, as a Kubernetes quantity."""
    daemon_cpu: Quantity | None = None
    """Cores that DaemonSets request on each node, beside what is allocatable; omit for 500m, by which nothing is refused, only warned."""
    daemon_memory: Quantity | None = None
    """Memory that DaemonSets request on each node; omit for 1Gi, by which nothing is refused, only warned."""
    share: ShareConfig = ShareConfig()
    """How the cards are given out."""
    nvlink: bool | None = None
    """Whether the cards of one node are joined by NVLink; omit to go by the GPU's catalog entry."""
    domain: DomainConfig | None = None
    """Domains of the pool's nodes; each replica that lies on several nodes is then put into one domain, alone."""
    labels: dict[LabelKey, LabelValue] = Field(default_factory=dict)
    """Further labels that the nodes carry; servers on this pool select by them."""
    marked: bool = True
    """Whether the nodes carry ``interlock.dev/pool``; false = they are found by ``labels`` alone, such as ``nvidia.com/gpu.product`` or a
    cloud's label of its node group."""
    taints: tuple[TaintText, ...] = ("nvidia.com/gpu",)
    """Taints on the nodes, as kubectl writes them: ``key``, ``key=value`` or ``key=value:NoExecute`` (NoSchedule without an effect).
    Servers on this pool tolerate them."""
    notice_seconds: int | None = Field(default=None, ge=1)
    """Seconds from the notice that a node goes until it is gone, for spot nodes (120 at AWS, 30 at Google and Azure)."""
    backend: PoolBackend = PoolBackend.EXISTING
    """existing (nodes are there, we label them), karpenter (NodePool) or managed (a cloud's own pool)."""
    node_names: tuple[ObjectName, ...] = ()
    """Names of existing nodes that we label; empty = they carry ``interlock.dev/pool`` already."""
    karpenter: KarpenterConfig | None = None
    """For the karpenter backend."""
    allocation: Allocation = Allocation.DEVICE_PLUGIN
    """device-plugin (extended resources) or claim (ResourceClaimTemplates of dynamic resource allocation)."""

    @field_validator("gpu_memory")
    @classmethod
    def _of_a_card(cls, value: str | None) -> str | None:
        if value is not None and not GIB <= quantity(value) <= 4 * TIB:
            raise ValueError(f"{value!r} is not the memory of a GPU: between 1Gi and 4Ti, with its unit, such as 80Gi")
        return value

    @model_validator(mode="after")
    def _fits_its_backend(self) -> Self:
        if (self.backend is PoolBackend.KARPENTER) != (self.karpenter is not None):
            raise ValueError("the karpenter backend needs the field karpenter, and only that backend has it")
        if not self.marked and not self.labels:
            raise ValueError("marked: false says that the nodes carry no label of ours: state labels by which they are found")
        if not self.marked and (self.node_names or self.backend is not PoolBackend.EXISTING):
            raise ValueError("marked: false is for nodes that are there and are labelled by others: remove it, or node_names")
        if self.node_names and self.backend is not PoolBackend.EXISTING:
            raise ValueError(f"node_names are for existing nodes; the {self.backend} backend makes its own")
        if self.node_names and len(self.node_names) != self.nodes:
            raise ValueError(f"nodes is {self.nodes}, but node_names lists {len(self.node_names)}")
        if twice := [name for name in dict.fromkeys(self.node_names) if self.node_names.count(name) > 1]:
            raise ValueError(f"node_names lists {twice[0]} twice: name each node once")
        for name, whole, taken in (("cpu", self.cpu, self.daemon_cpu), ("memory", self.memory, self.daemon_memory)):
            if taken is not None and quantity(taken) >= quantity(whole):
                raise ValueError(f"daemon_{name} {taken} leaves nothing of the node's {name} {whole}: lower it, or raise {name}")
        if self.allocation is Allocation.CLAIM and self.share.kind in (Sharing.TIME_SLICING, Sharing.MPS):
            raise ValueError(f"{self.share.kind} is a setting of the device plugin; claims give whole cards or MIG instances")
        return self
