"""Whether a pool has room: one packing for the plan and for the rules that judge it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush

Size = tuple[int, str]
"""Units of one pod, and whose it is."""


@dataclass(slots=True)
class Node:
    """One node while it is filled."""

    free: int
    pods: list[str] = field(default_factory=list)


def packed(pods: Iterable[Size], per_node: int, nodes: int | None = None) -> tuple[list[Node], int]:
    """(nodes, pods that found no place): largest first, each on the fullest node that still holds it.

    ``nodes`` None = as many as are needed. A pod larger than a whole node finds no place.
    """
    filled = [Node(per_node) for _ in range(nodes or 0)]
    # Places of nodes by what they have free, each a heap: the first of those that are equally full is taken.
    by_free = {per_node: list(range(len(filled)))} if filled else dict[int, list[int]]()
    left = 0
    for units, owner in sorted(pods, key=lambda pod: -pod[0]):
        free = min((free for free in by_free if free >= units), default=None)
        if free is None and (nodes is not None or units > per_node):
            left += 1
            continue
        if free is None:
            place = len(filled)
            filled.append(Node(per_node))
        else:
            place = heappop(by_free[free])
            if not by_free[free]:
                del by_free[free]
        chosen = filled[place]
        chosen.free -= units
        chosen.pods.append(owner)
        heappush(by_free.setdefault(chosen.free, []), place)
    return filled, left


def spare(nodes: Sequence[Node], units: int) -> int:
    """Units that further pods of this size can really use: what is left over on each node in parts of a pod is lost to them."""
    return sum(node.free // units * units for node in nodes) if units else 0
