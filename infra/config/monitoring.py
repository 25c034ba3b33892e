"""Who reads the engines' metrics, and how Prometheus is asked for them."""

from enum import StrEnum
from typing import Annotated, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, model_validator

from interlock.infra.config.base import Config, LabelKey, LabelValue, ObjectName, Plain


def _address(value: str) -> str:
    try:
        read = urlsplit(value)
        whole = read.scheme in ("http", "https") and read.hostname and (read.port is None or read.port > 0)
    except ValueError:
        whole = False
    if not whole or value.endswith("/") or " " in value:
        raise ValueError(f"{value!r} is not an address such as http://prometheus.monitoring:9090 (scheme, host, port, no / at the end)")
    return value


Address = Annotated[str, AfterValidator(_address)]
"""An address such as ``http://prometheus.monitoring:9090``."""


class ScrapeKind(StrEnum):
    """How Prometheus learns of the engines."""

    POD_MONITOR = "pod-monitor"
    SERVICE_MONITOR = "service-monitor"
    ANNOTATIONS = "annotations"
    NONE = "none"


class PrometheusAuth(StrEnum):
    """How Prometheus knows who asks; the Secret has the keys in brackets."""

    BEARER = "bearer"
    """A token (``token``)."""
    BASIC = "basic"
    """User and password (``username``, ``password``)."""
    TLS = "tls"
    """A client's certificate (``tls.crt``, ``tls.key``)."""


class PrometheusConfig(Config):
    """The Prometheus (or what answers as one) that autoscalers ask."""

    url: Address = "http://prometheus.monitoring:9090"
    """Its address as seen from the cluster."""
    auth: PrometheusAuth | None = None
    """bearer, basic or tls; omit where it asks for nothing."""
    secret: ObjectName | None = None
    """Existing Secret in the stack's namespace with the keys of auth: token; username and password; or tls.crt and tls.key."""
    ca_secret: ObjectName | None = None
    """Existing Secret whose key ``ca.crt`` is the authority of its certificate; omit for one that the system trusts."""
    headers: dict[Plain, Plain] = Field(default_factory=dict)
    """Headers of each query, such as ``X-Scope-OrgID`` of Mimir, Thanos or Loki."""

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if (self.auth is None) != (self.secret is None):
            have, lack = ("secret", "auth") if self.secret else ("auth", "secret")
            raise ValueError(f"{have} is stated without {lack}: the scaler needs both, or none of them")
        if self.ca_secret and self.auth is None:
            raise ValueError("ca_secret without auth is not read: KEDA takes an authority only beside a way to authenticate; state auth")
        if self.ca_secret and self.url.startswith("http://"):
            raise ValueError(f"ca_secret is of no use for {self.url}: write https://, or remove it")
        odd = [each for each in (*self.headers, *self.headers.values()) if "," in each or "=" in each]
        if odd:
            raise ValueError(f"headers: {odd[0]!r} holds ',' or '=', between which KEDA splits headers")
        return self


class MonitoringConfig(Config):
    """Who reads the engines' metrics. They are answered without a key, on the port of the requests; routes do not show them."""

    scrape: ScrapeKind | None = None
    """pod-monitor or service-monitor (objects of prometheus-operator), annotations (``prometheus.io/*`` on the pods), or none (somebody
    else's configuration scrapes them); omit for pod-monitor where a server is autoscaled, else none."""
    labels: dict[LabelKey, LabelValue] = Field(default_factory=dict)
    """Labels by which your Prometheus selects monitors, such as ``release: kube-prometheus-stack``."""
    interval_seconds: int = Field(default=15, ge=1, le=3600)
    """Seconds between two scrapes."""
    prometheus: PrometheusConfig = PrometheusConfig()
    """The Prometheus that autoscalers ask."""

    @model_validator(mode="after")
    def _selected(self) -> Self:
        if self.labels and self.scrape in (ScrapeKind.ANNOTATIONS, ScrapeKind.NONE):
            raise ValueError(f"labels are those of a monitor, and scrape: {self.scrape} makes none: remove them")
        return self
