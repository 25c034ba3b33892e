"""How a server is reached from outside the cluster."""

from enum import StrEnum
from typing import Annotated, Self

from pydantic import Field, model_validator

from interlock.infra.catalog.controllers import dialect
from interlock.infra.catalog.routes import controller_name
from interlock.infra.config.base import Bytes, Config, HostName, LabelKey, Name, ObjectName, PathPrefix


class RouteKind(StrEnum):
    """The kind of route."""

    HTTPROUTE = "httproute"
    INGRESS = "ingress"
    LOAD_BALANCER = "load-balancer"


WHOLE = 100
Share = Annotated[int, Field(ge=0, le=WHOLE)]
"""Percent."""


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
    listener: ObjectName | None = None
    """Listener of that Gateway (``sectionName``); omit for ``https`` with a tls_secret, else for every listener."""
    ingress_class: ObjectName = "nginx"
    """Class of an Ingress."""
    timeout_seconds: int = Field(default=600, ge=0)
    """Seconds until the gateway cuts an answer; 0 = never."""
    tls_secret: ObjectName | None = None
    """Name of an existing TLS Secret, of an Ingress or of the Gateway's listener; omit for plain HTTP at this hop."""
    max_body: Bytes = "64Mi"
    """Largest request that an Ingress of class nginx lets through; its own default is 1Mi, less than an image or a long prompt."""
    prefix: PathPrefix | None = None
    """Path in front of ``paths``, such as ``/chat``, which the server does not see: so several models share one host."""
    annotations: dict[LabelKey, str] = Field(default_factory=dict)
    """Annotations of the HTTPRoute, the Ingress or the load balancer's Service, as their controller reads them; they win over ours."""
    paths: tuple[PathPrefix, ...] = Field(default=("/v1",), min_length=1)
    """Path prefixes that are exposed."""
    split: dict[str, Share] = Field(default_factory=dict)
    """Percent of the requests that go to other servers of this stack, by name: a canary at 10, then 50, then 100, or the second colour.
    The rest goes to this server; only for kind httproute."""

    @property
    def section(self) -> str:
        """Listener that an HTTPRoute attaches to; empty for all: a plain one beside the listener with TLS would serve the same paths."""
        return self.listener or ("https" if self.tls_secret else "")

    @property
    def shown(self) -> tuple[str, ...]:
        """Path prefixes that clients use."""
        return tuple(f"{self.prefix or ''}{path}" for path in self.paths)

    @property
    def entry(self) -> tuple[str, ...]:
        """Where requests come in: routes of one host contradict each other only there."""
        if self.kind is RouteKind.HTTPROUTE:
            return (self.kind, self.gateway, self.gateway_namespace or "", self.section)
        return (self.kind, self.ingress_class if self.kind is RouteKind.INGRESS else "")

    @model_validator(mode="after")
    def _fits_its_controller(self) -> Self:
        if self.prefix and self.prefix.endswith("/"):
            raise ValueError(f"prefix {self.prefix!r} ends with /: write {self.prefix.rstrip('/') or '/chat'}")
        if self.kind is RouteKind.LOAD_BALANCER and self.prefix:
            raise ValueError("a load balancer passes connections through and cuts off no prefix: use httproute or ingress")
        if self.kind is not RouteKind.INGRESS:
            return self
        told, owner = dialect(self.ingress_class), controller_name(self.ingress_class)
        if self.prefix and not told.rewrite:
            raise ValueError(
                f"prefix: {owner} (class {self.ingress_class}) has no annotation that cuts it off; use httproute, or a host of its own"
            )
        if told.most_seconds and self.timeout_seconds > told.most_seconds:
            raise ValueError(f"timeout_seconds {self.timeout_seconds} is more than the {told.most_seconds} s that {owner} takes")
        return self

    @model_validator(mode="after")
    def _fits_its_kind(self) -> Self:
        if self.split and self.kind is not RouteKind.HTTPROUTE:
            raise ValueError(f"split: kind {self.kind} leads to one Service; use httproute")
        if sum(self.split.values()) > WHOLE:
            told = " + ".join(map(str, self.split.values()))
            raise ValueError(f"split: {told} = {sum(self.split.values())} percent is more than {WHOLE}")
        if self.listener and self.kind is not RouteKind.HTTPROUTE:
            raise ValueError(f"listener is a part of a Gateway, and kind {self.kind} attaches to none: remove it")
        if self.kind is RouteKind.LOAD_BALANCER and (self.tls_secret or self.paths != ("/v1",)):
            raise ValueError("a load balancer passes connections through: it knows no paths and ends no TLS; use httproute or ingress")
        return self
