"""Facts of what chooses an engine for each request by the engines' own metrics."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from interlock.infra.facts.fact import Fact
from interlock.infra.facts.origin import Origin


@dataclass(frozen=True, slots=True)
class EndpointPool:
    """An InferencePool: the engines that a picker chooses from."""

    origin: Origin
    selector: Mapping[str, str] = field(default_factory=dict)
    ports: tuple[Fact[int], ...] = ()
    """``targetPorts``: where each pod takes requests, and where its metrics are read."""
    failure_mode: Fact[str] = Fact()
    """FailClose or FailOpen; absent means FailClose."""


@dataclass(frozen=True, slots=True)
class RouterProgram:
    """A program of llm-d's router in a pod: an endpoint picker, or the sidecar that routes between prefill and decode."""

    origin: Origin
    program: str
    """As catalog/pickers.json names it: ``picker``, ``older picker``, ``sidecar``."""
    path: str = ""
    """Its container."""
    version: Fact[str] = Fact()
    """From the tag of its image."""
    flags: tuple[tuple[str, Fact[str]], ...] = ()
    """Name without dashes and value, in order."""
    complete: bool = True
    """False when part of its command line cannot be read."""
    gates: tuple[Fact[str], ...] = ()
    """Feature gates of its configuration."""
    plugins: tuple[Fact[str], ...] = ()
    """Types of the plugins that its configuration names."""
    keys: tuple[tuple[str, str, str], ...] = ()
    """Keys of its configuration: place in the table's words (``flowControl.priorityBands[]``), key, and path."""

    def flag(self, name: str) -> Fact[str] | None:
        """The value of the last ``--name``; None where it is not given."""
        return next((value for given, value in reversed(self.flags) if given == name), None)


@dataclass(frozen=True, slots=True)
class Objective:
    """An InferenceObjective or InferenceModelRewrite: what a picker is told of requests."""

    origin: Origin
    group: Fact[str] = Fact()
    """API group that it is written in."""
    pool: Fact[str] = Fact()
    """InferencePool that it is for."""
