"""How pods are replaced, and whether a new one must wait for the cards of an old one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from interlock.infra.config.scaling import RolloutStrategy
from interlock.infra.config.servers import ServerConfig
from interlock.infra.plan.pools import PodDemand
from interlock.infra.plan.reasons import SET, Reason
from interlock.infra.values import gib, plural


@dataclass(frozen=True, slots=True)
class Body:
    """What one pod takes of its node beside GPUs, or what a node has left."""

    cores: float
    memory: int
    """Bytes."""


@dataclass(frozen=True, slots=True)
class Spare:
    """What a node has left when all servers are placed."""

    units: int
    """Units of the GPU resource."""
    body: Body

    def pods(self, units: int, body: Body) -> int:
        """Further pods that it holds."""
        limits = [self.units // units, self.body.memory // max(body.memory, 1)]
        limits += [int(self.body.cores / body.cores + 1e-6)] if body.cores else []
        return max(min(limits), 0)


@dataclass(frozen=True, slots=True)
class Rollout:
    """How pods are replaced."""

    surge: int
    """maxSurge."""
    unavailable: int
    """maxUnavailable."""
    recreate: bool
    """All at once, the old ones first."""
    room: int = 0
    """Further replicas for which there are cards beside all servers of the pool."""

    @property
    def moves(self) -> dict[str, int | bool]:
        """The part of it that a workload states."""
        return {"surge": self.surge, "unavailable": self.unavailable, "recreate": self.recreate}

    def steps(self, replicas: int) -> int:
        """Steps that follow one another until ``replicas`` are replaced."""
        return 1 if self.recreate else -(-replicas // max(1, self.surge + self.unavailable))

    def waits(self, replicas: int) -> bool:
        """Whether a new pod may wait until an old one's grace ends: a pod that ends holds its cards (and its quota) so long, and the
        next surge pod is made as soon as it begins to end."""
        return not self.surge or self.room < replicas


_ROLLOUTS = {
    RolloutStrategy.SURGE: (1, 0, False),
    RolloutStrategy.IN_PLACE: (0, 1, False),
    RolloutStrategy.RECREATE: (0, 0, True),
}


def decide_rollout(
    server: ServerConfig,
    demand: PodDemand,
    body: Body,
    free: Mapping[Spare, int],
    why: dict[str, Reason],
    *,
    left: int | None = None,
    crowded: str = "",
) -> Rollout:
    """How pods are replaced: a surge pod only where the pool has room for one more beside all its servers.

    ``body``: what each pod takes beside GPUs; ``free``: nodes by what is left on them; ``left``: units that the namespace's quota leaves,
    None without one; ``crowded``: why there is no room for one more although units are free.
    """
    strategy, most = server.rollout.strategy, demand.units * demand.pods
    room = sum(nodes * spare.pods(demand.units, body) for spare, nodes in free.items()) // demand.pods
    room = room if left is None else min(room, max(left, 0) // most)
    if strategy is None:
        fits = not crowded and room > 0
        strategy = RolloutStrategy.SURGE if fits else RolloutStrategy.IN_PLACE if demand.count > 1 else RolloutStrategy.RECREATE
        wanted = f"a pod takes {demand.units}" if demand.pods == 1 else f"a replica takes {demand.pods} pods x {demand.units}"
        most_free = max(spare.units for spare in free)
        told = crowded or f"with all servers placed a node has at most {plural(most_free, 'GPU')} free, and {wanted}"
        if not fits and not crowded and most_free >= demand.units:
            told += _beside(body, [spare.body for spare in free if spare.units >= demand.units])
        why["rollout"] = Reason(value=strategy, reason=told)
    else:
        why["rollout"] = Reason(value=strategy, reason=SET)
    return Rollout(*_ROLLOUTS[strategy], room=room)


def _beside(body: Body, left: Sequence[Body]) -> str:
    """What the nodes with free GPUs lack of the rest; empty where they lack nothing."""
    memory, cores = max(each.memory for each in left), max(each.cores for each in left)
    if memory < body.memory:
        return f"; but {gib(max(memory, 0))} of memory are left there, and it takes {gib(body.memory)}"
    return f"; but {max(cores, 0):.1f} cores are left there, and it takes {body.cores:.1f}" if cores + 1e-6 < body.cores else ""
