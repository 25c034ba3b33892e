"""Placement groups of Ray Serve: whether the worker groups can hold what each replica asks for, and all replicas together."""

import math
from collections.abc import Iterable, Sequence

from interlock.infra.facts import Bundle, ServeDeployment, Workload
from interlock.infra.rules.findings import Severity
from interlock.infra.rules.reading.ray import head_of
from interlock.infra.rules.reading.units import pod_count, pod_units, size_of
from interlock.infra.rules.rule import Hit, Settings, rule
from interlock.infra.values import plural

_GROUPS = ("https://docs.ray.io/en/latest/ray-core/scheduling/placement-group.html",)


def _asked(workload: Workload, deployment: ServeDeployment) -> Sequence[float]:
    """GPUs of each bundle of one placement group; empty where it is not known."""
    if deployment.bundles:
        return [each.get("GPU", 0.0) for each in deployment.bundles]
    sizes = [size_of(workload, each) for each in (workload.engine.tensor_parallel, workload.engine.pipeline_parallel)]
    if not deployment.llm or any(not each.known for each in sizes):
        return []
    return [deployment.per_worker.get("GPU", 1.0) if deployment.per_worker else 1.0] * (sizes[0].get() * sizes[1].get())


def _pods(workload: Workload) -> list[tuple[int, int]] | None:
    """(GPUs, number) of each group that may hold a bundle; None where one is not known."""
    found = []
    for pod in workload.pods:
        units, count = pod_units(workload, pod), pod_count(pod)
        if not units.known or not count.known:
            return None
        found.append((units.get(), count.get()))
    return found


@rule(
    "RAY-022",
    Severity.ERROR,
    demand="The worker groups of a Ray cluster hold a placement group of each engine.",
    reason="Ray waits for a place that no pod can give: the deployment stays in DEPLOYING forever, and no error is told.",
    source="Ray 2.60: placement groups of these shapes stay pending on a real cluster (tests/engine/test_ray.py)",
    remedy="Give the group's pods as many GPUs as a placement group takes, or make the engine smaller.",
    links=_GROUPS,
)
def one_group_fits(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    pods = _pods(workload) if workload.ray else None
    for deployment in workload.ray.deployments if workload.ray and pods else ():
        asked = _asked(workload, deployment)
        largest, total = max((units for units, _ in pods or ()), default=0), sum(units * count for units, count in pods or ())
        need = sum(asked)
        # Without any GPU in the cluster, and with one on the replica's actor, other rules tell it.
        if not asked or not largest or deployment.num_gpus.value:
            continue
        path = deployment.strategy.path or workload.engine.tensor_parallel.path or deployment.path
        if max(asked) > largest:
            text = f"a bundle of {plural(max(asked), 'GPU')} fits no pod: the largest of its groups has {largest}"
        elif deployment.strategy.value == "STRICT_PACK" and need > largest:
            text = f"STRICT_PACK puts {plural(need, 'GPU')} (TP x PP) into one pod, and the largest of its groups has {largest}"
        elif need > total:
            text = f"one replica takes {plural(need, 'GPU')} (TP x PP), and the groups that may hold it have {total} in all"
        else:
            continue
        yield Hit(path, text, "make the pods of its group larger, or the engine smaller", f"{need:g}")


@rule(
    "RAY-023",
    Severity.ERROR,
    demand="The worker groups hold all replicas of a Serve deployment.",
    reason="Ray leaves the replicas beyond the workers pending; Serve reports UPDATING forever.",
    source="Ray 2.60: a placement group more than the workers hold stays pending on a real cluster (tests/engine/test_ray.py)",
    remedy="Raise maxReplicas of the group, or lower the replicas.",
    links=_GROUPS,
)
def all_replicas_fit(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    pods = _pods(workload) if workload.ray else None
    for deployment in workload.ray.deployments if workload.ray and pods else ():
        asked, ranks = _asked(workload, deployment), workload.engine.data_parallel.default(1)
        wanted = deployment.most_replicas if deployment.most_replicas.known else deployment.replicas
        need = sum(asked) * (ranks.value or 0)
        whole = sum(asked) if deployment.strategy.value == "STRICT_PACK" else max(asked, default=0.0)
        held = sum(_groups(units, count, sum(asked), whole) for units, count in pods or ())
        if not need or not wanted.known or not held or wanted.get() * ranks.get() <= held:
            continue
        level = Severity.ERROR if wanted is deployment.replicas else Severity.WARNING
        text = f"{plural(wanted.get(), 'replica')} x {need:g} GPUs = {wanted.get() * need:g}, and the groups that may hold them"
        text += f" have {sum(units * count for units, count in pods or ())}"
        yield Hit(wanted.path or deployment.path, text, "raise maxReplicas of its worker group", str(wanted.get()), severity=level)


def _groups(units: int, count: int, asked: float, whole: float) -> float:
    """Placement groups that ``count`` pods of ``units`` hold at most; ``whole``: GPUs that lie in one pod."""
    usable = math.floor(units / whole) * whole if whole else 0
    return math.floor(usable * count / asked) if asked else 0


@rule(
    "RAY-024",
    Severity.WARNING,
    demand="The head of a Ray cluster with GPU workers has no GPUs.",
    reason="An engine that lands on the head goes with it, and takes memory from the processes that keep the cluster together.",
    source="docs.ray.io, 'Best practices for a large cluster' (num-cpus 0, no work on the head)",
    remedy="Remove the GPUs from the head, and give it num-cpus 0.",
    links=("https://docs.ray.io/en/latest/cluster/vms/user-guides/large-cluster-best-practices.html",),
    ours=Severity.ERROR,
)
def head_without_gpus(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    head = head_of(workload) if workload.ray else None
    others = [pod_units(workload, pod).value or 0 for pod in workload.pods if pod is not head]
    if head is None or not workload.ray or not workload.ray.deployments or not any(others):
        return
    units = pod_units(workload, head)
    if units.known and units.get() > 0:
        text = f"the head has {plural(units.get(), 'GPU')} beside groups of GPU workers, so an engine may be placed on it"
        yield Hit(units.path or head.path, text, "remove the GPUs from the head", str(units.get()))
