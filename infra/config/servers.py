"""Servers: one model behind one URL."""

from enum import StrEnum
from typing import Any, Self

from pydantic import Field, model_validator

from interlock.infra.config.access import ServerAccess
from interlock.infra.config.adapters import AdaptersConfig
from interlock.infra.config.base import Bytes, Config, Name, ObjectName, Plain, Quantity
from interlock.infra.config.exposure import RouteConfig
from interlock.infra.config.models import ImageConfig, ImageTrack, ModelConfig
from interlock.infra.config.ray import Serve
from interlock.infra.config.runtime import RuntimeConfig
from interlock.infra.config.scaling import AutoscaleConfig, RolloutConfig
from interlock.infra.config.transfer import TransferConfig
from interlock.infra.config.wishes import WishesConfig
from interlock.infra.engine.args import EngineArgs

LONGEST_SECONDS = 7 * 24 * 3600
"""A week: no start and no answer takes longer, and probes count in 32 bits."""


class ExtraConfig(Config):
    """Escape hatches. Rules run after them."""

    args: tuple[str, ...] = ()
    """Arguments added at the end of the engine's command line."""
    env: dict[str, str] = Field(default_factory=dict)
    """Environment added to the engine's container."""
    tolerations: tuple[dict[str, Any], ...] = ()
    """Tolerations added to the pod, as Kubernetes writes them."""
    annotations: dict[str, str] = Field(default_factory=dict)
    """Annotations added to the pod."""
    pod_patch: dict[str, Any] = Field(default_factory=dict)
    """Strategic merge into the pod template's ``spec``: mappings merge, lists with names merge by name, other lists are replaced."""


class Balance(StrEnum):
    """Who takes the requests of a replica that lies on several nodes."""

    LEADER = "leader"
    NODES = "nodes"


class ServerConfig(Config):
    """One model behind one URL, in one or more replicas."""

    name: Name
    """Name of the server: its Service, Deployment and URL."""
    model: ModelConfig
    """The model."""
    served_name: Plain | None = None
    """Name that clients send as ``model``; omit for the model's id."""
    pool: str
    """Pool whose nodes it runs on."""
    serve: Serve = Serve.DEPLOYMENT
    """deployment (pods of its own) or ray (a group of workers in a RayService, started by Ray Serve)."""
    ray_service: str | None = None
    """RayService that runs it (``ray_services[].name``); omit for the one of the server's own name, with defaults where none is stated."""
    replicas: int = Field(default=1, ge=0, le=1000)
    """Replicas; with autoscaling only the start value of the plan."""
    gpus: int | None = Field(default=None, ge=1, le=1024)
    """GPUs of one replica (shares, on a shared pool); omit for TP x PP x DP."""
    nodes: int | None = Field(default=None, ge=1, le=64)
    """Nodes that one replica lies on, its GPUs spread evenly; omit for as few as hold them. More than one makes a LeaderWorkerSet."""
    balance: Balance = Balance.LEADER
    """Who takes the requests of a replica on several nodes: leader (one API server in front of all ranks), or nodes (each node for its own
    data-parallel ranks, behind the same Service)."""
    wishes: WishesConfig = WishesConfig()
    """What is known about the use of the model; the engine's arguments are derived from it."""
    engine: EngineArgs = EngineArgs()
    """Engine flags by vLLM's own names; what stands here is kept as it is."""
    adapters: AdaptersConfig | None = None
    """LoRA adapters that it serves beside its model."""
    transfer: TransferConfig | None = None
    """One side of a prefill/decode pair: servers of one model with the two roles; omit for a server that does both."""
    image: ImageConfig = ImageConfig()
    """The engine's image."""
    weights: str | None = None
    """Model store (``stores[].name``) that holds the weights; omit and each pod loads from the hub into its own volume."""
    compile_cache: str | None = None
    """Store that keeps compiled kernels and graphs between starts; omit and each pod recompiles."""
    hub_token_secret: ObjectName | None = None
    """Existing Secret whose key ``token`` is the hub token."""
    cpu: Quantity | None = None
    """CPU request of the engine; omit for 2 + 2 per GPU, at most what a node can give each pod."""
    memory: Bytes | None = None
    """Memory request and limit of the engine; omit to let the planner decide from the weights."""
    shm: Bytes | None = None
    """Size of /dev/shm; omit for 1Gi, 8Gi with several GPUs."""
    startup_seconds: int | None = Field(default=None, ge=1, le=LONGEST_SECONDS)
    """Startup probe budget; omit to let the planner decide: the high end of the predicted start, rounded up to 300, 450, 600, 900,
    1200, 1800, 2700, 3600 s or a multiple of 1800 s, so that a new prediction restarts nothing."""
    longest_answer_seconds: int = Field(default=600, ge=1, le=LONGEST_SECONDS)
    """Longest answer that a client may wait for; timeouts and drain follow from it."""
    rollout: RolloutConfig = RolloutConfig()
    """How replicas are replaced."""
    runtime: RuntimeConfig = RuntimeConfig()
    """What runs beside the engine in its pods."""
    autoscale: AutoscaleConfig | None = None
    """Autoscaling; omit for a fixed number of replicas."""
    route: RouteConfig | None = None
    """Route from outside; omit to serve inside the cluster only."""
    access: ServerAccess = ServerAccess()
    """Who may ask it, and for what."""
    service_account: ObjectName | None = None
    """Service account of the pods: one of ``service_accounts``, or one that is there; omit for the namespace's default."""
    priority_class: ObjectName | None = None
    """PriorityClass of the pods."""
    extra: ExtraConfig = ExtraConfig()
    """Escape hatches, judged by the same rules."""

    @property
    def track(self) -> ImageTrack:
        """The proven set of versions of its image."""
        return self.image.track or (ImageTrack.RAY if self.serve is Serve.RAY else ImageTrack.DEPLOYMENT)

    @property
    def service(self) -> str:
        """Name of its RayService, where it is served by one."""
        return self.ray_service or self.name

    @model_validator(mode="after")
    def _between_its_bounds(self) -> Self:
        scale = self.autoscale
        stated = self.replicas != type(self).model_fields["replicas"].default
        if scale and stated and not scale.min_replicas <= self.replicas <= scale.max_replicas:
            bounds = f"autoscale.min_replicas {scale.min_replicas} and max_replicas {scale.max_replicas}"
            raise ValueError(f"replicas {self.replicas} is not between {bounds}: the autoscaler would change it at once; remove it")
        return self
