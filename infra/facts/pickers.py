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
