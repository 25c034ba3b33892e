"""How long it takes until the pods of a server are replaced, and who answers meanwhile: for pages and for the difference of two plans."""

from interlock.infra.plan.rollout import Rollout
from interlock.infra.plan.types import PlannedServer
from interlock.infra.values import plural


def step_seconds(server: PlannedServer) -> float:
    """Seconds of one step at the likely start: until the old pod is gone and the new one is ready."""
    start = server.start.cold.total.likely
    begins, stops = (0.0, start) if server.surge else (float(server.times.grace), 0.0)
    return max(stops + server.times.grace, begins + start)


def steps(server: PlannedServer) -> int:
    """Steps until all replicas are replaced; an autoscaled server at its most."""
    return Rollout(server.surge, server.unavailable, server.recreate).steps(server.max_replicas)


def way(server: PlannedServer) -> str:
    """How many steps a rollout has, and who answers meanwhile."""
    counted = plural(steps(server), "step")
    if server.surge:
        return f"a rollout starts each new replica before an old one stops: {counted}"
    silent = server.recreate or server.max_replicas <= 1
    return f"a rollout stops old replicas first: {counted}, {'none' if silent else 'one fewer'} answers meanwhile"
