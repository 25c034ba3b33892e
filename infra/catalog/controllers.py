"""Ingress controllers: whose a class is, and by which annotations each is told what a stream of tokens needs."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from interlock.infra.catalog.routes import controller_name
from interlock.infra.catalog.tables import table


@dataclass(frozen=True, slots=True)
class Dialect:
    """The annotations of one controller; values are forms with {seconds}, {mib}, {prefix} and {path}."""

    timeout: Mapping[str, str] = field(default_factory=dict)
    """What stands beside the timeout of an answer (``catalog/routes.py``)."""
    stream: Mapping[str, str] = field(default_factory=dict)
    """No buffering, no second attempt at an answer that has begun, pods asked directly."""
    body: Mapping[str, str] = field(default_factory=dict)
    """Largest request."""
    rewrite: Mapping[str, str] = field(default_factory=dict)
    """Cuts off what stands in front of the server's own paths; empty where no annotation does."""
    path: str = ""
    """A path of a route that is rewritten."""
    most_seconds: int | None = None
    """Longest timeout that it takes."""


def dialect(ingress_class: str) -> Dialect:
    """How the controller of a class is told; an empty one where none is known."""
    return Dialect(**table("routes.json")["ingress"].get(controller_name(ingress_class), {}))
