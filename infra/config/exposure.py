"""How a server is reached from outside the cluster."""

from enum import StrEnum
from typing import Self

from pydantic import Field, model_validator

from interlock.infra.config.base import Config, HostName, Name, ObjectName, PathPrefix


class RouteKind(StrEnum):
    """The kind of route."""

    HTTPROUTE = "httproute"
    INGRESS = "ingress"
    LOAD_BALANCER = "load-balancer"


class RouteConfig(Config):
    """A route to one server: Gateway API HTTPRoute by default, Ingress and a plain load balancer supported."""

    kind: RouteKind = RouteKind.HTTPROUTE
    """httproute, ingress or load-balancer (the Service itself gets an address; every path of the engine is then exposed)."""
    host: HostName
    """Host name that clients use."""
    gateway: ObjectName = "inference"
    """Gateway that an HTTPRoute attaches to."""
    gateway_namespace: Name | None = None
    """Its namespace; omit for the stack's own."""
    ingress_class: ObjectName = "nginx"
    """Class of an Ingress."""
    timeout_seconds: int = Field(default=600, ge=0)
    """Seconds until the gateway cuts an answer; 0 = never."""
    tls_secret: ObjectName | None = None
    """Name of an existing TLS Secret; omit for plain HTTP at this hop."""
    paths: tuple[PathPrefix, ...] = Field(default=("/v1",), min_length=1)
    """Path prefixes that are exposed."""

    @property
    def entry(self) -> tuple[str, ...]:
        """Where requests come in: routes of one host contradict each other only there."""
        if self.kind is RouteKind.HTTPROUTE:
            return (self.kind, self.gateway, self.gateway_namespace or "")
        return (self.kind, self.ingress_class if self.kind is RouteKind.INGRESS else "")

    @model_validator(mode="after")
    def _fits_its_kind(self) -> Self:
        if self.kind is RouteKind.LOAD_BALANCER and (self.tls_secret or self.paths != ("/v1",)):
            raise ValueError("a load balancer passes connections through: it knows no paths and ends no TLS; use httproute or ingress")
        return self
