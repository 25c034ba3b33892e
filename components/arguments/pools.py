"""A pool as the config describes it. Written by `python -m tools.component_arguments`."""

from typing import NotRequired, TypedDict

from interlock.infra.config.pools import Allocation, PoolBackend, Sharing


class ShareSettings(TypedDict):
    """How the cards of a pool are shared."""

    kind: NotRequired[Sharing]
    """exclusive, time-slicing, mps or mig."""
    replicas: NotRequired[int]
    """Shares of one card for time-slicing and MPS (2-4 advised)."""
    profile: NotRequired[str]
    """MIG profile that the pool offers, such as ``1g.10gb``."""
    per_card: NotRequired[int]
    """MIG instances of that profile on one card; without it, as many as the card's geometry allows."""


class KarpenterSettings(TypedDict):
    """What a Karpenter NodePool needs beyond the pool itself."""

    node_class: str
    """Name of the node class that makes the machines."""
    node_class_kind: NotRequired[str]
    """Its kind."""
    node_class_group: NotRequired[str]
    """Its API group."""
    instance_types: list[str]
    """Instance types that carry this pool's GPU, such as ``p5.48xlarge``."""
    capacity_types: NotRequired[list[str]]
    """on-demand, reserved, spot."""
    zones: NotRequired[list[str]]
    """Zones; empty = all."""
    expire_after: NotRequired[str]
    """Age at which a node is replaced; Never for nodes that serve."""
    idle_seconds: NotRequired[int]
    """Seconds that a node stays after its last pod."""
    disruption_nodes: NotRequired[int]
    """Nodes that may be disrupted at the same time."""


class DomainSettings(TypedDict):
    """Nodes that are joined more closely than others: a rack, or one NVLink fabric over several nodes."""

    label: str
    """Label of the nodes whose value names the domain, such as ``topology.kubernetes.io/rack``."""
    nodes: int
    """Nodes of one domain."""


class PoolSettings(TypedDict):
    """Nodes of one GPU kind."""

    name: str
    """Name of the pool; servers refer to it and its nodes carry it as ``interlock.dev/pool``."""
    gpu: str
    """GPU of every node, by catalog name such as ``h100-80gb-sxm``; one that the catalog does not know needs gpu_memory."""
    gpu_memory: NotRequired[str]
    """Memory of one GPU (with MIG: of one instance) as CUDA reports it, such as ``96Gi``; wins over the catalog's figure."""
    gpus_per_node: int
    """Cards of one node."""
    nodes: int
    """Nodes of the pool; for an autoscaled pool, the most it may have."""
    cpu: NotRequired[str]
    """Allocatable cores of one node, as a Kubernetes quantity."""
    memory: NotRequired[str]
    """Allocatable memory of one node, as a Kubernetes quantity."""
    daemon_cpu: NotRequired[str]
    """Cores that DaemonSets request on each node, beside what is allocatable; omit for 500m, by which nothing is refused, only warned."""
    daemon_memory: NotRequired[str]
    """Memory that DaemonSets request on each node; omit for 1Gi, by which nothing is refused, only warned."""
    share: NotRequired[ShareSettings]
    """How the cards are given out."""
    nvlink: NotRequired[bool]
    """Whether the cards of one node are joined by NVLink; omit to go by the GPU's catalog entry."""
    domain: NotRequired[DomainSettings]
    """Domains of the pool's nodes; each replica that lies on several nodes is then put into one domain, alone."""
    labels: NotRequired[dict[str, str]]
    """Further labels that the nodes carry; servers on this pool select by them."""
    marked: NotRequired[bool]
    """Whether the nodes carry ``interlock.dev/pool``; false = they are found by ``labels`` alone, such as ``nvidia.com/gpu.product`` or a
    cloud's label of its node group."""
    taints: NotRequired[list[str]]
    """Taints on the nodes, as kubectl writes them: ``key``, ``key=value`` or ``key=value:NoExecute`` (NoSchedule without an effect).
    Servers on this pool tolerate them."""
    notice_seconds: NotRequired[int]
    """Seconds from the notice that a node goes until it is gone, for spot nodes (120 at AWS, 30 at Google and Azure)."""
    backend: NotRequired[PoolBackend]
    """existing (nodes are there, we label them), karpenter (NodePool) or managed (a cloud's own pool)."""
    node_names: NotRequired[list[str]]
    """Names of existing nodes that we label; empty = they carry ``interlock.dev/pool`` already."""
    karpenter: NotRequired[KarpenterSettings]
    """For the karpenter backend."""
    allocation: NotRequired[Allocation]
    """device-plugin (extended resources) or claim (ResourceClaimTemplates of dynamic resource allocation)."""
