"""Facts of what watches or shares: metric queries, scrapes, device plugin sharing, and problems of a document itself."""

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


@dataclass(frozen=True, slots=True)
class Scrape:
    """One endpoint of a ServiceMonitor, PodMonitor or scrape annotation."""

    origin: Origin
    kind: str = "service"
    """``service`` or ``pod``."""
    selector: tuple[tuple[str, str], ...] = ()
    port: Fact[str] = Fact()
    """Name or number of the port as text."""
    metrics_path: Fact[str] = Fact()
    path: str = ""


@dataclass(frozen=True, slots=True)
class SharingConfig:
    """A sharing section of a device plugin config: time-slicing or MPS."""

    origin: Origin
    strategy: str = "time-slicing"
    resource: Fact[str] = Fact()
    replicas: Fact[int] = Fact()
    ignored: tuple[str, ...] = ()
    """Fields that the plugin accepts and ignores (``rename``, ``devices``)."""
    path: str = ""


@dataclass(frozen=True, slots=True)
class DocumentProblem:
    """Something wrong with the document itself, found while it was read."""

    origin: Origin
    kind: str
    """Fault kind: ``yaml-invalid``, ``dup-key``, ``schema-typo``, ``schema-misplaced``, ``schema-broken``, ``template-leftover``,
    ``placeholder``, ``embedded-yaml-broken``, ``dead-value``."""
    text: str
    """What is wrong, as one sentence."""
    path: str = ""
    value: str = ""
    remedy: str = ""
