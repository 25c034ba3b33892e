"""What a change of sharing does to nodes that are in use."""

from collections.abc import Sequence
from dataclasses import dataclass

from interlock.infra.config.pools import PoolConfig
from interlock.infra.naming import label
from interlock.infra.plan.shares import our_labels
from interlock.infra.rules.findings import Finding, Severity, Subject

DISRUPTIVE = "GPU-108"


@dataclass(frozen=True, slots=True)
class LiveNode:
    """A node of the cluster as it is now."""

    name: str
    labels: dict[str, str]
    users: tuple[str, ...]
    """``namespace/name`` of the pods on it that hold GPU units."""


def sharing_changes(pools: Sequence[PoolConfig], nodes: Sequence[LiveNode]) -> tuple[Finding, ...]:
    """A warning for each pool with a node that is in use and is to share its cards in another way than now.

    Another MIG layout resets the card. Another plugin config makes the kubelet see another number of units, while pods that run keep
    what they have; those that restart find nothing or meet on one card.
    """
    found = []
    for index, pool in enumerate(pools):
        wanted = {key: value for key, value in our_labels(pool).items() if key != label("pool")}
        mine = [node for node in nodes if node.labels.get(label("pool")) == pool.name and node.users]
        changed = [node for node in mine if any(node.labels.get(key, value) != value for key, value in wanted.items())]
        if changed:
            found.append(_finding(index, pool, wanted, changed))
    return tuple(found)


def _finding(index: int, pool: PoolConfig, wanted: dict[str, str], changed: Sequence[LiveNode]) -> Finding:
    first = changed[0]
    steps = [f"{key} {first.labels[key]} to {value}" for key, value in wanted.items() if first.labels.get(key, value) != value]
    users = sorted({user for node in changed for user in node.users})
    names = ", ".join(node.name for node in changed[:5]) + (", ..." if len(changed) > 5 else "")
    return Finding(
        code=DISRUPTIVE,
        severity=Severity.WARNING,
        path=f"pools[{index}].share",
        value=pool.share.kind.value,
        summary=f"{len(changed)} nodes in use are to share their cards in another way ({'; '.join(steps)}): {names}",
        detail=f"Pods that hold GPUs there: {', '.join(users[:10])}. A card whose MIG layout changes is reset; units they hold may go.",
        remedy="drain these nodes first (kubectl drain NODE), or move the servers to another pool, then change the sharing",
        subject=Subject(kind="Pool", name=pool.name),
    )
