"""Who scrapes a server, and by which labels its series are found."""

from interlock.infra.config.cluster import ClusterConfig
from interlock.infra.config.monitoring import ScrapeKind
from interlock.infra.config.ray import Serve
from interlock.infra.config.servers import ServerConfig
from interlock.infra.naming import label
from interlock.infra.plan.base import Planned
from interlock.infra.plan.reasons import SET, Reason

TARGET_LABEL = label("server").replace(".", "_").replace("/", "_")
"""The pods' label of their server as Prometheus writes label names; monitors and the usual scrape of annotated pods both copy it so."""


class PlannedScrape(Planned):
    """How Prometheus learns of a server."""

    kind: ScrapeKind
    """none = somebody else's configuration."""
    interval: int
    """Seconds between two scrapes."""
    labels: dict[str, str]
    """Labels of the monitor."""
    matchers: dict[str, str]
    """Labels of the server's series, and of no others."""

    @property
    def monitor(self) -> bool:
        """Whether prometheus-operator is asked."""
        return self.kind in (ScrapeKind.POD_MONITOR, ScrapeKind.SERVICE_MONITOR)

    def selected(self, name: str, extra: str = "") -> str:
        """The server's series of a name: ``vllm:num_requests_waiting{namespace="team-a",...}``."""
        stated = ",".join(f'{key}="{value}"' for key, value in self.matchers.items())
        return f"{name}{{{stated}{extra}}}"


def decide_scrape(config: ClusterConfig, server: ServerConfig, served: str, why: dict[str, Reason]) -> PlannedScrape:
    """How the server is scraped; ``served``: the name that the engine writes into its series."""
    stated, under_ray = config.monitoring.scrape, server.serve is Serve.RAY
    scaled = any(each.autoscale and each.serve is not Serve.RAY for each in config.servers)
    kind = ScrapeKind.NONE if under_ray else stated or (ScrapeKind.POD_MONITOR if scaled else ScrapeKind.NONE)
    if kind is not ScrapeKind.NONE or (server.autoscale and not under_ray):
        told = SET if stated else "a server is autoscaled by what Prometheus knows: without a scrape it knows nothing"
        why["scrape"] = Reason(value=kind.value, reason=told)
    # Without an object of ours nobody copies the pods' label: the engine's own one is there in any case.
    own = {"model_name": served} if kind is ScrapeKind.NONE else {TARGET_LABEL: server.name}
    return PlannedScrape(
        kind=kind,
        interval=config.monitoring.interval_seconds,
        labels=config.monitoring.labels,
        matchers={"namespace": config.namespace, **own},
    )
