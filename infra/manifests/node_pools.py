"""Node pools: labels on nodes that are there, Karpenter NodePools, and what a cloud's own pool must be given."""

from typing import Any

from interlock.infra.config.pools import PoolBackend, PoolConfig
from interlock.infra.config.taints import taint
from interlock.infra.manifests.common import MANAGED_BY, Manifest, manifest
from interlock.infra.manifests.placed import put, traced
from interlock.infra.naming import joined, label
from interlock.infra.plan.base import Planned
from interlock.infra.plan.shares import GPU, our_labels

DO_NOT_DISRUPT = "karpenter.sh/do-not-disrupt"
"""Pod annotation: Karpenter leaves the node alone while such a pod runs."""


class PoolIntent(Planned):
    """What a cloud's own node pool must make true; the hook of the managed backend gets it."""

    name: str
    """Name of the pool."""
    gpu: str
    """GPU by catalog name."""
    gpus_per_node: int
    """Cards of one node."""
    nodes: int
    """Nodes, or the most of them."""
    labels: dict[str, str]
    """Labels that every node must carry when it joins."""
    taints: tuple[str, ...]
    """Taints as kubectl writes them; NoSchedule without an effect, of the value ``present`` without one."""


def pool_intent(pool: PoolConfig) -> PoolIntent:
    """The intent of a managed pool."""
    return PoolIntent(
        name=pool.name,
        gpu=pool.gpu,
        gpus_per_node=pool.gpus_per_node,
        nodes=pool.nodes,
        labels={**our_labels(pool), **pool.labels},
        taints=pool.taints,
    )


def pool_objects(pool: PoolConfig, stack: str) -> list[Manifest]:
    """The objects of one pool: partial Node objects to apply onto named nodes, or a Karpenter NodePool."""
    if pool.backend is PoolBackend.KARPENTER:
        return [karpenter_pool(pool, stack)]
    return [node_patch(pool, stack, name) for name in pool.node_names]


def node_patch(pool: PoolConfig, stack: str, node: str) -> Manifest:
    """A Node with only the labels that are ours, for server-side apply. Taints stay with whoever made the node: they are one list."""
    return manifest("v1", "Node", node, None, {**our_labels(pool), label("stack"): stack})


def karpenter_pool(pool: PoolConfig, stack: str) -> Manifest:
    """A NodePool (karpenter.sh/v1) that gives nodes back only when they are empty, and never more than the pool's cards."""
    wanted = pool.karpenter
    assert wanted is not None
    rows: list[tuple[str, tuple[str, ...], str]] = [
        ("node.kubernetes.io/instance-type", wanted.instance_types, "karpenter.instance_types"),
        ("karpenter.sh/capacity-type", wanted.capacity_types, "karpenter.capacity_types"),
        ("topology.kubernetes.io/zone", wanted.zones, "karpenter.zones"),
        ("kubernetes.io/os", ("linux",), "backend"),
    ]
    node: dict[str, Any] = {
        "nodeClassRef": put(
            {"group": wanted.node_class_group, "kind": wanted.node_class_kind, "name": wanted.node_class}, "karpenter.node_class"
        ),
        "requirements": [put({"key": key, "operator": "In", "values": list(values)}, field) for key, values, field in rows if values],
        "taints": put([put(taint(text).of_a_node, f"taints[{at}]") for at, text in enumerate(pool.taints)], "taints"),
        "expireAfter": put(wanted.expire_after, "karpenter.expire_after"),
    }
    spec = {
        "template": {"metadata": {"labels": {**our_labels(pool), **traced(pool.labels, "labels")}}, "spec": node},
        # Cards, not shares: Karpenter counts what the instance type has.
        "limits": {GPU: put(str(pool.nodes * pool.gpus_per_node), "nodes")},
        "disruption": {
            "consolidationPolicy": "WhenEmpty",
            "consolidateAfter": put(f"{wanted.idle_seconds}s", "karpenter.idle_seconds"),
            "budgets": [{"nodes": put(str(wanted.disruption_nodes), "karpenter.disruption_nodes")}],
        },
    }
    names = {"app.kubernetes.io/managed-by": MANAGED_BY, label("stack"): stack, label("pool"): pool.name}
    return manifest("karpenter.sh/v1", "NodePool", joined(stack, pool.name), None, names, spec=spec)
