"""What follows from a config: plain frozen data that manifests, outputs and people read."""

from enum import StrEnum

from pydantic import Field

from interlock.infra.config.servers import ServerConfig
from interlock.infra.engine.args import ServeArgs
from interlock.infra.plan.base import Planned
from interlock.infra.plan.holders import PlannedAccess
from interlock.infra.plan.monitoring import PlannedScrape
from interlock.infra.plan.peers import PlannedFlows
from interlock.infra.plan.ray_types import PlannedRay, PlannedRayService
from interlock.infra.plan.reasons import Reason
from interlock.infra.plan.scaling import PlannedScaling
from interlock.infra.plan.scratch import Scratch
from interlock.infra.plan.start_types import PlannedStart
from interlock.infra.rules.findings import Finding, Fix, blocking

PLAN_VERSION = 1


class NodeUse(Planned):
    """One node of a pool, as the plan fills it."""

    units: int
    """Units of the GPU resource the node offers."""
    asked: int
    """Units that planned pods take."""
    pods: tuple[str, ...] = ()
    """Servers whose pods were put here, one entry per pod."""


class PlannedPool(Planned):
    """A pool with what it offers and what is asked of it."""

    index: int
    """Place in the config: ``pools[index]``."""
    name: str
    """Name of the pool."""
    gpu: str
    """GPU name of the catalog."""
    resource: str
    """Extended resource that pods ask for."""
    nodes: int
    """Nodes of the pool."""
    cards_per_node: int
    """Physical cards of one node."""
    units_per_node: int
    """Units of the resource on one node (cards x shares)."""
    unit_memory_bytes: int | None
    """Memory of one unit as CUDA reports it; None when the GPU is not in the catalog. A time-slice sees the whole card."""
    sharing: str
    """exclusive, time-slicing, mps or mig."""
    nvlink: bool
    """Whether the cards of a node are joined by NVLink."""
    selector: dict[str, str]
    """Labels by which pods find the pool."""
    taints: tuple[str, ...]
    """Taint keys that its pods tolerate."""
    asked: int
    """Units that all servers ask for, autoscaled ones at their most replicas."""
    use: tuple[NodeUse, ...]
    """The nodes, filled largest pod first."""
    cpu: float
    """Allocatable cores of one node."""
    memory_bytes: int
    """Allocatable memory of one node in bytes."""
    daemon_cpu: float | None = None
    """Cores that DaemonSets request on each node, when stated."""
    daemon_memory_bytes: int | None = None
    """Bytes that DaemonSets request on each node, when stated."""
    allocation: str = "device-plugin"
    """device-plugin or claim."""
    domain: str = ""
    """Label that names the domain of a node; empty where none is stated."""
    domain_nodes: int = 0
    """Nodes of one domain; 0 where none is stated."""
    notice: int | None = None
    """Seconds from the notice that a node goes until it is gone; None where nodes stay."""
    backend: str = "existing"
    """existing, karpenter or managed."""

    @property
    def units(self) -> int:
        """Units of the whole pool."""
        return self.nodes * self.units_per_node


class TimeBudget(Planned):
    """One chain of times in seconds; each is below the next."""

    load: float
    """Predicted time from container start to ready, likely."""
    slow: float
    """The same, high end: what the probe must allow."""
    scale_up: float
    """Likely seconds from a new pod to a ready one: an autoscaler adds replicas no faster."""
    before: float
    """High end of what passes until the container starts: a node is made, the image pulled."""
    startup: int
    """Startup probe budget; also VLLM_ENGINE_READY_TIMEOUT_S."""
    progress_deadline: int
    """progressDeadlineSeconds of the Deployment."""
    update_timeout: int
    """Pulumi's own timeout for the Deployment."""
    longest_answer: int
    """Longest answer that a client may wait for."""
    gateway: int | None
    """Timeout of the route; 0 = never, None = no route."""
    deregistration: int
    """preStop: seconds until endpoints are gone everywhere."""
    drain: int
    """Seconds that running requests get at a stop."""
    engine_shutdown: int
    """--shutdown-timeout: without a supervisor the drain, else what the engine gets to end when it has nothing to do."""
    teardown: int
    """From the end of the drain until the supervisor kills what is left of the engine; 0 without a supervisor."""
    step: float
    """Upper bound of one step of the engine."""
    hang: int
    """Seconds without an engine step after which a supervised pod that has work is replaced."""
    grace: int
    """terminationGracePeriodSeconds: deregistration + drain + teardown + 10."""


class PodRole(StrEnum):
    """What a pod of a replica is for."""

    SERVER = "server"
    LEADER = "leader"
    WORKER = "worker"


class PlannedPods(Planned):
    """Pods of one replica that are made from one template."""

    role: PodRole
    """server (the only pod), leader or worker."""
    count: int
    """How many of them a replica has."""
    gpus: int
    """Units of the GPU resource of each."""


class PlannedServer(Planned):
    """A server with every number decided."""

    name: str
    """Name of the server, its Service and Deployment."""
    index: int
    """Place in the config: ``servers[index]``."""
    namespace: str
    """Namespace."""
    model_id: str
    """Model id."""
    pool: str
    """Pool it runs on."""
    replicas: int
    """Replicas; the fewest when autoscaled."""
    max_replicas: int
    """Replicas that the pool must hold."""
    gpus: int
    """Units of the GPU resource of one replica, all its pods together."""
    pods: tuple[PlannedPods, ...]
    """The pods of one replica."""
    engine_gpus: int
    """GPUs the engine uses: TP x PP x DP."""
    resource: str
    """Extended resource."""
    image: str
    """Image reference."""
    vllm: str
    """vLLM version in the image; empty when it cannot be told."""
    command: tuple[str, ...]
    """Command that starts the engine."""
    supervised: bool
    """Whether the engine runs under the supervisor."""
    access: PlannedAccess | None = None
    """Who may ask it; None = it asks for no tenant's key."""
    flows: PlannedFlows | None = None
    """Traffic of its pods; None = none is denied."""
    scrape: PlannedScrape
    """How Prometheus learns of its pods."""
    scaling: PlannedScaling | None
    """By what it is scaled; None = the replicas are stated."""
    scratch: Scratch
    """What a pod may write on its node."""
    spread: bool = False
    """Whether replicas rather go to different nodes."""
    ray: PlannedRay | None = None
    """Its place in a RayService; None = it has pods of its own."""
    args: ServeArgs
    """Engine arguments."""
    env: dict[str, str]
    """Plain environment of the engine."""
    cpu: str
    """CPU request."""
    memory: str
    """Memory request and limit."""
    shm: str
    """Size of /dev/shm."""
    attention_heads: int | None
    """Attention heads, when known."""
    kv_heads: int | None
    """KV heads, when known."""
    weight_bytes: int | None
    """Bytes of the checkpoint, when known."""
    times: TimeBudget
    """Start-up, rollout and drain."""
    start: PlannedStart
    """The start, step by step."""
    surge: int
    """maxSurge."""
    unavailable: int
    """maxUnavailable."""
    recreate: bool
    """Strategy Recreate."""
    domain: str
    """Label of the domain that each replica is put into, alone; empty for none."""
    config: ServerConfig
    """What the person wrote, for what manifests copy as it is."""
    why: dict[str, Reason] = Field(default_factory=dict)
    """Decision to reason."""

    @property
    def nodes(self) -> int:
        """Pods of one replica."""
        return sum(each.count for each in self.pods)

    @property
    def workload(self) -> tuple[str, str]:
        """apiVersion and kind of the object that makes its pods."""
        if self.ray:
            return ("ray.io/v1", "RayService")
        return ("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet") if self.nodes > 1 else ("apps/v1", "Deployment")


class Offer(Planned):
    """A change of the config with which a refusal goes away; the changed config has been planned and judged."""

    code: str
    """Code of the finding that goes."""
    server: str
    """Server that is changed."""
    fixes: tuple[Fix, ...]
    """The changes: fields of the config and their values; None removes a field."""
    loss: str
    """What is given up."""


class ClusterPlan(Planned):
    """Everything that follows from one stack's config."""

    plan_version: int = PLAN_VERSION
    """Version of this schema."""
    stack: str
    """Name of the stack."""
    scope: str
    """platform, serving or all."""
    namespace: str
    """Namespace of the servers."""
    production: bool
    """Whether volumes are protected."""
    pools: tuple[PlannedPool, ...]
    """Pools in the order of the config."""
    servers: tuple[PlannedServer, ...]
    """Servers in the order of the config."""
    ray_services: tuple[PlannedRayService, ...] = ()
    """RayServices in the order in which servers name them."""
    priority_classes: dict[str, str] = Field(default_factory=dict)
    """Name in the cluster of each priority class of this stack, by its name in the config."""
    findings: tuple[Finding, ...] = ()
    """Everything the rules said, waived ones marked."""
    offers: tuple[Offer, ...] = ()
    """What would do instead of what is refused, the smallest loss first; filled in where a person asks for it."""
    waived: dict[str, str] = Field(default_factory=dict)
    """Waivers of the config by object (``Deployment/chat``), as the annotation that the object carries."""

    @property
    def refused(self) -> tuple[Finding, ...]:
        """Findings that stop a deployment."""
        return blocking(self.findings)

    def ray_service(self, name: str) -> PlannedRayService:
        """The RayService of that name. Raises StopIteration when there is none."""
        return next(each for each in self.ray_services if each.name == name)

    def pool(self, name: str) -> PlannedPool:
        """The pool of that name. Raises StopIteration when there is none (load() has checked it)."""
        return next(pool for pool in self.pools if pool.name == name)
