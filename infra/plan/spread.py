"""Whether replicas rather go to different nodes: always, unless pods of another size then find no node with enough free cards."""

import math
from collections.abc import Sequence

from interlock.infra.plan.pools import PodDemand
from interlock.infra.plan.reasons import Reason
from interlock.infra.plan.types import PlannedPool
from interlock.infra.values import plural

APART = Reason(value="over nodes", reason="a node that is lost takes fewer replicas along")


def must_pack(pool: PlannedPool, demands: Sequence[PodDemand]) -> str:
    """Why the pods of ``pool`` must stay close together; empty where every order of placing them leaves room for each.

    A node refuses a pod of u units when more than U - u of its U units are taken, in steps of what divides all sizes (g): so
    U - u + g on each node, and the pod always fits while the others take less than nodes x (U - u + g).
    """
    sizes = {each.units for each in demands if each.count and each.units}
    step = math.gcd(*sizes, pool.units_per_node)
    for units in sorted(sizes, reverse=True):
        blocked = pool.nodes * (pool.units_per_node - units + step)
        if pool.asked - units >= blocked:
            why = f"a pod of {plural(units, 'GPU')} needs a node with as many free: others that take {blocked}, spread"
            return f"{why} over {plural(pool.nodes, 'node')}, would leave none, and {pool.asked - units} are asked for"
    return ""


def decide_spread(demand: PodDemand, packed: str, why: dict[str, Reason]) -> bool:
    """Whether the replicas of a server prefer different nodes. A replica of several pods takes whole nodes already.

    A single replica says so too: it would be replaced when a second one is asked for, only because its template changes.
    """
    if demand.pods > 1:
        return False
    if demand.count > 1:
        why["spread"] = Reason(value="packed", reason=packed) if packed else APART
    return not packed
