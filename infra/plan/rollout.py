"""How pods are replaced, and whether a new one must wait for the cards of an old one."""

from collections.abc import Mapping
from dataclasses import dataclass

from interlock.infra.config.scaling import RolloutStrategy
from interlock.infra.config.servers import ServerConfig
from interlock.infra.plan.pools import PodDemand
from interlock.infra.plan.reasons import SET, Reason
from interlock.infra.values import plural


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
    server: ServerConfig, demand: PodDemand, free: Mapping[int, int], why: dict[str, Reason], *, left: int | None = None, crowded: str = ""
) -> Rollout:
    """How pods are replaced: a surge pod only where the pool has room for one more beside all its servers.

    ``free``: nodes by the units left on them; ``left``: units that the namespace's quota leaves, None without one; ``crowded``: why
    there is no room for one more although units are free.
    """
    strategy, most = server.rollout.strategy, demand.units * demand.pods
    room = sum(nodes * (units // demand.units) for units, nodes in free.items()) // demand.pods
    room = room if left is None else min(room, max(left, 0) // most)
    if strategy is None:
        fits = not crowded and room > 0
        strategy = RolloutStrategy.SURGE if fits else RolloutStrategy.IN_PLACE if demand.count > 1 else RolloutStrategy.RECREATE
        wanted = f"a pod takes {demand.units}" if demand.pods == 1 else f"a replica takes {demand.pods} pods x {demand.units}"
        told = crowded or f"with all servers placed a node has at most {plural(max(free), 'GPU')} free, and {wanted}"
        why["rollout"] = Reason(value=strategy, reason=told)
    else:
        why["rollout"] = Reason(value=strategy, reason=SET)
    return Rollout(*_ROLLOUTS[strategy], room=room)
