"""Facts of nodes: how a device plugin shares their cards."""

from dataclasses import dataclass

from interlock.infra.facts.fact import Fact
from interlock.infra.facts.origin import Origin


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
    config: str = ""
    """Name of the configuration in its ConfigMap, which a node picks by the label ``nvidia.com/device-plugin.config``."""
    renamed: str = ""
    """The resource's name on such nodes, where sharing renames it."""
