"""What may pass between pods: plain data that a NetworkPolicy is made from."""

from pydantic import Field

from interlock.infra.plan.base import Planned


class Peer(Planned):
    """Pods, or addresses. Without any field: everybody."""

    namespace: str = ""
    """Their namespace; empty = the stack's own."""
    pods: dict[str, str] = Field(default_factory=dict)
    """Their labels; empty = all pods of the namespace."""
    cidr: str = ""
    """Addresses, in place of pods."""


class Port(Planned):
    """One port."""

    number: int
    """Its number."""
    protocol: str = "TCP"
    """TCP or UDP."""


class Flow(Planned):
    """Traffic that is planned."""

    peers: tuple[Peer, ...]
    """The other side; empty = everybody."""
    ports: tuple[Port, ...]
    """Ports that are asked for; empty = all."""
    source: str
    """The field that it follows from."""


class PlannedFlows(Planned):
    """All traffic of one kind of pods; everything else is denied."""

    into: tuple[Flow, ...] = ()
    """Who may ask them."""
    out: tuple[Flow, ...] = ()
    """Whom they may ask."""
