"""The Ray layer as rules read it: GPUs of one engine and of all pods, the head."""

from interlock.infra.facts import Pod, Workload
from interlock.infra.rules.reading.units import pod_count, pod_units, size_of


def world_of(workload: Workload) -> int | None:
    """GPUs of one engine; None when a size is not known."""
    engine = workload.engine
    sizes = [size_of(workload, engine.tensor_parallel), size_of(workload, engine.pipeline_parallel), engine.data_parallel.default(1)]
    world = 1
    for size in sizes:
        if not size.known:
            return None
        world *= size.get()
    return world


def cluster_units(workload: Workload) -> int | None:
    """GPUs of all pods of a replica; None when one is not known."""
    total = 0
    for pod in workload.pods:
        units, count = pod_units(workload, pod), pod_count(pod)
        if not units.known or not count.known:
            return None
        total += units.get() * count.get()
    return total


def head_of(workload: Workload) -> Pod | None:
    """The pod of the Ray head."""
    return next((pod for pod in workload.pods if pod.role == "head"), None)
