"""Autoscaling as the config describes it. Written by `python -m tools.component_arguments`."""

from typing import NotRequired, TypedDict

from interlock.infra.config.scaling import ScalerKind


class ScheduleSettings(TypedDict):
    """Hours in which more replicas run than the load asks for."""

    start: str
    """When it begins, as cron writes it: ``0 8 * * 1-5``."""
    end: str
    """When it ends."""
    timezone: NotRequired[str]
    """Time zone of both, such as ``Europe/Berlin``."""
    replicas: int
    """Replicas that run at least."""


class WakeSettings(TypedDict):
    """What wakes a server that has no replica: with no pod there are no series of the engine."""

    query: str
    """A query that has an answer without any engine, such as the requests that wait at the gateway. It yields one series."""
    above: NotRequired[float]
    """Its value above which the first replica is started."""


class AutoscaleSettings(TypedDict):
    """Replicas by queue depth: KEDA ScaledObject by default, HorizontalPodAutoscaler with an adapter supported."""

    kind: NotRequired[ScalerKind]
    """keda or hpa."""
    min_replicas: NotRequired[int]
    """Minimum number of replicas; 0 needs ``wake`` or ``schedule``."""
    max_replicas: int
    """Maximum number of replicas; the pool must hold them."""
    waiting_per_replica: NotRequired[int]
    """Waiting requests per replica above which replicas are added; omit for half of the requests that a replica runs at once, 8 where that
    is not known."""
    metric: NotRequired[str]
    """For hpa: the queue's metric as a rule of your own adapter exports it, read alone; omit for the names of the rules that the stack
    makes."""
    usage: NotRequired[float]
    """Part of a replica's KV cache, and of the requests that it runs at once, above which replicas are added and none is removed;
    0 = only the queue is looked at."""
    scale_down_seconds: NotRequired[int]
    """Quiet time before replicas are removed; omit for 600, or the predicted start-up time where that is longer."""
    fallback_replicas: NotRequired[int]
    """For keda: replicas that run at least while Prometheus does not answer; more that run already stay. Omit for min_replicas."""
    schedule: NotRequired[list[ScheduleSettings]]
    """For keda: hours in which more replicas run."""
    wake: NotRequired[WakeSettings]
    """For keda: what starts the first replica of a server that may have none."""
    paused: NotRequired[bool]
    """Keep the replicas as they are, whatever the load."""
