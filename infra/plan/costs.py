"""What a plan's decisions cost, in GPUs: those that take the most are what a person looks at first."""

from collections.abc import Iterator
from dataclasses import dataclass

from interlock.infra.plan.types import ClusterPlan, PlannedServer
from interlock.infra.values import plural


@dataclass(frozen=True, slots=True)
class Cost:
    """One decision about a server, and the GPUs that it takes beyond the least that would serve."""

    server: str
    decision: str
    """gpus (of one replica), replicas or rollout."""
    gpus: int
    """GPUs beyond one card for each replica, beyond one replica, kept free for a rollout, or idle while a rollout lasts."""
    told: str
    """The arithmetic."""


def costliest(plan: ClusterPlan, most: int = 3) -> tuple[Cost, ...]:
    """The decisions that take the most GPUs, the largest first; equal ones by server, so that the order of lists does not count."""
    found = [cost for server in plan.servers for cost in _costs(server) if cost.gpus > 0]
    return tuple(sorted(found, key=lambda cost: (-cost.gpus, cost.server, cost.decision))[:most])


def _costs(server: PlannedServer) -> Iterator[Cost]:
    engine, each, most = server.args.engine, server.gpus, server.max_replicas
    shape = f"TP {engine.tp} x PP {engine.pp} x DP {engine.dp}"
    if each > 1 and most:
        whole = f", {plural(most, 'replica')} {each * most}" if most > 1 else ""
        told = f"a replica takes {plural(each, 'GPU')} ({shape}){whole}"
        yield Cost(server.name, "gpus", (each - 1) * most, told)
    if most > 1:
        scaled = f"{server.replicas} to {most} replicas, room is kept for all" if most > server.replicas else plural(most, "replica")
        yield Cost(server.name, "replicas", (most - 1) * each, f"{scaled}: {most} x {plural(each, 'GPU')} = {most * each}")
    if server.surge and most:
        yield Cost(server.name, "rollout", each * server.surge, f"a rollout starts a new replica first: {plural(each, 'GPU')} must be free")
    elif most:
        yield _replaced_in_place(server)


def _replaced_in_place(server: PlannedServer) -> Cost:
    """Replicas that answer nothing while they are replaced: the old pod drains, then the new one loads."""
    gone = server.max_replicas if server.recreate else 1
    seconds = server.times.grace + server.times.load
    told = f"a rollout stops {plural(gone, 'replica')} before the new one starts: {gone * server.gpus} of its GPUs answer nothing"
    return Cost(server.name, "rollout", gone * server.gpus, f"{told} for up to {seconds:.0f} s")
