"""Rollouts and disruption: surge pods that need a free GPU, budgets that no drain can satisfy, deadlines."""

import math
from collections.abc import Iterable

from interlock.infra.facts import Budget, Bundle, Fact, Place, Pool, Workload
from interlock.infra.rules.findings import Severity
from interlock.infra.rules.net_services import same_namespace, selected
from interlock.infra.rules.reading.room import room_for
from interlock.infra.rules.reading.units import counted, engine_containers, pod_count, pod_units, pool_text, shared_cards, where
from interlock.infra.rules.roll_probes import budget, killing_probe, slowest_start
from interlock.infra.rules.rule import Hit, Settings, drop, put, rule
from interlock.infra.rules.sto_volumes import claim_of, one_node, pinned
from interlock.infra.values import plural

_ROLLING = ("Deployment", "Server")


def portion(text: str, of: int, up: bool) -> int:
    """A number or percentage of ``of`` as Kubernetes rounds it. Raises ValueError."""
    if text.strip().endswith("%"):
        share = float(text.strip()[:-1]) / 100 * of
        return math.ceil(share - 1e-9) if up else math.floor(share + 1e-9)
    return int(text)


def surge(workload: Workload) -> tuple[int, int] | None:
    """(maxSurge, maxUnavailable) as pods of a rolling update; None when it does not roll or cannot be told."""
    strategy = workload.rollout.strategy.default("RollingUpdate")
    replicas = workload.replicas.default(1)
    if workload.origin.kind not in _ROLLING or strategy.value != "RollingUpdate" or not replicas.known:
        return None
    above = workload.rollout.max_surge.default("25%").map(lambda text: portion(text, replicas.get(), up=True))
    below = workload.rollout.max_unavailable.default("25%").map(lambda text: portion(text, replicas.get(), up=False))
    if not above.known or not below.known:
        return None
    if above.get() == 0 and below.get() == 0 and not _both_stated_zero(workload):
        return 0, 1
    return above.get(), below.get()


def _both_stated_zero(workload: Workload) -> bool:
    return all(fact.known and fact.get().strip() in ("0", "0%") for fact in (workload.rollout.max_surge, workload.rollout.max_unavailable))


@rule(
    "ROLL-002",
    Severity.ERROR,
    demand="A rolling update may add a pod or remove one.",
    reason="With both at 0 it can never progress; the API server refuses it.",
    source="Kubernetes documentation, 'Deployments' (max unavailable, max surge); opendatahub-io/kserve#1822",
    remedy="Set maxUnavailable to 1.",
    fault="rollout-deadlock",
    links=("https://kubernetes.io/docs/concepts/workloads/controllers/deployment/#rolling-update-deployment",),
)
def neither_moves(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    if _both_stated_zero(workload):
        text = "maxSurge 0 and maxUnavailable 0: a rolling update may neither add a pod nor remove one"
        yield Hit(
            where(workload, Place.STRATEGY, workload.rollout.max_surge),
            text,
            "set maxUnavailable to 1 (without a spare GPU)",
            "0/0",
            fixes=put(workload.rollout.max_unavailable.path, 1),
        )


@rule(
    "ROLL-003",
    Severity.ERROR,
    demand="The surge pod of a rolling update finds a free GPU and its volume.",
    reason="The new pod waits for the GPU that the old one holds, and the old one waits for the new: the update stands still.",
    source="Kubernetes documentation, 'Deployments' (defaults 25% rounded up and down); ai-runway/airunway#400",
    remedy="Use Recreate or maxSurge 0, or keep a GPU free.",
    fault="rollout-deadlock",
    links=("https://kubernetes.io/docs/concepts/workloads/controllers/deployment/#strategy",),
)
def surge_fits(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    moves = surge(workload)
    if moves is None or moves[1] > 0 or moves[0] == 0 or not workload.pods or workload.replicas.value == 0:
        return
    units = pod_units(workload, workload.pods[0])
    if not units.known or units.get() == 0:
        return
    path = workload.rollout.path or where(workload, Place.STRATEGY, workload.rollout.strategy)
    starts = f"{plural(moves[0], 'pod')} with {plural(units.get(), 'GPU')}"
    asked = f"a rolling update starts {starts} before it stops one (maxSurge {moves[0]}, maxUnavailable 0)"
    remedy = "set strategy Recreate, or maxSurge 0 and maxUnavailable 1"
    free, pool = _free(workload, bundle), bundle.pool(workload)
    shared = shared_cards(workload, bundle)
    if free is not None and free < units.get():
        yield Hit(path, f"{asked}, but {free} are free", remedy, "RollingUpdate")
    elif free is not None and shared and pool and pool.free.absent and not _bounded(workload, pool):
        yield Hit(path, f"{asked} on a shared card: both hold their memory at once", remedy, severity=Severity.WARNING)
    elif free is None:
        yield from _unknown_capacity(workload, bundle, path, asked, remedy)


def _unknown_capacity(workload: Workload, bundle: Bundle, path: str, asked: str, remedy: str) -> Iterable[Hit]:
    pod = workload.pods[0]
    held = [volume.claim for volume in pod.volumes if one_node(claim_of(volume, workload, bundle))]
    chosen = workload.rollout.max_unavailable.known and workload.rollout.max_unavailable.get() != "25%"
    if held and chosen:
        text = f"{asked}, and claim {held[0]} (for one node) stays with the old pod"
        yield Hit(path, text, remedy, "RollingUpdate")
    elif held or pinned(pod) or chosen:
        why = f"claim {held[0]} (for one node) stays with the old pod" if held else "whether a GPU is free is not known here"
        yield Hit(path, f"{asked}; {why}", remedy, "RollingUpdate", severity=Severity.WARNING)
    else:
        text = f"{asked}; whether a GPU is free is not known here"
        yield Hit(path, text, remedy, severity=Severity.INFO, detail="Undecided: it depends on the cluster's spare GPUs.")


def _free(workload: Workload, bundle: Bundle) -> int | None:
    """Units that a surge pod may take beside all pods of the pool; None when it is not known."""
    pool = bundle.pool(workload)
    if pool is None:
        return None
    return pool.free.get() if pool.free.known else room_for(pod_units(workload, workload.pods[0]), pool, bundle)


def _bounded(workload: Workload, pool: Pool) -> bool:
    """Whether every engine of a shared card stays in its even part of it, so that one more fits where a share is free."""
    part, shares = workload.engine.flag("gpu-memory-utilization").map(float), pool.shares
    return part.known and shares.known and part.get() * shares.get() <= 1


def _covered(plan: Budget, bundle: Bundle) -> list[Workload]:
    found = {id(workload): workload for workload, _ in selected(plan.selector, bundle) if workload.engine.name == "vllm"}
    return [workload for workload in found.values() if same_namespace(plan.origin.namespace, workload.origin.namespace)]


def _has_budget(workload: Workload, bundle: Bundle) -> bool:
    if "with a budget" not in bundle.memo:
        bundle.memo["with a budget"] = {id(covered) for plan in bundle.budgets for covered in _covered(plan, bundle)}
    return id(workload) in bundle.memo["with a budget"]


@rule(
    "ROLL-024",
    Severity.ERROR,
    demand="Pods that may not share a node have nodes: one for each, and one more for a rolling update that adds a pod first.",
    reason="The pod that finds no node of its own never starts, and a rolling update waits with it.",
    source="Kubernetes documentation, 'Assigning Pods to Nodes' (requiredDuringSchedulingIgnoredDuringExecution)",
    remedy="Prefer nodes of their own (preferredDuringScheduling...), or let the rollout stop a pod first.",
    fault="hard-anti-affinity",
    links=("https://kubernetes.io/docs/concepts/scheduling-eviction/assign-pod-node/",),
)
def nodes_apart(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    pool, replicas, moves = bundle.pool(workload), workload.replicas.default(1), surge(workload)
    if len(workload.pods) != 1 or not workload.pods[0].apart or not replicas.known or replicas.get() < 1:
        return
    nodes = (pool.max_nodes if pool.max_nodes.known else pool.nodes) if pool else Fact()
    path, wish = (
        f"{workload.pods[0].path}.affinity.podAntiAffinity",
        "prefer the anti-affinity (preferredDuringSchedulingIgnoredDuringExecution)",
    )
    more = moves[0] if moves and moves[1] == 0 else 0
    apart = f"each of {plural(replicas.get(), 'pod')} wants a node of its own"
    if not nodes.known:
        if more:
            text = f"{apart}, and a rolling update {plural(more, 'node')} more; how many there are is not known here"
            yield Hit(path, text, f"{wish}, or set maxSurge 0 and maxUnavailable 1", severity=Severity.INFO)
    elif pool and replicas.get() > nodes.get():
        yield Hit(path, f"{apart}, and {pool_text(pool)} has {nodes.get()}", wish)
    elif pool and replicas.get() + more > nodes.get():
        text = f"{apart}, a rolling update {plural(more, 'node')} more, and {pool_text(pool)} has {nodes.get()}: the update stands still"
        yield Hit(path, text, f"{wish}, or set maxSurge 0 and maxUnavailable 1")


@rule(
    "ROLL-004",
    Severity.ERROR,
    demand="A disruption budget lets at least one pod go.",
    reason="Evictions are refused: node upgrades and autoscalers hang until somebody deletes the budget.",
    source="Kubernetes documentation, 'Specifying a Disruption Budget'; kubernetes/kubernetes#48307",
    remedy="Use maxUnavailable 1.",
    fault="pdb-blocks-drain",
    links=("https://kubernetes.io/docs/tasks/run-application/configure-pdb/",),
    of="bundle",
)
def budget_allows_a_drain(bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    for plan in bundle.budgets:
        covered = _covered(plan, bundle)
        if not covered:
            continue
        counts = [_most_replicas(workload, bundle) for workload in covered]
        total = sum(count.get() for count in counts) if all(count.known for count in counts) else None
        blocked = _blocked(plan, total)
        if blocked:
            remedy = "set maxUnavailable to 1 instead (or run a replica more than minAvailable)"
            path = plan.max_unavailable.path if plan.max_unavailable.known else plan.min_available.path
            value = str(plan.max_unavailable.value if plan.max_unavailable.known else plan.min_available.value)
            text = f"{blocked}: a node drain or upgrade never completes"
            fixes = put("spec.maxUnavailable", 1)
            fixes += drop(plan.min_available.path) if plan.min_available.known else ()
            yield Hit(path or "spec", text, remedy, value, origin=plan.origin, fixes=fixes)


def _most_replicas(workload: Workload, bundle: Bundle) -> Fact[int]:
    """The most replicas a workload can have: its autoscaler's maximum, else its own number."""
    if _most_replicas not in bundle.memo:
        # The first of each name counts, so the last to be written is the first.
        bundle.memo[_most_replicas] = {each.target.get(): each for each in reversed(bundle.autoscalers) if each.target.known}
    scaler = bundle.memo[_most_replicas].get(workload.origin.name)
    if scaler is not None:
        most: Fact[int] = scaler.max_replicas
        return most
    pods = sum(pod_count(pod).value or 1 for pod in workload.pods)
    stated = workload.replicas if workload.autoscaled else workload.replicas.default(1)
    return stated.map(lambda replicas: replicas * pods)


def _blocked(plan: Budget, total: int | None) -> str:
    """Why the budget allows no disruption, or the empty string."""
    lost, kept = plan.max_unavailable, plan.min_available
    if lost.known and lost.get().strip() in ("0", "0%"):
        return "maxUnavailable 0 lets no pod go"
    if kept.known and kept.get().strip() == "100%":
        return "minAvailable 100% lets no pod go"
    least = kept.map(lambda text: portion(text, total or 0, up=True))
    if total and least.known and not lost.known and least.get() >= total:
        return f"minAvailable {kept.get()} of {plural(total, 'pod')} lets {max(total - least.get(), 0)} go"
    return ""


@rule(
    "ROLL-005",
    Severity.WARNING,
    demand="Several replicas have a disruption budget.",
    reason="Without one a drain of two nodes takes the whole service, and each replica takes minutes to come back.",
    source="Kubernetes documentation, 'Disruptions'",
    remedy="Add a PodDisruptionBudget with maxUnavailable 1.",
    links=("https://kubernetes.io/docs/concepts/workloads/pods/disruptions/",),
)
def budget_exists(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    if not bundle.closed or not workload.replicas.known or workload.replicas.get() < 2:
        return
    if not _has_budget(workload, bundle):
        text = f"{plural(workload.replicas.get(), 'replica')} and no PodDisruptionBudget: a drain may take all of them at once"
        yield Hit(where(workload, Place.REPLICAS, workload.replicas), text, "add a PodDisruptionBudget with maxUnavailable 1")


@rule(
    "ROLL-006",
    Severity.WARNING,
    demand="A Deployment waits longer than its pods may take to start.",
    reason="It is reported as failed while the model still loads; tools that wait for it roll back or stop.",
    source="Kubernetes documentation, 'Deployments' (progressDeadlineSeconds, 600 by default)",
    remedy="Raise progressDeadlineSeconds above the startup budget.",
    links=("https://kubernetes.io/docs/concepts/workloads/controllers/deployment/#progress-deadline-seconds",),
    ours=Severity.ERROR,
)
def deadline(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    if workload.origin.kind not in _ROLLING:
        return
    patience = workload.rollout.progress_deadline.default(600)
    slow = slowest_start(workload)
    if slow is not None and patience.known and slow < patience.get():
        return  # A generous startup probe is right; the model is ready long before.
    for _, container in engine_containers(workload):
        probe = killing_probe(container)
        allowed = budget(probe) if probe and probe.kind == "startup" else Fact()
        if allowed.known and patience.known and allowed.get() > patience.get():
            text = f"the startup probe allows {allowed.get():g} s, but after {patience.get():g} s the Deployment counts as failed"
            path = workload.rollout.progress_deadline.path or where(workload, Place.PROGRESS_DEADLINE)
            remedy = f"set progressDeadlineSeconds to at least {allowed.get() + 60:g}"
            yield Hit(path, text, remedy, f"{patience.get():g}", fixes=put(path, math.ceil(allowed.get() + 60)))


@rule(
    "ROLL-007",
    Severity.WARNING,
    demand="An engine's pod belongs to a controller.",
    reason="A bare Pod ends with its node.",
    source="Kubernetes documentation, 'Pods' (working with Pods)",
    remedy="Use a Deployment.",
    fault="bare-pod",
)
def bare_pod(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    if workload.origin.kind == "Pod" and any(counted(container) for _, container in engine_containers(workload)):
        text = "a bare Pod is not started again when its node is drained or fails"
        yield Hit(workload.origin.path or "kind", text, "make it a Deployment with one replica", "Pod")
