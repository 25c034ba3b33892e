"""How a server is reached from outside the cluster."""

from enum import StrEnum

from pydantic import Field

from interlock.infra.config.base import Config


class RouteKind(StrEnum):
    """The kind of route."""

    HTTPROUTE = "httproute"
    INGRESS = "ingress"


class RouteConfig(Config):
    """A route to one server: Gateway API HTTPRoute by default, Ingress supported."""

    kind: RouteKind = RouteKind.HTTPROUTE
    """httproute or ingress."""
    host: str = Field(min_length=1)
    """Host name that clients use."""
    gateway: str = "inference"
    """Gateway that an HTTPRoute attaches to."""
    gateway_namespace: str | None = None
    """Its namespace; None = the stack's own."""
    ingress_class: str = "nginx"
    """Class of an Ingress."""
    timeout_seconds: int = Field(default=600, ge=0)
    """Seconds until the gateway cuts an answer; 0 = never."""
    tls_secret: str | None = None
    """Name of an existing TLS Secret; None = plain HTTP at this hop."""
    paths: tuple[str, ...] = ("/v1",)
    """Path prefixes that are exposed."""
