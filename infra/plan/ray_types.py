"""What follows for servers that Ray Serve runs, and for the RayServices that hold them."""

from pydantic import Field

from interlock.infra.config.ray import RayServiceConfig, RayUpgrade
from interlock.infra.plan.base import Planned
from interlock.infra.plan.peers import PlannedFlows
from interlock.infra.plan.reasons import Reason


class PlannedRay(Planned):
    """Placement and Serve's limits of one server."""

    service: str
    """RayService that runs it."""
    marker: str
    """Ray resource that only the pods of its group have, one for each GPU; every bundle asks for one."""
    world: int
    """Bundles of one placement group: TP x PP, each with one GPU."""
    ranks: int
    """Placement groups of one replica: DP."""
    per_host: int
    """GPUs of one pod."""
    hosts: int
    """Pods of one replica."""
    strategy: str
    """STRICT_PACK where a placement group lies in one pod, else PACK over whole pods."""
    ongoing: int
    """max_ongoing_requests: requests in one engine, running and waiting."""
    target: int
    """target_ongoing_requests: requests in one engine above which a replica is added."""
    queued: int
    """max_queued_requests: requests that wait in front of the engines; further ones get HTTP 503."""
    upscale: int
    """upscale_delay_s."""
    downscale: int
    """downscale_delay_s; 0 without autoscaling."""
    health_period: int
    """health_check_period_s."""
    health_timeout: int
    """health_check_timeout_s."""

    @property
    def bundles(self) -> int:
        """Bundles of one replica: TP x PP x DP."""
        return self.world * self.ranks


class PlannedRayService(Planned):
    """One RayService with its decisions."""

    name: str
    """Name of the RayService and of the Service that takes requests."""
    owner: str
    """Part of the config that it follows from: ``ray_services[0]``, or the first server where none is stated."""
    servers: tuple[str, ...]
    """Servers that it runs."""
    ray: str
    """Ray version of its image."""
    image: str
    """Image of head, ingress and workers: Ray refuses processes of another version."""
    token_secret: str
    """Secret whose key ``auth_token`` opens the cluster."""
    own_token: bool
    """Whether the stack draws the token."""
    upgrade: RayUpgrade
    """surge (a second cluster first) or recreate (with a gap)."""
    deletion_delay: int
    """Seconds that the old cluster stays after a change: rayClusterDeletionDelaySeconds."""
    longest_answer: int
    """Longest answer of its servers in seconds."""
    drain: int
    """Longest drain of its servers in seconds."""
    deregistration: int
    """Seconds until nothing is sent to a pod that ends."""
    grace: int
    """terminationGracePeriodSeconds of the pods that take requests."""
    operator: str
    """Namespace of the KubeRay operator, which alone may reach the dashboard."""
    flows: PlannedFlows | None
    """Traffic of its pods; None = none is denied but that to the dashboard."""
    config: RayServiceConfig
    """What the person wrote."""
    why: dict[str, Reason] = Field(default_factory=dict)
    """Decision to reason."""

    def field(self, name: str) -> str:
        """Where a value of the RayService is written, or the choice of Ray where its default holds."""
        return f"{self.owner}.{name}" if self.owner.startswith("ray_services[") else f"{self.owner}.serve"
