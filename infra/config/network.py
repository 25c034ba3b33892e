"""Who may talk to the engines, and whom they may talk to, by NetworkPolicy."""

import ipaddress
from typing import Annotated, Self

from pydantic import AfterValidator, Field, model_validator

from interlock.infra.config.base import Config, LabelKey, LabelValue, Name


def _network(value: str) -> str:
    try:
        ipaddress.ip_network(value)
    except ValueError as error:
        raise ValueError(f"{error}: write a network such as 10.0.0.0/8") from None
    return value


Network = Annotated[str, AfterValidator(_network)]
"""A network of addresses, such as ``10.0.0.0/8``."""


class PeerConfig(Config):
    """Pods by their namespace and labels, or addresses outside the cluster."""

    namespace: Name | None = None
    """Namespace of the pods; omit for the stack's own."""
    pods: dict[LabelKey, LabelValue] = Field(default_factory=dict)
    """Labels of the pods; omit for all pods of the namespace."""
    cidr: Network | None = None
    """Addresses outside the cluster, such as the network of a cloud's load balancers."""

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if bool(self.cidr) == bool(self.namespace or self.pods):
            raise ValueError("name pods (namespace, pods) or addresses (cidr), one of both")
        return self


class NetworkConfig(Config):
    """A NetworkPolicy for each server and each store that Jobs fill: whoever is not planned here reaches no engine."""

    policies: bool = True
    """Make the policies; false = whoever reaches a pod's address may ask it. The cluster's network plugin must enforce them."""
    gateways: tuple[PeerConfig, ...] = ()
    """Where requests through a route come from; omit for the namespace of the Gateway, or that of the Ingress class's controller."""
    clients: tuple[PeerConfig, ...] | None = None
    """Who asks engines inside the cluster; omit for all pods of the stack's namespace."""
    monitoring: tuple[PeerConfig, ...] = ()
    """Who reads /metrics; omit for the namespace in ``monitoring.prometheus.url``, else ``monitoring``."""
    egress: tuple[PeerConfig, ...] = ()
    """Whom engines and Jobs may call beyond what the plan knows: DNS, the other pods of a replica or pair, the hub where a pod loads from
    it, and the ports of the URLs in their arguments and environment."""
