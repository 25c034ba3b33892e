"""The whole configuration of one stack: one cluster, its pools, stores and servers."""

import datetime as dt
from enum import StrEnum
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from interlock.infra.config.access import AccessConfig
from interlock.infra.config.base import Config, Name
from interlock.infra.config.conventions import Conventions
from interlock.infra.config.monitoring import MonitoringConfig
from interlock.infra.config.network import NetworkConfig
from interlock.infra.config.platform import PlatformConfig
from interlock.infra.config.pools import PoolConfig
from interlock.infra.config.ray import RayServiceConfig
from interlock.infra.config.servers import ServerConfig
from interlock.infra.config.stores import StoreConfig
from interlock.infra.config.tenants import TenantConfig


class Scope(StrEnum):
    """What a stack owns."""

    PLATFORM = "platform"
    SERVING = "serving"
    ALL = "all"


class TargetConfig(Config):
    """The Kubernetes cluster, named and never ambient."""

    local: str | None = None
    """Name of a local control plane of this project (``make up``)."""
    context: str | None = None
    """Context of the kubeconfig."""
    kubeconfig: str | None = None
    """Path of the kubeconfig file; omit to use your own. Its content may be given as the secret ``interlock:kubeconfig`` instead."""
    uid: str | None = None
    """UID of the cluster's kube-system namespace; omit to remember it at the first update."""

    @model_validator(mode="after")
    def _named(self) -> Self:
        if bool(self.local) == bool(self.context):
            raise ValueError("name exactly one of local (a control plane of this project) and context (of a kubeconfig)")
        return self


class ServiceAccountConfig(Config):
    """A service account that this stack makes, by which a cloud knows its pods."""

    name: Name
    """Name."""
    annotations: dict[str, str] = Field(default_factory=dict)
    """What the cloud reads, such as ``eks.amazonaws.com/role-arn`` or ``iam.gke.io/gcp-service-account``."""


class WaiverConfig(Config):
    """A finding accepted by a person."""

    code: str = Field(pattern=r"^[A-Z]+-[0-9]{3}$")
    """Code of the finding."""
    path: str = "*"
    """Field or object it covers; ``*`` matches any run of characters."""
    reason: str = Field(min_length=3)
    """Why it is accepted."""
    expires: dt.date | None = None
    """Last day it holds."""


class ClusterConfig(Config):
    """Everything a stack says, under the key ``interlock:cluster``."""

    version: Literal[1] = 1
    """Version of this schema."""
    scope: Scope = Scope.ALL
    """platform (cluster-wide parts), serving (one namespace only) or all."""
    target: TargetConfig
    """The Kubernetes cluster."""
    namespace: Name
    """Namespace of the servers."""
    create_namespace: bool = True
    """Make the namespace with the stack; false = it is there: made by an administrator (``interlock render --deployer``) or for a
    tenant by the platform stack."""
    production: bool = False
    """Protect volumes; refuse images that are named without a digest, and an empty passphrase for the state."""
    pools: tuple[PoolConfig, ...] = Field(min_length=1)
    """Node pools."""
    stores: tuple[StoreConfig, ...] = ()
    """Where weights are kept."""
    defaults: dict[str, Any] = Field(default_factory=dict)
    """Fields of a server that every server has unless it says otherwise: mappings are merged, all else is replaced. What a server has only
    where it states it (route, autoscale, transfer) gets its defaults there only."""
    servers: tuple[ServerConfig, ...] = ()
    """Servers."""
    service_accounts: tuple[ServiceAccountConfig, ...] = ()
    """Service accounts that this stack makes; pods and Jobs may name others."""
    ray_services: tuple[RayServiceConfig, ...] = ()
    """RayServices that several servers share, or that need more than the defaults."""
    access: AccessConfig = AccessConfig()
    """Tenants whose keys open the engines."""
    conventions: Conventions = Conventions()
    """What goes onto every object and into every pod."""
    network: NetworkConfig = NetworkConfig()
    """Who may talk to the engines."""
    monitoring: MonitoringConfig = MonitoringConfig()
    """Who reads the engines' metrics."""
    platform: PlatformConfig = PlatformConfig()
    """What exists once per cluster: GPU layer, priority classes."""
    tenants: tuple[TenantConfig, ...] = ()
    """Namespaces of tenants with their quotas."""
    waivers: tuple[WaiverConfig, ...] = ()
    """Findings accepted with a reason."""
    rules: dict[str, str | int | float | bool] = Field(default_factory=dict)
    """Rule settings by ``CODE.name``."""
