"""Autoscaling on queue depth, and how replicas are replaced."""

import re
from enum import StrEnum
from typing import Annotated, Self

from pydantic import AfterValidator, Field, model_validator

from interlock.infra.config.base import Config, Plain

# Five fields; KEDA takes no seconds (its cron parser: minute, hour, day, month, day of week).
_CRON = re.compile(r"([\d*/,?A-Za-z-]+ ){4}[\d*/,?A-Za-z-]+")


def _cron(value: str) -> str:
    if not _CRON.fullmatch(value):
        raise ValueError(f"{value!r} is not a time as cron writes it: minute, hour, day, month, day of the week, such as 0 8 * * 1-5")
    return value


CronText = Annotated[str, AfterValidator(_cron)]
"""When something happens, as cron writes it."""


class ScalerKind(StrEnum):
    """The kind of autoscaler."""

    KEDA = "keda"
    HPA = "hpa"


class ScheduleConfig(Config):
    """Hours in which more replicas run than the load asks for."""

    start: CronText
    """When it begins, as cron writes it: ``0 8 * * 1-5``."""
    end: CronText
    """When it ends."""
    timezone: Plain = "Etc/UTC"
    """Time zone of both, such as ``Europe/Berlin``."""
    replicas: int = Field(ge=1, le=1000)
    """Replicas that run at least."""

    @model_validator(mode="after")
    def _ends(self) -> Self:
        if self.start == self.end:
            raise ValueError(f"start and end are both {self.start!r}: it would end when it begins")
        return self


class WakeConfig(Config):
    """What wakes a server that has no replica: with no pod there are no series of the engine."""

    query: Plain
    """A query that has an answer without any engine, such as the requests that wait at the gateway. It yields one series."""
    above: float = Field(default=0, ge=0)
    """Its value above which the first replica is started."""


class AutoscaleConfig(Config):
    """Replicas by queue depth: KEDA ScaledObject by default, HorizontalPodAutoscaler with an adapter supported."""

    kind: ScalerKind = ScalerKind.KEDA
    """keda or hpa."""
    min_replicas: int = Field(default=1, ge=0, le=1000)
    """Minimum number of replicas; 0 needs ``wake`` or ``schedule``."""
    max_replicas: int = Field(ge=1, le=1000)
    """Maximum number of replicas; the pool must hold them."""
    waiting_per_replica: int | None = Field(default=None, ge=1)
    """Waiting requests per replica above which replicas are added; omit for half of the requests that a replica runs at once, 8 where that
    is not known."""
    metric: Plain | None = None
    """For hpa: the queue's metric as a rule of your own adapter exports it, read alone; omit for the names of the rules that the stack
    makes."""
    usage: float = Field(default=0.8, ge=0, le=1)
    """Part of a replica's KV cache, and of the requests that it runs at once, above which replicas are added and none is removed;
    0 = only the queue is looked at."""
    scale_down_seconds: int | None = Field(default=None, ge=0, le=3600)
    """Quiet time before replicas are removed; omit for 600, or the predicted start-up time where that is longer."""
    fallback_replicas: int | None = Field(default=None, ge=1, le=1000)
    """For keda: replicas that run at least while Prometheus does not answer; more that run already stay. Omit for min_replicas."""
    schedule: tuple[ScheduleConfig, ...] = ()
    """For keda: hours in which more replicas run."""
    wake: WakeConfig | None = None
    """For keda: what starts the first replica of a server that may have none."""
    paused: bool = False
    """Keep the replicas as they are, whatever the load."""

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.min_replicas > self.max_replicas:
            raise ValueError(f"min_replicas {self.min_replicas} is above max_replicas {self.max_replicas}")
        beyond = [each.replicas for each in self.schedule if each.replicas > self.max_replicas]
        if beyond:
            raise ValueError(f"schedule asks for {beyond[0]} replicas, above max_replicas {self.max_replicas}")
        if self.fallback_replicas and self.fallback_replicas > self.max_replicas:
            raise ValueError(f"fallback_replicas {self.fallback_replicas} is above max_replicas {self.max_replicas}")
        return self

    @model_validator(mode="after")
    def _fits_its_kind(self) -> Self:
        if self.kind is ScalerKind.HPA:
            for name in ("schedule", "wake", "fallback_replicas"):
                if getattr(self, name):
                    raise ValueError(f"{name} is KEDA's, and kind hpa knows nothing like it: use kind keda, or remove it")
            if not self.min_replicas:
                raise ValueError(
                    "min_replicas 0 with kind hpa: the last pod takes its metric along, so nothing wakes it; use keda with wake"
                )
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
