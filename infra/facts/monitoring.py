"""Facts of what watches: metric queries and scrapes."""

from dataclasses import dataclass

from interlock.infra.facts.fact import Fact
from interlock.infra.facts.origin import Origin


@dataclass(frozen=True, slots=True)
class Query:
    """A metric expression outside an autoscaler: alert, recording rule, dashboard panel, adapter rule."""

    origin: Origin
    text: Fact[str]
    path: str = ""
    """Where the expression stands."""
    use: str = ""
    """``alert``, ``record``, ``dashboard`` or ``adapter``."""
    exports: Fact[str] = Fact()
    """Name of the metric that an adapter rule exports to autoscalers."""


@dataclass(frozen=True, slots=True)
class Scrape:
    """One endpoint of a ServiceMonitor, PodMonitor or scrape annotation."""

    origin: Origin
    kind: str = "service"
    """``service`` or ``pod``."""
    selector: tuple[tuple[str, str], ...] = ()
    port: Fact[str] = Fact()
    """Name or number of the port as text."""
    named: bool = False
    """The port is stated where only a name may stand."""
    metrics_path: Fact[str] = Fact()
    path: str = ""
