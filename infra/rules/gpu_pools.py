"""Pools: whether a pod fits a node of its pool, and whether the pool holds all replicas."""

from collections.abc import Iterable, Sequence

from interlock.infra.facts import Bundle, Fact, Place, Pod, Pool, Role, Workload
from interlock.infra.facts.room import Size, packed
from interlock.infra.rules.findings import Severity
from interlock.infra.rules.reading.room import most_nodes, pods_of, users
from interlock.infra.rules.reading.units import number, pod_units, pool_text, where
from interlock.infra.rules.rule import Hit, Settings, rule
from interlock.infra.values import gib, plural


@rule(
    "GPU-003",
    Severity.ERROR,
    demand="A pod's GPUs, cores and memory fit one node of its pool.",
    reason="A pod never spans nodes: the scheduler leaves it Pending forever, and an autoscaler adds no node for it.",
    source="Kubernetes documentation, 'Kubernetes Scheduler'; kserve/kserve#4226, NVIDIA/k8s-device-plugin#585",
    remedy="Make the pod smaller (pipeline parallel over nodes) or the nodes larger.",
    fault="unschedulable",
    links=("https://kubernetes.io/docs/concepts/scheduling-eviction/kube-scheduler/",),
)
def pod_fits_a_node(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    pool = bundle.pool(workload)
    if pool is None:
        return
    for pod in workload.pods:
        units = pod_units(workload, pod)
        if units.known and pool.gpus_per_node.known and units.get() > pool.gpus_per_node.get():
            per_node = pool.gpus_per_node.get()
            text = f"{plural(units.get(), 'GPU')} in one pod, but a node of {pool_text(pool)} has {per_node}"
            remedy = f"ask for at most {per_node} per pod and span nodes with pipeline parallel, or choose a pool with larger nodes"
            yield Hit(where(workload, Place.GPUS, units), text, remedy, str(units.get()))
        yield from _cpu_and_memory(workload, pod, pool)


def _cpu_and_memory(workload: Workload, pod: Pod, pool: Pool) -> Iterable[Hit]:
    for resource, have, show in (("cpu", pool.cpu, "{:g} cores".format), ("memory", pool.memory, gib)):
        asked, path = 0.0, ""
        for container in pod.containers:
            if container.role is Role.INIT:
                continue
            request = container.requests.get(resource, Fact())
            fact = (container.limits.get(resource, Fact()) if request.absent else request).map(number)
            if fact.known:
                asked, path = asked + fact.get(), fact.path
        if have.known and asked > have.get():
            text = f"{show(asked)} of {resource} in one pod, but a node of {pool_text(pool)} has {show(have.get())} allocatable"
            remedy = f"ask for less than {show(have.get())}, or choose a pool with larger nodes"
            yield Hit(path or where(workload, Place.RESOURCES), text, remedy, f"{asked:g}")


def _units(pods: Iterable[Size]) -> int:
    return sum(units for units, _ in pods)


def _nodes_needed(pods: Sequence[Size], per_node: int) -> int:
    return len(packed(pods, per_node)[0]) if len(pods) < 500 else -(-_units(pods) // max(per_node, 1))


@rule(
    "GPU-004",
    Severity.ERROR,
    demand="A pool has room for all replicas: nodes x floor(GPUs per node / GPUs per pod).",
    reason="GPUs left over on different nodes do not add up for one pod; the missing replicas stay Pending.",
    source="Kubernetes documentation, 'Resource Management for Pods and Containers'",
    remedy="Give the pool more nodes, or ask for fewer or smaller replicas.",
    fault="unschedulable",
    links=("https://kubernetes.io/docs/concepts/configuration/manage-resources-containers/",),
    of="bundle",
)
def pool_holds_the_replicas(bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    for pool in bundle.pools:
        nodes = most_nodes(pool)
        if not nodes.known or not pool.gpus_per_node.known:
            continue
        per_node = pool.gpus_per_node.get()
        wanted = [(workload, [pod for pod in pods_of(workload) if pod[0] <= per_node]) for workload in users(pool, bundle)]
        alone = False
        for workload, pods in wanted:
            needed = _nodes_needed(pods, per_node)
            if pods and needed > nodes.get():
                alone = True
                yield _too_small(workload, pool, [units for units, _ in pods], needed, nodes.get())
        everything = [pod for _, pods in wanted for pod in pods]
        needed = 0 if alone or len(wanted) < 2 or len(everything) >= 500 else _nodes_needed(everything, per_node)
        if needed > nodes.get():
            names = ", ".join(f"{workload.origin.name} {_units(pods)}" for workload, pods in wanted)
            have = f"{plural(nodes.get(), 'node')} x {per_node}"
            text = f"its servers need {plural(_units(everything), 'GPU')} ({names}), but {have} cannot hold these pods"
            remedy = f"give the pool {plural(needed, 'node')}, or fewer replicas"
            yield Hit(pool.nodes.path or pool.origin.path or pool.name, text, remedy, str(nodes.get()), origin=pool.origin)


def _too_small(workload: Workload, pool: Pool, sizes: list[int], needed: int, nodes: int) -> Hit:
    per_node = pool.gpus_per_node.get()
    if len(set(sizes)) == 1:
        fit = per_node // sizes[0]
        sums = f"{plural(nodes, 'node')} x floor({per_node} / {sizes[0]}) = {nodes * fit} pods fit, but {len(sizes)} are requested"
    else:
        asked = f"{plural(len(sizes), 'pod')} with {plural(sum(sizes), 'GPU')}"
        sums = f"{asked} need {plural(needed, 'node')} of {per_node}, but there are {nodes}"
    remedy = f"give {pool_text(pool)} {plural(needed, 'node')}, or ask for fewer replicas"
    replicas = workload.replicas
    return Hit(where(workload, Place.REPLICAS, replicas), sums, remedy, str(replicas.value or ""), origin=workload.origin)
