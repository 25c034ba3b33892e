"""Facts of what a namespace asks of each of its containers and pods."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from interlock.infra.facts.fact import Fact
from interlock.infra.facts.origin import Origin


@dataclass(frozen=True, slots=True)
class LimitRange:
    """One item of a LimitRange."""

    origin: Origin
    of: str
    """``Container`` or ``Pod``."""
    most: Mapping[str, Fact[str]] = field(default_factory=dict)
    """``max``: the largest limit (and request), by resource."""
    least: Mapping[str, Fact[str]] = field(default_factory=dict)
    """``min``: the smallest request, by resource."""
