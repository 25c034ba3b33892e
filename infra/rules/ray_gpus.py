"""GPUs under Ray: what replicas, placement groups and start parameters ask for, and what the pods have."""

from collections.abc import Iterable

from interlock.infra.facts import Bundle, Fact, Place, Workload
from interlock.infra.rules.findings import Severity
from interlock.infra.rules.reading.ray import cluster_units, head_of, world_of
from interlock.infra.rules.reading.units import accelerators, number, older, pod_count, pod_units, size_of, where
from interlock.infra.rules.rule import Hit, Settings, drop, put, rule
from interlock.infra.values import plural

_LLM = ("https://docs.ray.io/en/latest/serve/llm/index.html",)
_KUBERAY = ("https://docs.ray.io/en/latest/cluster/kubernetes/user-guides/rayservice-high-availability.html",)


@rule(
    "RAY-001",
    Severity.ERROR,
    demand="An engine's replica takes whole GPUs.",
    reason="Ray only counts; vLLM takes gpu-memory-utilization of the whole card, so a second fraction on it runs out of memory.",
    source="docs.ray.io, 'Accelerator support' (fractional accelerators are not enforced)",
    remedy="Give whole GPUs.",
    fault="fractional-ray-gpu",
)
def fractions(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    for deployment in workload.ray.deployments if workload.ray else ():
        gpus = deployment.num_gpus
        parts = [gpus.get()] if gpus.known else []
        parts += [bundle_.get("GPU", 0.0) for bundle_ in deployment.bundles]
        broken = next((part for part in parts if part != int(part)), None)
        if broken is not None:
            text = f"{broken:g} of a GPU for an engine: vLLM takes its share of memory as if alone on the card"
            yield Hit(
                gpus.path or deployment.path, text, "give whole GPUs (share cards below Ray: MIG, or one engine per card)", f"{broken:g}"
            )


@rule(
    "RAY-002",
    Severity.ERROR,
    demand="The Serve replica leaves the GPUs to the engine's placement group.",
    reason="What the replica's actor reserves is missing in the placement group: the engine waits for GPUs that nobody gives back.",
    source="ray-project/kuberay#2354, #3436; vllm-project/vllm#973; ray/llm/_internal/serve (placement bundles)",
    remedy="Set no num_gpus on the replica.",
    links=_LLM,
)
def replica_gpus(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    world, total = world_of(workload), cluster_units(workload)
    for deployment in workload.ray.deployments if workload.ray else ():
        gpus = deployment.num_gpus
        if not gpus.known or gpus.get() <= 0:
            continue
        path, taken = gpus.path or deployment.path, gpus.get()
        if deployment.llm and world is not None:
            text = (
                f"num_gpus {taken:g} on a ray.serve.llm deployment is added to the first bundle of the placement group (TP x PP = {world})"
            )
            yield Hit(path, text, "remove num_gpus: the bundles carry the GPUs", f"{taken:g}", fixes=drop(path))
        elif world is not None and world > 1 and total is not None:
            yield from _own_replica(workload, world, total, taken, path)


def _own_replica(workload: Workload, world: int, total: int, taken: float, path: str) -> Iterable[Hit]:
    backend = workload.engine.flag("distributed-executor-backend")
    ray_version = workload.ray.release if workload.ray else None
    placed = backend.value == "ray" or (ray_version is not None and ray_version < (2, 31, 0))
    if taken >= world and not placed:
        return
    if total < world + taken:
        asked = f"the Serve replica takes {plural(taken, 'GPU')} and the engine's placement group asks for {world} more"
        text = f"{asked}, but the cluster has {total}"
        yield Hit(path, text, "set num_gpus 0 on the replica and let placement bundles carry the GPUs", f"{taken:g}", fixes=put(path, 0))


@rule(
    "RAY-003",
    Severity.ERROR,
    demand="rayStartParams state no other GPUs than the pod has.",
    reason="Ray schedules on what it is told: more than there are, and engines start where no GPU is; fewer, and GPUs idle.",
    source="KubeRay documentation, 'RayCluster configuration' (rayStartParams are filled from the resources)",
    remedy="Leave num-gpus out.",
    links=("https://docs.ray.io/en/latest/cluster/kubernetes/user-guides/config.html",),
)
def start_parameters(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    if workload.ray is None:
        return
    for pod in workload.pods:
        stated = workload.ray.start_params.get(pod.role, {}).get("num-gpus", Fact()).map(number)
        units = pod_units(workload, pod)
        if not stated.known or not units.known or stated.get() == units.get():
            continue
        level = Severity.ERROR if stated.get() > units.get() else Severity.WARNING
        text = f"Ray is told of {plural(stated.get(), 'GPU')} in group {pod.role}, but its pods have {units.get()}"
        yield Hit(
            stated.path,
            text,
            "remove num-gpus: KubeRay fills it from the container's limits",
            f"{stated.get():g}",
            severity=level,
            fixes=drop(stated.path),
        )


@rule(
    "RAY-004",
    Severity.ERROR,
    demand="The engine's driver runs on a node of its placement group.",
    reason="vLLM refuses a placement group that does not include the driver's node.",
    source="vllm/v1/executor/ray_utils.py; vllm-project/vllm#3190, #3293",
    remedy="Start the engine on a GPU worker.",
)
def driver(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    ray, head, world = workload.ray, head_of(workload), world_of(workload)
    if ray is None or ray.driver_on_head.value is not True or head is None or world is None or world < 2:
        return
    units = pod_units(workload, head)
    if units.known and units.get() == 0:
        text = "the engine's driver runs on the head, which has no GPU: the placement group cannot include its node"
        yield Hit(where(workload, Place.GPUS, units), text, "start the engine on a GPU worker, or give the head GPUs", "0")
        return
    workers = sum(pod_count(pod).value or 1 for pod in workload.pods if pod is not head and (pod_units(workload, pod).value or 0) > 0)
    each = max((pod_units(workload, pod).value or 0 for pod in workload.pods), default=0)
    strategy = next((d.strategy for d in ray.deployments if d.strategy.known), Fact())
    needed = -(-world // each) if each else 0
    if needed and workers + 1 > needed and strategy.value in ("PACK", "SPREAD"):
        text = f"{workers + 1} nodes have GPUs and the group needs {needed}: it may be placed without the driver's node"
        yield Hit(
            strategy.path or where(workload, Place.GPUS),
            text,
            "start the engine on a worker, or pin the group to the head",
            severity=Severity.WARNING,
        )


@rule(
    "RAY-008",
    Severity.WARNING,
    demand="The pool holds two clusters while a RayService is changed.",
    reason="The new cluster waits for GPUs that the old one holds; the change never ends.",
    source="docs.ray.io, 'RayService' (zero downtime upgrade); ray-project/kuberay#1476",
    remedy="Keep the GPUs free, or upgrade with a gap.",
    links=_KUBERAY,
)
def upgrade(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    ray, units, pool = workload.ray, cluster_units(workload), bundle.pool(workload)
    if ray is None or ray.kind != "RayService" or not units or pool is None or ray.upgrade.value == "None":
        return
    nodes = pool.max_nodes if pool.max_nodes.known else pool.nodes
    have = pool.free.get() + units if pool.free.known else None
    if have is None and nodes.known and pool.gpus_per_node.known:
        have = nodes.get() * pool.gpus_per_node.get()
    if have is not None and have < 2 * units:
        text = f"a change makes a second cluster before the first goes: 2 x {plural(units, 'GPU')}, but the pool has {have}"
        yield Hit(
            ray.upgrade.path or "spec.upgradeStrategy", text, "set upgradeStrategy.type None (with a gap), or keep the GPUs free", str(have)
        )


@rule(
    "RAY-013",
    Severity.ERROR,
    demand="A Serve replica that holds the engine has a GPU.",
    reason="Without one CUDA finds no device in the process.",
    source="ray-project/ray#51154",
    remedy="Give the replica num_gpus 1 or a bundle.",
    settings={"since": "0.7.2"},
)
def no_gpu_for_the_engine(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    for deployment in workload.ray.deployments if workload.ray else ():
        gpus = deployment.num_gpus
        sizes = (size_of(workload, fact) for fact in (workload.engine.tensor_parallel, workload.engine.pipeline_parallel))
        in_process = not deployment.llm and not deployment.bundles and all(size.value == 1 for size in sizes)
        if in_process and gpus.known and gpus.get() == 0 and not older(workload, str(settings["since"])):
            text = "the replica has no GPU, but vLLM initialises CUDA in the process that makes the engine"
            remedy = "set num_gpus 1 on the replica, or give it a placement group bundle with a GPU"
            yield Hit(gpus.path or deployment.path, text, remedy, "0", fixes=put(gpus.path, 1))


@rule(
    "RAY-017",
    Severity.ERROR,
    demand="A cluster whose engines want GPUs has groups with GPUs.",
    reason="Ray waits for a resource that no pod offers: the deployment stays in DEPLOYING forever.",
    source="docs.ray.io, 'Resources' (ray_actor_options, placement groups); KubeRay documentation, 'Using GPUs'",
    remedy="Give a worker group GPUs.",
    fault="no-gpu-resource",
    links=("https://docs.ray.io/en/latest/cluster/kubernetes/user-guides/gpu.html",),
)
def some_gpu(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    if workload.ray is None or not workload.ray.deployments or not workload.pods or workload.vendor.value not in (None, "nvidia"):
        return
    if any(pod_units(workload, pod).unknown for pod in workload.pods):
        return
    told = (params.get("num-gpus", Fact()).map(number) for params in workload.ray.start_params.values())
    if any(not each.absent and each.value != 0 for each in told):
        return  # Ray offers what it is told of, so nothing waits; that no card is behind it is RAY-003
    asks = [each for pod in workload.pods for container in pod.containers for each in (*accelerators(container), *container.claims)]
    for deployment in workload.ray.deployments if not asks else ():
        wanted = deployment.num_gpus.value or max((each.get("GPU", 0.0) for each in deployment.bundles), default=0.0)
        if wanted > 0 or (deployment.llm and not deployment.bundles):
            text = f"replicas of {deployment.name or 'the application'} want GPUs, and no group of the cluster has one"
            path = deployment.num_gpus.path or where(workload, Place.GPUS)
            yield Hit(path, text, "add nvidia.com/gpu to the limits of a worker group", f"{wanted:g}" if wanted else "")
