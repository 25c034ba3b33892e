"""Simulated nodes: what the device plugin and GPU feature discovery would have written, for the local control plane."""

from collections.abc import Sequence

from interlock.infra.config.pools import PoolConfig
from interlock.infra.config.taints import taint
from interlock.infra.manifests.common import Manifest
from interlock.infra.naming import joined, label
from interlock.infra.plan.pools import resource_name, shares_per_card
from interlock.infra.plan.shares import node_labels


def simulated_nodes(pools: Sequence[PoolConfig]) -> list[Manifest]:
    """One Node object per node of each pool."""
    return [simulated_node(pool, index) for pool in pools for index in range(pool.nodes)]


def simulated_node(pool: PoolConfig, index: int) -> Manifest:
    """One node: labels, taints and capacity."""
    name = pool.node_names[index] if pool.node_names else joined(pool.name, str(index))
    names = {
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        label("simulated"): "true",
        **node_labels(pool),
    }
    units = str(pool.gpus_per_node * shares_per_card(pool))
    capacity = {"cpu": pool.cpu, "memory": pool.memory, "pods": "110", "ephemeral-storage": "1Ti", resource_name(pool): units}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": names},
        "spec": {"taints": [taint(text).of_a_node for text in pool.taints]},
        "status": {"capacity": capacity, "allocatable": capacity},
    }
