"""Facts of a whole set of documents: workloads and what stands around them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from interlock.infra.facts.devices import DeviceClass, DevicePlugin
from interlock.infra.facts.document import DocumentProblem
from interlock.infra.facts.fact import Fact
from interlock.infra.facts.limits import LimitRange
from interlock.infra.facts.monitoring import Query, Scrape
from interlock.infra.facts.nodes import SharingConfig
from interlock.infra.facts.origin import Origin
from interlock.infra.facts.pickers import EndpointPool, Objective, RouterProgram
from interlock.infra.facts.workload import Workload


@dataclass(frozen=True, slots=True)
class Service:
    """A Service."""

    origin: Origin
    selector: Mapping[str, str] = field(default_factory=dict)
    ports: tuple[tuple[Fact[int], Fact[str]], ...] = ()
    """(port, targetPort as text) pairs."""
    type: Fact[str] = Fact()
    headless: bool = False
    port_names: tuple[str, ...] = ()
    """Names of the ports that have one."""


@dataclass(frozen=True, slots=True)
class Route:
    """An Ingress, HTTPRoute, VirtualService or similar: one backend with its timeout."""

    origin: Origin
    backend: Fact[str] = Fact()
    """Name of the Service it leads to."""
    backend_port: Fact[str] = Fact()
    controller: Fact[str] = Fact()
    """Ingress class or gateway class: nginx, alb, traefik, envoy, istio, ..."""
    read_timeout: Fact[float] = Fact()
    """Seconds until a silent or long answer is cut; 0 = never."""
    paths: tuple[str, ...] = ()
    """Path prefixes it exposes."""
    annotations: Mapping[str, str] = field(default_factory=dict)
    kind: str = ""
    """Ingress, HTTPRoute, VirtualService, Service (for annotations that belong elsewhere), ..."""
    timeout_path: str = ""
    """Where the timeout stands or would stand."""
    per_try_timeout: Fact[float] = Fact()
    """Seconds of one attempt (retry policy, backendRequest); 0 = never."""
    idle_timeout: Fact[float] = Fact()
    """Seconds without a byte until the answer is cut; 0 = never."""
    longest_answer: Fact[float] = Fact()
    """Seconds of the longest answer (or first byte) where something states it."""
    hosts: tuple[str, ...] = ()
    """Host names that it answers to, where they are stated."""
    entry: str = ""
    """What it hangs on: the parents of an HTTPRoute, the class of an Ingress."""
    conditional: bool = False
    """More than host and path decide: a header, a query, a method."""
    target: tuple[str, str, str] = ("", "Service", "")
    """API group, kind and namespace of the backend; the route's own namespace where it is empty."""


@dataclass(frozen=True, slots=True)
class Router:
    """A router of production-stack that finds its engines by labels."""

    origin: Origin
    selector: Mapping[str, str] = field(default_factory=dict)
    keyed: bool = False
    """It has (or may have) the engines' API key."""
    path: str = ""


@dataclass(frozen=True, slots=True)
class Drain:
    """A part between clients and engines that cuts the answers which still run when its own drain is over."""

    origin: Origin
    part: str
    """What it is, in words."""
    setting: str
    """What says how long it waits."""
    seconds: Fact[float] = Fact()
    path: str = ""
    """Where the setting stands or would stand."""
    default: float = 0
    """Seconds where nothing is stated."""


@dataclass(frozen=True, slots=True)
class Autoscaler:
    """A HorizontalPodAutoscaler or ScaledObject."""

    origin: Origin
    target_kind: Fact[str] = Fact()
    target: Fact[str] = Fact()
    min_replicas: Fact[int] = Fact()
    max_replicas: Fact[int] = Fact()
    metrics: tuple[tuple[str, Fact[str], str], ...] = ()
    """(source: Resource, Pods, External, prometheus, ...; metric name or query; path) triples."""
    options: Mapping[str, Fact[str]] = field(default_factory=dict)
    """Further scaler fields as text, ``ignoreNullValues`` and ``activationThreshold`` of the triggers among them."""
    types: Mapping[str, Fact[str]] = field(default_factory=dict)
    """Type of a trigger's metric (AverageValue, Value, Utilization; absent means AverageValue) by the path of its query."""


@dataclass(frozen=True, slots=True)
class Budget:
    """A PodDisruptionBudget."""

    origin: Origin
    selector: Mapping[str, str] = field(default_factory=dict)
    min_available: Fact[str] = Fact()
    max_unavailable: Fact[str] = Fact()


@dataclass(frozen=True, slots=True)
class Claim:
    """A PersistentVolumeClaim."""

    origin: Origin
    access_modes: Fact[tuple[str, ...]] = Fact()
    storage_class: Fact[str] = Fact()
    size: Fact[int] = Fact()
    """Bytes."""
    users: Fact[int] = Fact()
    """Pod templates of the documents that mount it; absent when nobody counted."""
    volume: Fact[str] = Fact()
    """Name of the PersistentVolume that it asks for."""
    copied: bool = False
    """It begins as a copy of a snapshot, a claim or another source."""


@dataclass(frozen=True, slots=True)
class SecretObject:
    """A Secret or ConfigMap in the documents: which keys it has and which values look like credentials."""

    origin: Origin
    data: Mapping[str, Fact[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Namespace:
    """A Namespace: the Pod Security level that it enforces."""

    origin: Origin
    pod_security: Fact[str] = Fact()
    """``privileged``, ``baseline`` or ``restricted``."""


@dataclass(frozen=True, slots=True)
class StorageClass:
    """A StorageClass."""

    origin: Origin
    provisioner: Fact[str] = Fact()
    binding: Fact[str] = Fact()
    """Immediate or WaitForFirstConsumer; absent means Immediate."""


@dataclass(frozen=True, slots=True)
class DiskVolume:
    """A PersistentVolume that lies on nodes: a local one, a folder of whichever node mounts it, or any with a node affinity."""

    origin: Origin
    storage_class: Fact[str] = Fact()
    local: bool = False
    host_path: Fact[str] = Fact()
    nodes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Labels that its affinity asks of a node, with the values that it takes; only where one term states them."""
    claim: str = ""
    """Name of the claim that it is kept for (``claimRef``)."""
    claim_namespace: str = ""


@dataclass(frozen=True, slots=True)
class Quota:
    """A ResourceQuota: resource name to its hard limit as text."""

    origin: Origin
    hard: Mapping[str, Fact[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Pool:
    """Nodes of one GPU kind: from our config, a Karpenter NodePool or node objects."""

    origin: Origin
    name: str
    gpu: Fact[str] = Fact()
    """GPU name as in the catalog (``h100-80gb-sxm``)."""
    resource: str = "nvidia.com/gpu"
    gpus_per_node: Fact[int] = Fact()
    """Advertised units of ``resource`` on one node (cards x shares)."""
    nodes: Fact[int] = Fact()
    shares: Fact[int] = Fact()
    """Units of ``resource`` per card: 1 = exclusive."""
    sharing: Fact[str] = Fact()
    """exclusive, time-slicing, mps or mig."""
    cpu: Fact[float] = Fact()
    """Allocatable cores of one node."""
    memory: Fact[int] = Fact()
    """Allocatable bytes of one node."""
    daemon_cpu: Fact[float] = Fact()
    """Cores that DaemonSets request on each node, where stated."""
    daemon_memory: Fact[int] = Fact()
    """Bytes that DaemonSets request on each node, where stated."""
    nvlink: Fact[bool] = Fact()
    labels: Mapping[str, Fact[str]] = field(default_factory=dict)
    taints: tuple[str, ...] = ()
    limits: Mapping[str, Fact[str]] = field(default_factory=dict)
    free: Fact[int] = Fact()
    """Units of ``resource`` that nothing uses now, where a live cluster or a person says so."""
    max_nodes: Fact[int] = Fact()
    """Upper end of an autoscaled pool."""
    gpu_memory: Fact[int] = Fact()
    """Bytes that CUDA reports for one unit, where stated (a MIG slice, an unlisted card)."""
    compute_capability: Fact[float] = Fact()
    families: tuple[str, ...] = ()
    """Instance families or types a NodePool allows."""
    disk: Fact[int] = Fact()
    """Allocatable ephemeral storage of one node in bytes."""
    default_runtime: Fact[str] = Fact()
    """Container runtime of its nodes for pods without a runtime class: ``nvidia``, ``runc``, ..."""
    driver: Fact[str] = Fact()
    """Version of the GPU driver on its nodes."""
    used_memory: Fact[int] = Fact()
    """Bytes of each card that something else holds before the engine starts."""
    domain: Fact[str] = Fact()
    """Label of the nodes whose value names their rack or fabric."""
    domain_nodes: Fact[int] = Fact()
    """Nodes of one such domain."""
    notice: Fact[int] = Fact()
    """Seconds from the notice that a node goes until it is gone, for spot nodes."""


PARTLY = "CHECK-002"
"""Code of a note about a document of which only a part was judged."""


@dataclass(frozen=True, slots=True)
class NotJudged:
    """A file or document that was not judged, and why."""

    origin: Origin
    why: str
    code: str = "CHECK-000"


@dataclass(frozen=True, slots=True)
class Bundle:
    """All facts of one judgement. Whole-set rules read across the tuples."""

    workloads: tuple[Workload, ...] = ()
    services: tuple[Service, ...] = ()
    routes: tuple[Route, ...] = ()
    routers: tuple[Router, ...] = ()
    drains: tuple[Drain, ...] = ()
    autoscalers: tuple[Autoscaler, ...] = ()
    budgets: tuple[Budget, ...] = ()
    claims: tuple[Claim, ...] = ()
    secrets: tuple[SecretObject, ...] = ()
    quotas: tuple[Quota, ...] = ()
    limit_ranges: tuple[LimitRange, ...] = ()
    pools: tuple[Pool, ...] = ()
    not_judged: tuple[NotJudged, ...] = ()
    queries: tuple[Query, ...] = ()
    scrapes: tuple[Scrape, ...] = ()
    sharing: tuple[SharingConfig, ...] = ()
    problems: tuple[DocumentProblem, ...] = ()
    namespaces: tuple[Namespace, ...] = ()
    storage_classes: tuple[StorageClass, ...] = ()
    disk_volumes: tuple[DiskVolume, ...] = ()
    endpoint_pools: tuple[EndpointPool, ...] = ()
    programs: tuple[RouterProgram, ...] = ()
    objectives: tuple[Objective, ...] = ()
    device_classes: tuple[DeviceClass, ...] = ()
    device_plugins: tuple[DevicePlugin, ...] = ()
    closed: bool = False
    """True when the set is the whole deployment (our plan, a stack preview): an absent PDB or Service is then really absent."""
    memo: dict[Any, Any] = field(default_factory=dict, init=False, compare=False, repr=False)
    """What rules derive from the whole set once; never carried into a changed copy."""

    def pool(self, workload: Workload) -> Pool | None:
        """The pool a workload is meant for, when it is known."""
        if not workload.pool.known:
            return None
        return next((pool for pool in self.pools if pool.name == workload.pool.value), None)
