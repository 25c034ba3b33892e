"""Tenants: a namespace each, with what it may use."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from interlock.infra.config.base import Bytes, Config, Name, Quantity


class PodSecurity(StrEnum):
    """Pod Security levels."""

    RESTRICTED = "restricted"
    BASELINE = "baseline"
    PRIVILEGED = "privileged"


class TenantConfig(Config):
    """One tenant: its namespace, a ResourceQuota and a LimitRange."""

    name: Name
    """Name of the tenant and of its namespace."""
    gpus: dict[str, Annotated[int, Field(ge=0)]] = Field(default_factory=dict)
    """Units of GPU by pool name (shares on a shared pool, instances on a MIG pool); a pool that is not named gives none."""
    cpu: Quantity | None = None
    """Sum of CPU requests."""
    memory: Bytes | None = None
    """Sum of memory requests and of memory limits."""
    storage: Bytes | None = None
    """Sum of storage requests of its claims."""
    pods: int | None = Field(default=None, ge=1)
    """Maximum number of pods."""
    default_cpu: Quantity = "500m"
    """CPU request of a container that states none."""
    default_memory: Bytes = "1Gi"
    """Memory request and limit of a container that states none."""
    gpus_per_container: int | None = Field(default=None, ge=1)
    """Maximum units of each GPU resource in one container; omit for 1 where the tenant uses shared cards only, else no limit."""
    pod_security: PodSecurity = PodSecurity.RESTRICTED
    """Pod Security level of the namespace."""
