"""Autoscaling on queue depth, and how replicas are replaced."""

from enum import StrEnum
from typing import Self

from pydantic import Field, model_validator

from interlock.infra.config.base import Config


class ScalerKind(StrEnum):
    """The kind of autoscaler."""

    KEDA = "keda"
    HPA = "hpa"


class AutoscaleConfig(Config):
    """Replicas by queue depth: KEDA ScaledObject by default, HorizontalPodAutoscaler with an adapter supported."""

    kind: ScalerKind = ScalerKind.KEDA
    """keda or hpa."""
    min_replicas: int = Field(default=1, ge=1, le=1000)
    """Minimum number of replicas."""
    max_replicas: int = Field(ge=1, le=1000)
    """Maximum number of replicas; the pool must hold them."""
    waiting_per_replica: int = Field(default=8, ge=1)
    """Waiting requests per replica above which replicas are added."""
    metric: str = "vllm_num_requests_waiting"
    """For hpa: the Pods metric as the adapter names it."""
    prometheus: str = "http://prometheus.monitoring:9090"
    """For keda: address of Prometheus as seen from the cluster."""
    scale_down_seconds: int = Field(default=600, ge=0)
    """Quiet time before replicas are removed; at least the start-up time is sensible."""

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.min_replicas > self.max_replicas:
            raise ValueError(f"min_replicas {self.min_replicas} is above max_replicas {self.max_replicas}")
        return self


class RolloutStrategy(StrEnum):
    """How pods are replaced."""

    SURGE = "surge"
    IN_PLACE = "in-place"
    RECREATE = "recreate"


class RolloutConfig(Config):
    """How replicas are replaced on a change."""

    strategy: RolloutStrategy | None = None
    """surge (one more pod first), in-place (one pod less first), recreate; omit to surge where a spare replica fits the pool."""
    drain_seconds: int | None = Field(default=None, ge=0)
    """Longest time a pod gets to finish its requests; omit for the longest answer plus a margin."""
