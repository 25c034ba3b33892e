"""How a pool is filled by the workloads that name it: what the rules about room and about surge pods both ask."""

from interlock.infra.facts import Bundle, Fact, Pool, Workload
from interlock.infra.facts.room import Node, Pods, packed, spare
from interlock.infra.rules.reading.units import pod_count, pod_units

MOST_NODES = 100_000
"""Nodes of a pool that are filled one by one: more than any cluster has, and less than a document may say."""


def pods_of(workload: Workload) -> list[Pods]:
    """The pods of all replicas, by template; pods whose size is not known are left out."""
    replicas = workload.replicas.default(1)
    if not replicas.known:
        return []
    sizes: list[Pods] = []
    for pod in workload.pods:
        if any(device.of_all_pods for container in pod.containers for device in container.devices):
            continue  # All pods get the same devices.
        units, count = pod_units(workload, pod), pod_count(pod)
        if units.known and count.known and units.get() > 0:
            sizes.append(Pods(units.get(), workload.origin.name, count.get() * replicas.get()))
    return sizes


def users(pool: Pool, bundle: Bundle) -> list[Workload]:
    """The workloads that name the pool."""
    return [workload for workload in bundle.workloads if workload.pool.known and workload.pool.get() == pool.name]


def most_nodes(pool: Pool) -> Fact[int]:
    """Nodes that the pool may have."""
    return pool.max_nodes if pool.max_nodes.known else pool.nodes


def filled(pool: Pool, bundle: Bundle) -> list[Node] | None:
    """The pool's nodes with the pods of its workloads; None when its nodes or their units are not known, or more than a cluster has."""
    nodes = most_nodes(pool)
    if not nodes.known or nodes.get() > MOST_NODES or not pool.gpus_per_node.known:
        return None
    key = ("filled", pool.name)
    if key not in bundle.memo:
        everything = [size for workload in users(pool, bundle) for size in pods_of(workload)]
        bundle.memo[key] = packed(everything, pool.gpus_per_node.get(), nodes.get())[0]
    found: list[Node] = bundle.memo[key]
    return found


def room_for(units: Fact[int], pool: Pool, bundle: Bundle) -> int | None:
    """Units that further pods of that size can use beside all pods of the pool; None where its nodes are not known."""
    nodes, key = filled(pool, bundle), ("room", pool.name, units.value)
    if nodes is not None and key not in bundle.memo:
        bundle.memo[key] = spare(nodes, units.get())
    found: int | None = bundle.memo.get(key)
    return found
