"""Pools: whether a pod fits a node of its pool, and whether the pool holds all replicas."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from interlock.infra.facts import Bundle, Container, Fact, Place, Pod, Pool, Role, Workload
from interlock.infra.facts.room import DAEMON_CORES, DAEMON_GIB, Pods, asked_units, nodes_needed
from interlock.infra.rules.findings import Severity
from interlock.infra.rules.reading.room import most_nodes, pods_of, users
from interlock.infra.rules.reading.units import number, pod_count, pod_units, pool_text, together, where
from interlock.infra.rules.rule import Hit, Settings, rule
from interlock.infra.values import GIB, gib, plural


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


_SHOWN = {"cpu": "{:g} cores".format, "memory": gib}


def _asked(pod: Pod, resource: str) -> tuple[float, str]:
    """(what the containers of a pod request together, path of the last request)."""

    def request(container: Container) -> Fact[float]:
        stated = container.requests.get(resource, Fact())
        return (container.limits.get(resource, Fact()) if stated.absent else stated).map(number)

    paths = [fact.path for each in pod.containers if each.role is not Role.INIT and (fact := request(each)).known]
    return together(pod, lambda container: request(container).value or 0.0), paths[-1] if paths else ""


def _cpu_and_memory(workload: Workload, pod: Pod, pool: Pool) -> Iterable[Hit]:
    for resource, have in (("cpu", pool.cpu), ("memory", pool.memory)):
        asked, path = _asked(pod, resource)
        if have.known and asked > have.get():
            show = _SHOWN[resource]
            text = f"{show(asked)} of {resource} in one pod, but a node of {pool_text(pool)} has {show(have.get())} allocatable"
            remedy = f"ask for less than {show(have.get())}, or choose a pool with larger nodes"
            yield Hit(path or where(workload, Place.RESOURCES), text, remedy, f"{asked:g}")


@rule(
    "GPU-004",
    Severity.ERROR,
    demand="A pool has room for all replicas: nodes x the fewest pods that a node's GPUs, cores or memory hold.",
    reason="What is left over on different nodes does not add up for one pod; the missing replicas stay Pending.",
    source="Kubernetes documentation, 'Resource Management for Pods and Containers'",
    remedy="Give the pool more nodes, or ask for fewer or smaller replicas.",
    fault="unschedulable",
    links=("https://kubernetes.io/docs/concepts/configuration/manage-resources-containers/",),
    of="bundle",
    settings={"assumed_daemon_cores": DAEMON_CORES, "assumed_daemon_gib": DAEMON_GIB},
)
def pool_holds_the_replicas(bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    for pool in bundle.pools:
        nodes = most_nodes(pool)
        if not nodes.known or not pool.gpus_per_node.known:
            continue
        per_node = pool.gpus_per_node.get()
        wanted = [(workload, [pod for pod in pods_of(workload) if pod.units <= per_node]) for workload in users(pool, bundle)]
        alone = False
        for workload, pods in wanted:
            needed = nodes_needed(pods, per_node)
            if pods and needed > nodes.get():
                alone = True
                yield _too_small(workload, pool, pods, needed, nodes.get())
        everything = [pod for _, pods in wanted for pod in pods]
        needed = 0 if alone or len(wanted) < 2 else nodes_needed(everything, per_node)
        if needed > nodes.get():
            names = ", ".join(f"{workload.origin.name} {asked_units(pods)}" for workload, pods in wanted)
            have = f"{plural(nodes.get(), 'node')} x {per_node}"
            text = f"its servers need {plural(asked_units(everything), 'GPU')} ({names}), but {have} cannot hold these pods"
            remedy = f"give the pool {plural(needed, 'node')}, or fewer replicas"
            yield Hit(pool.nodes.path or pool.origin.path or pool.name, text, remedy, str(nodes.get()), origin=pool.origin)
        for workload, pods in wanted:
            if pods and nodes_needed(pods, per_node) <= nodes.get():
                yield from _beside_gpus(workload, pool, pods, nodes.get(), settings)


def _beside_gpus(workload: Workload, pool: Pool, pods: Sequence[Pods], nodes: int, settings: Settings) -> Iterable[Hit]:
    """Cores and memory of equal pods on the nodes. What DaemonSets take is subtracted; an assumed share of theirs only warns."""
    if len(workload.pods) != 1 or not pool.gpus_per_node.known:
        return
    by_gpus = pool.gpus_per_node.get() // pods[0].units
    pod_total = sum(each.count for each in pods)
    assumed = {"cpu": float(settings["assumed_daemon_cores"]), "memory": float(settings["assumed_daemon_gib"]) * GIB}
    for resource, have, daemons in (("cpu", pool.cpu, pool.daemon_cpu), ("memory", pool.memory, pool.daemon_memory)):
        asked, path = _asked(workload.pods[0], resource)
        if not have.known or not asked:
            continue
        taken = daemons.get() if daemons.known else 0.0
        ways = ((taken, Severity.ERROR), (assumed[resource], Severity.WARNING)) if not daemons.known else ((taken, Severity.ERROR),)
        for away, severity in ways:
            room = max(have.get() - away, 0.0)
            each = int(room / asked + 1e-9)
            if each < by_gpus and nodes * each < pod_total and asked <= have.get():
                crowd = _Crowd(resource, asked, path, have.get(), away, each)
                yield replace(_crowded(workload, pool, crowd, pod_total, nodes), severity=severity)
                break


@dataclass(frozen=True, slots=True)
class _Crowd:
    """One resource of which a node has too little for its pods."""

    resource: str
    asked: float
    path: str
    have: float
    away: float
    each: int


def _crowded(workload: Workload, pool: Pool, crowd: _Crowd, count: int, nodes: int) -> Hit:
    show = _SHOWN[crowd.resource]
    less = f" less {show(crowd.away)} of DaemonSets" if crowd.away else ""
    text = (
        f"{plural(count, 'pod')} x {show(crowd.asked)} of {crowd.resource}: a node of {pool_text(pool)} has {show(crowd.have)}{less} "
        f"and holds {crowd.each} of them, {plural(nodes, 'node')} {nodes * crowd.each}, although the GPUs would do"
    )
    step = GIB / 10 if crowd.resource == "memory" else 0.1
    most = show(math.floor((crowd.have - crowd.away) / -(-count // nodes) / step + 1e-6) * step)
    remedy = f"ask for at most {most} per pod" + (
        f", or give {pool_text(pool)} {plural(-(-count // crowd.each), 'node')}" if crowd.each else ""
    )
    return Hit(crowd.path or where(workload, Place.RESOURCES), text, remedy, f"{crowd.asked:g}", origin=workload.origin)


EXCLUSIVE = "leaderworkerset.sigs.k8s.io/exclusive-topology"


@rule(
    "GPU-024",
    Severity.ERROR,
    demand="The nodes of a replica fit one domain of its pool, and there is a domain for every replica.",
    reason="With exclusive topology all pods of a replica must lie in one rack or fabric; without room in one they stay Pending.",
    source="sigs.k8s.io/lws pkg/webhooks/pod_webhook.go (SetExclusiveAffinities)",
    remedy="Choose a layout of fewer nodes, fewer replicas, or a pool with larger domains.",
    fault="unschedulable",
    links=("https://lws.sigs.k8s.io/docs/concepts/",),
)
def replica_fits_a_domain(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    pool = bundle.pool(workload)
    if pool is None or EXCLUSIVE not in workload.origin.annotations or not pool.domain_nodes.known or not pool.gpus_per_node.known:
        return
    units = [(each, count) for pod in workload.pods if (each := pod_units(workload, pod)).known and (count := pod_count(pod)).known]
    size = pool.domain_nodes.get()
    needed = nodes_needed([Pods(each.get(), "", count.get()) for each, count in units], pool.gpus_per_node.get())
    path = pool.domain_nodes.path or where(workload, Place.GPUS)
    if needed > size:
        text = f"a replica takes {plural(needed, 'node')}, but a domain of {pool_text(pool)} has {size}"
        yield Hit(path, text, f"spread a replica over at most {plural(size, 'node')}, or name a domain with more of them", str(size))
        return
    nodes, replicas = most_nodes(pool), workload.replicas.default(1)
    if nodes.known and replicas.known and needed and replicas.get() > nodes.get() // size:
        sums = f"{plural(nodes.get(), 'node')} / {size} = {plural(nodes.get() // size, 'domain')}"
        text = f"{sums}, but {plural(replicas.get(), 'replica')} take a domain each, alone"
        fix = f"give {pool_text(pool)} {plural(replicas.get() * size, 'node')}, or ask for fewer replicas"
        yield Hit(where(workload, Place.REPLICAS, workload.replicas), text, fix, str(replicas.get()))


def _too_small(workload: Workload, pool: Pool, pods: Sequence[Pods], needed: int, nodes: int) -> Hit:
    per_node, count = pool.gpus_per_node.get(), sum(each.count for each in pods)
    if len({each.units for each in pods}) == 1:
        fit = per_node // pods[0].units
        sums = f"{plural(nodes, 'node')} x floor({per_node} / {pods[0].units}) = {plural(nodes * fit, 'pod')}, but {count} are requested"
    else:
        asked = f"{plural(count, 'pod')} with {plural(asked_units(pods), 'GPU')}"
        sums = f"{asked} need {plural(needed, 'node')} of {per_node}, but there are {nodes}"
    replicas = workload.replicas
    fewer = "let a replica take fewer GPUs" if replicas.known and replicas.get() <= 1 else "ask for fewer replicas"
    remedy = f"give {pool_text(pool)} {plural(needed, 'node')}, or {fewer}"
    return Hit(where(workload, Place.REPLICAS, replicas), sums, remedy, str(replicas.value or ""), origin=workload.origin)
