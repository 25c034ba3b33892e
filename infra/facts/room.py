"""Whether a pool has room: one packing for the plan and for the rules that judge it.

Equal pods travel as one group with their number, so that a billion replicas cost no more than one.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush

DAEMON_CORES, DAEMON_GIB = 0.5, 1.0
"""Cores and GiB of a node that its DaemonSets are taken to request where nobody states it."""


@dataclass(frozen=True, slots=True)
class Pods:
    """Equal pods of one owner: the units that each takes, whose they are, how many there are."""

    units: int
    owner: str
    count: int = 1


@dataclass(slots=True)
class Node:
    """One node while it is filled."""

    free: int
    pods: list[str] = field(default_factory=list)


def asked_units(pods: Iterable[Pods]) -> int:
    """Units of all pods together."""
    return sum(each.units * each.count for each in pods)


def packed(pods: Iterable[Pods], per_node: int, nodes: int) -> tuple[list[Node], int]:
    """(nodes, pods that found no place): largest first, each on the fullest node that still holds it. Pods without units take none."""
    filled = [Node(per_node) for _ in range(nodes)]
    # Places of nodes by what they have free, each a heap: the first of those that are equally full is taken.
    by_free = {per_node: list(range(nodes))} if nodes else dict[int, list[int]]()
    left = 0
    for each in _largest_first(pods):
        for placed in range(each.count):
            free = min((free for free in by_free if free >= each.units), default=None)
            if free is None:
                left += each.count - placed
                break
            place = heappop(by_free[free])
            if not by_free[free]:
                del by_free[free]
            chosen = filled[place]
            chosen.free -= each.units
            chosen.pods.append(each.owner)
            heappush(by_free.setdefault(chosen.free, []), place)
    return filled, left


def nodes_needed(pods: Iterable[Pods], per_node: int) -> int:
    """The fewest nodes on which ``packed`` places all pods; pods larger than a whole node are not counted."""
    nodes_by_free: Counter[int] = Counter()
    used = 0
    for each in _largest_first(pods):
        units, count = each.units, each.count
        if units > per_node:
            continue
        for free in sorted(free for free in nodes_by_free if free >= units):
            taken = min(count, nodes_by_free[free] * (free // units))
            _onto(nodes_by_free, free, units, taken)
            count -= taken
        fresh = -(-count // (per_node // units))
        used += fresh
        nodes_by_free[per_node] += fresh
        _onto(nodes_by_free, per_node, units, count)
    return used


def unplaced(pods: Iterable[Pods], nodes_by_free: Counter[int]) -> int:
    """Pods that find no place on nodes that are partly filled, given as the number of nodes by the units left on them."""
    free_now, left = Counter(nodes_by_free), 0
    for each in _largest_first(pods):
        count = each.count
        for free in sorted(free for free in free_now if free >= each.units):
            taken = min(count, free_now[free] * (free // each.units))
            _onto(free_now, free, each.units, taken)
            count -= taken
        left += count
    return left


def _onto(nodes_by_free: Counter[int], free: int, units: int, count: int) -> None:
    """Puts ``count`` pods on nodes that have ``free`` units, one node after the other."""
    full, rest = divmod(count, free // units)
    for pods, nodes in ((free // units, full), (rest, 1 if rest else 0)):
        nodes_by_free[free] -= nodes
        nodes_by_free[free - pods * units] += nodes
    for each in [free for free, nodes in nodes_by_free.items() if not nodes]:
        del nodes_by_free[each]


def _largest_first(pods: Iterable[Pods]) -> list[Pods]:
    return sorted((each for each in pods if each.units > 0), key=lambda each: -each.units)


def spare(nodes: Sequence[Node], units: int) -> int:
    """Units that further pods of this size can really use: what is left over on each node in parts of a pod is lost to them."""
    return sum(node.free // units * units for node in nodes) if units else 0
