"""Devices that a container gets by dynamic resource allocation."""

from dataclasses import dataclass

from interlock.infra.facts.fact import Fact
from interlock.infra.facts.origin import Origin


@dataclass(frozen=True, slots=True)
class Device:
    """Devices that a container gets by a resource claim (dynamic resource allocation)."""

    claim: str
    """Name of the claim in its pod."""
    request: str
    """Name of the request in the claim."""
    device_class: str
    """``gpu.nvidia.com``, ``mig.nvidia.com``, ..."""
    count: Fact[int] = Fact()
    profile: str = ""
    """MIG profile that the request selects."""
    of_all_pods: bool = False
    """The claim is one object that every pod shares, not made anew for each."""


@dataclass(frozen=True, slots=True)
class DeviceClass:
    """A DeviceClass that also answers requests for an extended resource."""

    origin: Origin
    resource: Fact[str] = Fact()
    """``extendedResourceName``."""


@dataclass(frozen=True, slots=True)
class DevicePlugin:
    """A device plugin, which advertises cards as an extended resource."""

    origin: Origin
    resource: str
    path: str = ""
