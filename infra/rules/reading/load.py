"""How long an engine takes to load, as rules about probes and autoscalers read it: the one estimate, asked with what is stated."""

from interlock.infra.facts import Fact, Workload
from interlock.infra.rules.reading.checkpoint import weights
from interlock.infra.rules.reading.units import switched_on
from interlock.infra.sizing.result import Estimate
from interlock.infra.sizing.start import Reading, Start, start_time


def reading_of(workload: Workload) -> Reading:
    """Where the weights come from: a path and an offline client download nothing."""
    local = workload.engine.model.known and workload.engine.model.get().startswith("/")
    offline = any(switched_on(workload.engine.env.get(name, Fact())) for name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"))
    return Reading.DISK if local or offline else Reading.HUB


def container_seconds(workload: Workload) -> Estimate:
    """Seconds from the container's start to ready; weights of an unknown size count as nothing."""
    size, eager = weights(workload), workload.engine.flag("enforce-eager").known
    ranks = workload.engine.tensor_parallel.value or 1
    return start_time(Start(size.likely if size else None, reading_of(workload), ranks=ranks, eager=eager)).container


def likely_start_seconds(workload: Workload) -> float:
    """The planner's estimate where the facts carry one, else the likely time of every step."""
    predicted = workload.engine.load_seconds
    return predicted.get() if predicted.known else container_seconds(workload).likely
