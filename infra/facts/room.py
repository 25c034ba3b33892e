"""Whether a pool has room: one packing for the plan and for the rules that judge it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

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
    left = 0
    for units, owner in sorted(pods, key=lambda pod: -pod[0]):
        fitting = [node for node in filled if node.free >= units]
        if not fitting and (nodes is not None or units > per_node):
            left += 1
            continue
        chosen = min(fitting, key=lambda node: node.free) if fitting else Node(per_node)
        if not fitting:
            filled.append(chosen)
        chosen.free -= units
        chosen.pods.append(owner)
    return filled, left


def spare(nodes: Sequence[Node], units: int) -> int:
    """Units that further pods of this size can really use: what is left over on each node in parts of a pod is lost to them."""
    return sum(node.free // units * units for node in nodes) if units else 0
