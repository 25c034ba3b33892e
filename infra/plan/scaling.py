"""By which signals a server is scaled, to which targets, and how fast."""

import math
from enum import StrEnum

from interlock.infra.catalog.engine_metrics import Signal, exported, series
from interlock.infra.config.cluster import ClusterConfig
from interlock.infra.config.monitoring import PrometheusConfig
from interlock.infra.config.ray import Serve
from interlock.infra.config.scaling import AutoscaleConfig, ScalerKind
from interlock.infra.config.servers import ServerConfig
from interlock.infra.engine.args import EngineArgs
from interlock.infra.plan.access import running_at_once
from interlock.infra.plan.base import Planned
from interlock.infra.plan.monitoring import PlannedScrape
from interlock.infra.plan.reasons import SET, Reason

QUEUE = 8
"""Waiting requests per replica where nothing is known of what it runs at once."""
QUIET = 600
"""Seconds before replicas are removed."""
MINUTE = 60
# The API server refuses longer ones (autoscaling/v2: stabilization up to an hour, periods up to half of one).
LONGEST_QUIET, LONGEST_PERIOD, SHORTEST_PERIOD = 3600, 1800, 60


class Target(StrEnum):
    """What a signal is compared with."""

    EACH = "AverageValue"
    """The value divided by the replicas."""
    WHOLE = "Value"
    """The value as it is, which is one replica's already."""


class PlannedSignal(Planned):
    """One number that replicas follow."""

    signal: Signal
    """What it tells."""
    series: str
    """The engine's series, without the labels of the server."""
    metric: str
    """Its name in the Kubernetes API, where an adapter hands it on."""
    query: str
    """What Prometheus is asked: one number."""
    target: float
    """Replicas are added above it."""
    kind: Target
    """How it is compared."""
    source: str
    """Field that the target follows from."""
    why: str = ""
    """The plan's decision, where no field states it."""


class PlannedScaling(Planned):
    """How a server is scaled."""

    signals: tuple[PlannedSignal, ...]
    """The queue first."""
    period: int
    """Seconds in which replicas may double: a new one helps no sooner."""
    quiet: int
    """Seconds before replicas are removed."""
    prometheus: PrometheusConfig
    """Who is asked."""


def decide_scaling(
    config: ClusterConfig,
    server: ServerConfig,
    engine: EngineArgs,
    scrape: PlannedScrape,
    *,
    version: str,
    scale_up: float,
    why: dict[str, Reason],
) -> PlannedScaling | None:
    """Signals, targets and times of a server that is autoscaled; ``scale_up``: likely seconds from a new pod to a ready one."""
    scale = server.autoscale
    if scale is None or server.serve is Serve.RAY:
        return None  # Ray Serve scales its models itself.
    once = running_at_once(engine)
    signals = [_queue(scale, scrape, version, _target(scale, once, why))]
    if scale.usage and not scale.metric:
        signals += [each for each in (_running(scale, scrape, version, once, why), _kv(scale, scrape, version)) if each]
    return PlannedScaling(
        signals=tuple(each for each in signals if each),
        period=min(LONGEST_PERIOD, max(SHORTEST_PERIOD, int(scale_up))),
        quiet=_quiet(scale, scale_up, why),
        prometheus=config.monitoring.prometheus,
    )


def _target(scale: AutoscaleConfig, once: int, why: dict[str, Reason]) -> int:
    if scale.waiting_per_replica:
        why["queue_target"] = Reason(value=str(scale.waiting_per_replica), reason=SET)
        return scale.waiting_per_replica
    found = max(once // 2, 1) if once else QUEUE
    told = f"half of the {once} requests that a replica runs at once" if once else "not known how many requests a replica runs at once"
    why["queue_target"] = Reason(value=f"{found} waiting", reason=f"{told}: above it replicas are added")
    return found


def _quiet(scale: AutoscaleConfig, scale_up: float, why: dict[str, Reason]) -> int:
    if scale.scale_down_seconds is not None:
        return scale.scale_down_seconds
    start = math.ceil(scale_up / MINUTE) * MINUTE
    found = min(LONGEST_QUIET, max(QUIET, start))
    why["scale_down"] = Reason(value=f"{found} s", reason=f"a replica that is removed comes back in {start} s, {QUIET} s at least")
    return found


def _queue(scale: AutoscaleConfig, scrape: PlannedScrape, version: str, target: int) -> PlannedSignal | None:
    name = series(Signal.WAITING, version)
    if name is None:
        return None
    return PlannedSignal(
        signal=Signal.WAITING,
        series=name,
        metric=scale.metric or exported(name),
        query=_at_zero(scale, f"sum({scrape.selected(name)})"),
        target=target,
        kind=Target.EACH,
        source="autoscale.waiting_per_replica",
        why="queue_target",
    )


def _running(scale: AutoscaleConfig, scrape: PlannedScrape, version: str, once: int, why: dict[str, Reason]) -> PlannedSignal | None:
    """Busy replicas are not removed because nobody waits at the moment."""
    name, most = series(Signal.RUNNING, version), max(int(once * scale.usage), 1)
    if name is None or not once:
        return None
    why["running_target"] = Reason(value=f"{most} running", reason=f"{scale.usage:g} of the {once} requests that a replica runs at once")
    return PlannedSignal(
        signal=Signal.RUNNING,
        series=name,
        metric=exported(name),
        query=_at_zero(scale, f"sum({scrape.selected(name)})"),
        target=most,
        kind=Target.EACH,
        source="autoscale.usage",
        why="running_target",
    )


def _kv(scale: AutoscaleConfig, scrape: PlannedScrape, version: str) -> PlannedSignal | None:
    """A mean over the replicas is one replica's number: it is compared as it is. Adapters hand it on per pod."""
    name = series(Signal.KV_USAGE, version)
    if name is None:
        return None
    return PlannedSignal(
        signal=Signal.KV_USAGE,
        series=name,
        metric=exported(name),
        query=_at_zero(scale, f"avg({scrape.selected(name)})"),
        target=scale.usage,
        kind=Target.WHOLE if scale.kind is ScalerKind.KEDA else Target.EACH,
        source="autoscale.usage",
    )


def _at_zero(scale: AutoscaleConfig, query: str) -> str:
    """Without a pod the series are gone, and an empty answer is an error that starts the fallback: here none is the truth."""
    return f"{query} or vector(0)" if scale.min_replicas == 0 else query
