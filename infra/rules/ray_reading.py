"""The Ray layer: GPUs of replicas and placement groups, versions that meet, and defaults that hurt."""

import ipaddress
from collections.abc import Iterable, Mapping

from interlock.infra.facts import Bundle, Container, Fact, Pod, Workload
from interlock.infra.rules.findings import Severity
from interlock.infra.rules.reading.units import engine_containers, number, older, pod_count, pod_units, size_of, version_of, where
from interlock.infra.rules.rule import Hit, Settings
from interlock.infra.rules.ver_images import reference


def world_of(workload: Workload) -> int | None:
    """GPUs of one engine; None when a size is not known."""
    engine = workload.engine
    sizes = [size_of(workload, engine.tensor_parallel), size_of(workload, engine.pipeline_parallel), engine.data_parallel.default(1)]
    world = 1
    for size in sizes:
        if not size.known:
            return None
        world *= size.get()
    return world


def cluster_units(workload: Workload) -> int | None:
    """GPUs of all pods of a replica; None when one is not known."""
    total = 0
    for pod in workload.pods:
        units, count = pod_units(workload, pod), pod_count(pod)
        if not units.known or not count.known:
            return None
        total += units.get() * count.get()
    return total


def fractions(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    """RAY-001: an engine's replica takes whole GPUs."""
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


def replica_gpus(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    """RAY-002: the Serve replica leaves the GPUs to the engine's placement group."""
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
            yield Hit(path, text, "take num_gpus away: the bundles carry the GPUs", f"{taken:g}")
        elif world is not None and world > 1 and total is not None:
            yield from _own_replica(workload, world, total, taken, path)


def _own_replica(workload: Workload, world: int, total: int, taken: float, path: str) -> Iterable[Hit]:
    backend = workload.engine.flag("distributed-executor-backend")
    ray_version = version_of(workload.ray.version) if workload.ray else None
    placed = backend.value == "ray" or (ray_version is not None and ray_version < (2, 31, 0))
    if taken >= world and not placed:
        return
    if total < world + taken:
        text = f"the Serve replica takes {taken:g} GPUs and the engine's placement group asks for {world} more, but the cluster has {total}"
        yield Hit(path, text, "set num_gpus 0 on the replica and let placement bundles carry the GPUs", f"{taken:g}")


def start_parameters(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    """RAY-003: ``rayStartParams`` do not contradict the pod's GPUs."""
    if workload.ray is None:
        return
    for pod in workload.pods:
        stated = workload.ray.start_params.get(pod.role, {}).get("num-gpus", Fact()).map(number)
        units = pod_units(workload, pod)
        if not stated.known or not units.known or stated.get() == units.get():
            continue
        level = Severity.ERROR if stated.get() > units.get() else Severity.WARNING
        text = f"Ray is told of {stated.get():g} GPUs in group {pod.role}, but its pods have {units.get()}"
        yield Hit(
            stated.path, text, "take num-gpus away: KubeRay fills it from the container's limits", f"{stated.get():g}", severity=level
        )


def _head(workload: Workload) -> Pod | None:
    return next((pod for pod in workload.pods if pod.role == "head"), None)


def driver(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    """RAY-004: the engine's driver runs on a node of its placement group."""
    ray, head, world = workload.ray, _head(workload), world_of(workload)
    if ray is None or ray.driver_on_head.value is not True or head is None or world is None or world < 2:
        return
    units = pod_units(workload, head)
    if units.known and units.get() == 0:
        text = "the engine's driver runs on the head, which has no GPU: the placement group cannot include its node"
        yield Hit(where(workload, "gpus", units), text, "start the engine on a GPU worker, or give the head GPUs", "0")
        return
    workers = sum(pod_count(pod).value or 1 for pod in workload.pods if pod is not head and (pod_units(workload, pod).value or 0) > 0)
    each = max((pod_units(workload, pod).value or 0 for pod in workload.pods), default=0)
    strategy = next((d.strategy for d in ray.deployments if d.strategy.known), Fact())
    needed = -(-world // each) if each else 0
    if needed and workers + 1 > needed and strategy.value in ("PACK", "SPREAD"):
        text = f"{workers + 1} nodes have GPUs and the group needs {needed}: it may be placed without the driver's node"
        yield Hit(
            strategy.path or where(workload, "gpus"),
            text,
            "start the engine on a worker, or pin the group to the head",
            severity=Severity.WARNING,
        )


def same_versions(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    """RAY-005: head and workers run the same Ray and Python."""
    ray = workload.ray
    if ray is None:
        return
    for name, head, workers in (("Ray", ray.version, ray.worker_versions), ("Python", ray.python, ray.worker_python)):
        for other in workers:
            if not head.known or not other.known or head.get() == other.get():
                continue
            near = name == "Python" and _minor(head.get()) == _minor(other.get())
            text = f"the head runs {name} {head.get()}, a worker {other.get()}: Ray refuses to join processes of different versions"
            level = Severity.WARNING if near else Severity.ERROR
            yield Hit(other.path or head.path, text, "use one image for head and workers", other.get(), severity=level)


def _minor(version: str) -> str:
    return ".".join(version.split(".")[:2])


def image_without_ray(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    """RAY-006: a RayCluster's image has Ray in it."""
    if workload.ray is None or not workload.origin.kind.startswith("Ray"):
        return
    since = version_of(str(settings["without_ray_since"]))
    for pod in workload.pods:
        for container in pod.containers[:1]:
            image = container.image
            ref = reference(image.get()) if image.known else reference("")
            version = version_of(ref.tag)
            official = ref.repository.removeprefix("docker.io/") == "vllm/vllm-openai"
            if official and since and version and version >= since:
                text = f"vllm/vllm-openai {ref.tag} carries no Ray, so KubeRay's ray start fails"
                yield Hit(image.path, text, "use rayproject/ray-llm of a proven track", image.get())


def fault_tolerance(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    """RAY-007: a RayService survives its head."""
    ray = workload.ray
    if ray and ray.kind == "RayService" and not ray.gcs_fault_tolerance.unknown and ray.gcs_fault_tolerance.value is not True:
        text = "without GCS fault tolerance a restart of the head ends all workers, and every model is loaded again"
        path = ray.gcs_fault_tolerance.path or "spec.rayClusterConfig.gcsFaultToleranceOptions"
        yield Hit(path, text, "add gcsFaultToleranceOptions with an external Redis", "off")


def upgrade(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    """RAY-008: the pool holds two clusters while a RayService is changed."""
    ray, units, pool = workload.ray, cluster_units(workload), bundle.pool(workload)
    if ray is None or ray.kind != "RayService" or not units or pool is None or ray.upgrade.value == "None":
        return
    nodes = pool.max_nodes if pool.max_nodes.known else pool.nodes
    have = pool.free.get() + units if pool.free.known else None
    if have is None and nodes.known and pool.gpus_per_node.known:
        have = nodes.get() * pool.gpus_per_node.get()
    if have is not None and have < 2 * units:
        text = f"a change makes a second cluster before the first goes: 2 x {units} GPUs, but the pool has {have}"
        yield Hit(
            ray.upgrade.path or "spec.upgradeStrategy", text, "set upgradeStrategy.type None (with a gap), or keep the GPUs free", str(have)
        )


def shutdown(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    """RAY-009: Serve gives answers the time to end."""
    for deployment in workload.ray.deployments if workload.ray else ():
        given = deployment.graceful_shutdown_timeout
        if not given.unknown and (given.absent or given.get() < float(settings["answer_seconds"])):
            level = Severity.INFO if given.absent else Severity.WARNING
            text = f"graceful_shutdown_timeout_s {given.default(20.0).get():g}: answers that take longer are cut when a replica goes"
            remedy = f"set graceful_shutdown_timeout_s to {settings['answer_seconds']:g}"
            yield Hit(given.path or deployment.path, text, remedy, f"{given.default(20.0).get():g}", severity=level)


def target(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    """RAY-010: the autoscaler's target is one that load can exceed."""
    for deployment in workload.ray.deployments if workload.ray else ():
        goal = deployment.target_ongoing_requests
        if deployment.autoscaling and goal.known and goal.get() > float(settings["most_ongoing"]):
            text = f"target_ongoing_requests {goal.get():g} is never reached, so nothing scales"
            yield Hit(
                goal.path or deployment.path, text, "set it to half of what one replica runs at once (max_num_seqs)", f"{goal.get():g}"
            )


def data_parallel(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    """RAY-011: data parallel inside ray.serve.llm has its own builder."""
    size = workload.engine.data_parallel
    for deployment in workload.ray.deployments if workload.ray else ():
        if deployment.llm and size.known and size.get() > 1:
            text = f"data_parallel_size {size.get()} inside build_openai_app: the service does not become ready"
            yield Hit(size.path or deployment.path, text, "use Serve replicas, or ray.serve.llm's data-parallel builder", str(size.get()))


def node_address(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    """RAY-012: Ray knows a node by the address that vLLM asks for."""
    ray = workload.ray
    asked = "VLLM_HOST_IP" in workload.engine.env or any("VLLM_HOST_IP" in c.env for _, c in engine_containers(workload))
    for group, parameters in ray.start_params.items() if ray else ():
        address = parameters.get("node-ip-address", Fact())
        if asked and address.known and not _is_address(address.get()):
            text = f"Ray registers the node of group {group} as {address.get()}, but the placement group asks for node:<VLLM_HOST_IP>"
            yield Hit(address.path, text, "start Ray with --node-ip-address equal to VLLM_HOST_IP", address.get())


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return "$" in text
    return True


def no_gpu_for_the_engine(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    """RAY-013: a Serve replica of one's own that holds the engine has a GPU."""
    for deployment in workload.ray.deployments if workload.ray else ():
        gpus = deployment.num_gpus
        sizes = (size_of(workload, fact) for fact in (workload.engine.tensor_parallel, workload.engine.pipeline_parallel))
        in_process = not deployment.llm and not deployment.bundles and all(size.value == 1 for size in sizes)
        if in_process and gpus.known and gpus.get() == 0 and not older(workload, str(settings["since"])):
            text = "the replica has no GPU, but vLLM initialises CUDA in the process that makes the engine"
            yield Hit(gpus.path or deployment.path, text, "give the replica num_gpus 1, or a placement group bundle with a GPU", "0")


def _token(values: Mapping[str, Fact[str]]) -> bool:
    return "HF_TOKEN" in values or "HUGGING_FACE_HUB_TOKEN" in values


def _holds_models(container: Container) -> bool:
    return any("cache" in mount.mount_path or "model" in mount.mount_path for mount in container.mounts)


def token_for_workers(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    """RAY-014: the hub token reaches every worker."""
    head = _head(workload)
    if workload.ray is None or head is None or any(_token(d.runtime_env) for d in workload.ray.deployments):
        return
    on_head = any(_token(container.env) for container in head.containers)
    level = Severity.ERROR if "llama" in str(workload.engine.model.value or "").lower() else Severity.WARNING
    for pod in workload.pods:
        bare = pod is not head and not any(_token(c.env) or c.env_from or _holds_models(c) for c in pod.containers)
        if on_head and bare and not _token(workload.engine.env):
            text = f"HF_TOKEN is set on the head only; the workers of group {pod.role} download the model too"
            yield Hit(
                pod.path or where(workload, "env"), text, "give it to every group from a Secret, or in runtime_env.env_vars", severity=level
            )
