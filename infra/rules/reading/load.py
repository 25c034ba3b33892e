"""How long an engine takes to load, as rules about probes and autoscalers read it: the one estimate, asked with what is stated."""

from interlock.infra.facts import Container, Fact, Workload
from interlock.infra.rules.reading.cache import outlives
from interlock.infra.rules.reading.checkpoint import weights
from interlock.infra.rules.reading.units import switched_on
from interlock.infra.sizing.result import Estimate
from interlock.infra.sizing.start import Reading, Start, start_time


def reading_of(workload: Workload) -> Reading:
    """Where the weights come from: a path and an offline client download nothing."""
    local = workload.engine.model.known and workload.engine.model.get().startswith("/")
    offline = any(switched_on(workload.engine.env.get(name, Fact())) for name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"))
    return Reading.DISK if local or offline else Reading.HUB


def container_seconds(workload: Workload, reading: Reading | None = None) -> Estimate:
    """Seconds from the container's start to ready; weights of an unknown size count as nothing. ``reading``: from there instead."""
    size, eager = weights(workload), workload.engine.flag("enforce-eager").known
    ranks = workload.engine.tensor_parallel.value or 1
    return start_time(Start(size.likely if size else None, reading or reading_of(workload), ranks=ranks, eager=eager)).container


def warm_seconds(workload: Workload, container: Container) -> float | None:
    """Likely seconds to ready for a container that finds what the one before it downloaded; None where it finds nothing."""
    if weights(workload) is None or reading_of(workload) is not Reading.HUB or not outlives(workload, container):
        return None
    return container_seconds(workload, Reading.DISK).likely


def likely_start_seconds(workload: Workload) -> float:
    """The planner's estimate where the facts carry one, else the likely time of every step."""
    predicted = workload.engine.load_seconds
    return predicted.get() if predicted.known else container_seconds(workload).likely
