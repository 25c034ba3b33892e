"""Tenants: a namespace each, with what it may use."""

from enum import StrEnum

from pydantic import Field, field_validator

from interlock.infra.config.base import Config, Name, dns_name
from interlock.infra.values import quantity


class PodSecurity(StrEnum):
    """Pod Security levels."""

    RESTRICTED = "restricted"
    BASELINE = "baseline"
    PRIVILEGED = "privileged"


class TenantConfig(Config):
    """One tenant: its namespace, a ResourceQuota and a LimitRange."""

    name: Name
    """Name of the tenant and of its namespace."""
    gpus: dict[str, int] = Field(default_factory=dict)
    """Units of GPU by pool name (shares on a shared pool, instances on a MIG pool); a pool that is not named gives none."""
    cpu: str | None = None
    """Sum of CPU requests."""
    memory: str | None = None
    """Sum of memory requests and of memory limits."""
    storage: str | None = None
    """Sum of storage requests of its claims."""
    pods: int | None = Field(default=None, ge=1)
    """Most pods."""
    default_cpu: str = "500m"
    """CPU request of a container that states none."""
    default_memory: str = "1Gi"
    """Memory request and limit of a container that states none."""
    gpus_per_container: int | None = Field(default=None, ge=1)
    """Most units of each GPU resource in one container; None = 1 where the tenant uses shared cards only, else no limit."""
    pod_security: PodSecurity = PodSecurity.RESTRICTED
    """Pod Security level of the namespace."""

    @field_validator("name")
    @classmethod
    def _dns_label(cls, value: str) -> str:
        return dns_name(value)

    @field_validator("cpu", "memory", "storage", "default_cpu", "default_memory")
    @classmethod
    def _positive_quantity(cls, value: str | None) -> str | None:
        if value is not None and quantity(value) <= 0:
            raise ValueError(f"{value!r} is not above zero")
        return value

    @field_validator("gpus")
    @classmethod
    def _not_negative(cls, value: dict[str, int]) -> dict[str, int]:
        for pool, units in value.items():
            if units < 0:
                raise ValueError(f"{pool}: {units} units are below zero")
        return value
