"""Facts of the Ray layer: cluster settings and the Serve deployments that carry engines."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from interlock.infra.facts.fact import Fact
from interlock.infra.values import Version


@dataclass(frozen=True, slots=True)
class ServeDeployment:
    """One Serve deployment or LLM config of a Serve application."""

    name: str
    path: str = ""
    llm: bool = False
    """Built by ``ray.serve.llm`` (``build_openai_app``, ``LLMConfig``), which makes its own placement group."""
    num_gpus: Fact[float] = Fact()
    """``ray_actor_options.num_gpus`` or ``resources_per_bundle.GPU`` of an engine replica."""
    bundles: tuple[Mapping[str, float], ...] = ()
    """``placement_group_bundles`` as written."""
    per_worker: Mapping[str, float] = field(default_factory=dict)
    """``placement_group_config.bundle_per_worker``: the bundle of each of TP x PP workers."""
    strategy: Fact[str] = Fact()
    """``placement_group_strategy``: PACK, STRICT_PACK, SPREAD, STRICT_SPREAD."""
    replicas: Fact[int] = Fact()
    target_ongoing_requests: Fact[float] = Fact()
    max_ongoing_requests: Fact[float] = Fact()
    autoscaling: bool = False
    graceful_shutdown_timeout: Fact[float] = Fact()
    """Seconds; absent means 20."""
    runtime_env: Mapping[str, Fact[str]] = field(default_factory=dict)
    """``runtime_env.env_vars``."""
    configs: int = 0
    """LLM configs of its application."""
    ingress_options: str = ""
    """Path of ``ingress_deployment_config`` or ``ingress_cls_config``, options of the application's own ingress, where they are given."""
    adapters: bool = False
    """It has a ``lora_config``."""
    router: Fact[str] = Fact()
    """``request_router_config.request_router_class``."""
    router_options: Mapping[str, Fact[str]] = field(default_factory=dict)
    """``request_router_kwargs``."""
    most_replicas: Fact[int] = Fact()
    """``autoscaling_config.max_replicas``."""
    builder: str = ""
    """What builds the application (``import_path`` after the colon): ``build_openai_app``, ``build_dp_openai_app``, ..."""


@dataclass(frozen=True, slots=True)
class RayFacts:
    """A RayCluster, RayService or RayJob, or a plain Ray cluster inside other pods."""

    kind: str = "RayCluster"
    version: Fact[str] = Fact()
    """The version in the tag of the head's image, else ``rayVersion``."""
    worker_versions: tuple[Fact[str], ...] = ()
    """Ray versions of the worker images where their tags say one."""
    python: Fact[str] = Fact()
    worker_python: tuple[Fact[str], ...] = ()
    gcs_fault_tolerance: Fact[bool] = Fact()
    auth: Fact[bool] = Fact()
    """Token authentication is on."""
    start_params: Mapping[str, Mapping[str, Fact[str]]] = field(default_factory=dict)
    """``rayStartParams`` by group name (``head`` for the head)."""
    deployments: tuple[ServeDeployment, ...] = ()
    upgrade: Fact[str] = Fact()
    """``upgradeStrategy.type``: NewCluster (the default), NewClusterWithIncrementalUpgrade or None."""
    upgrade_gateway: Fact[str] = Fact()
    """Controller of the gateway class through which an incremental upgrade shifts its requests."""
    driver_on_head: Fact[bool] = Fact()
    """The engine's driver process runs on the head."""
    stated_version: Fact[str] = Fact()
    """``rayVersion`` where the image's tag says a version too."""

    @property
    def release(self) -> Version | None:
        """The release of Ray that runs; None when it is not known."""
        return Version.released(str(self.version.value)) if self.version.known else None
