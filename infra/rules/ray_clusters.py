"""Ray clusters and Serve: versions that meet, head and workers, and defaults that hurt."""

import ipaddress
from collections.abc import Iterable, Mapping

from interlock.infra.catalog.hub import TOKENS
from interlock.infra.catalog.images import image_reference
from interlock.infra.facts import Bundle, Container, Fact, Place, Workload
from interlock.infra.rules.findings import Severity
from interlock.infra.rules.reading.checkpoint import gated
from interlock.infra.rules.reading.ray import head_of
from interlock.infra.rules.reading.units import engine_containers, where
from interlock.infra.rules.rule import Hit, Settings, put, rule
from interlock.infra.values import Version

_LLM = ("https://docs.ray.io/en/latest/serve/llm/index.html",)
_KUBERAY = ("https://docs.ray.io/en/latest/cluster/kubernetes/user-guides/rayservice-high-availability.html",)


@rule(
    "RAY-005",
    Severity.ERROR,
    demand="Head and workers run the same Ray and Python.",
    reason="Ray refuses processes of another version.",
    source="ray/_private/utils.py check_version_info; gpustack/gpustack#1640, ray-project/ray#44063",
    remedy="Use one image.",
)
def same_versions(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    ray = workload.ray
    if ray is None:
        return
    stated = ray.stated_version
    if stated.known and ray.version.known and stated.get() != ray.version.get():
        text = f"rayVersion says {stated.get()}, the image has Ray {ray.version.get()}: KubeRay makes its decisions for another version"
        remedy, fixes = f"set rayVersion to {ray.version.get()}", put(stated.path, ray.version.get())
        fault = "ray-version-field-stale"
        yield Hit(stated.path, text, remedy, stated.get(), severity=Severity.WARNING, fault=fault, fixes=fixes)
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


@rule(
    "RAY-006",
    Severity.ERROR,
    demand="A RayCluster's image has Ray in it.",
    reason="KubeRay runs ray start in it, which is not there.",
    source="METADATA of the vLLM wheels: ray is no longer a dependency; Dockerfile of vllm/vllm-openai",
    remedy="Use rayproject/ray-llm.",
    fault="ray-missing-in-image",
    settings={"without_ray_since": "0.18.0"},
)
def image_without_ray(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    since = Version.released(str(settings["without_ray_since"]))
    if workload.ray is None or not workload.origin.kind.startswith("Ray"):
        yield from _started_without_ray(workload, since)
        return
    for pod in workload.pods:
        for container in pod.containers[:1]:
            image = container.image
            ref = image_reference(image.get() if image.known else "")
            version = Version.released(ref.tag)
            if ref.is_on_hub("vllm/vllm-openai") and since and version and version >= since:
                text = f"vllm/vllm-openai {ref.tag} carries no Ray, so KubeRay's ray start fails"
                yield Hit(image.path, text, "use rayproject/ray-llm of a proven track", image.get())


def _started_without_ray(workload: Workload, since: Version | None) -> Iterable[Hit]:
    """Scripts that start Ray, and the executor that imports it, in an image that has none."""
    backend = workload.engine.flag("distributed-executor-backend")
    starts = any(problem.kind == "ray-start" for problem in workload.engine.problems)
    for _, container in [*engine_containers(workload)][:1] if starts or backend.value == "ray" else ():
        ref = image_reference(container.image.get() if container.image.known else "")
        version = Version.released(ref.tag)
        if ref.is_on_hub("vllm/vllm-openai") and since and version and version >= since:
            needs = "the script starts Ray" if starts else "--distributed-executor-backend ray imports Ray"
            text = f"{needs}, and vllm/vllm-openai {ref.tag} carries none"
            remedy = "use an image that has Ray, or start the ranks with --nnodes and --node-rank"
            yield Hit(container.image.path if starts else backend.path or container.image.path, text, remedy, container.image.get())


@rule(
    "RAY-007",
    Severity.WARNING,
    demand="A RayService survives the loss of its head.",
    reason="The head and its workers share their fate unless the GCS keeps its state outside.",
    source="docs.ray.io, 'GCS fault tolerance in KubeRay'; ray-project/ray#39787",
    remedy="Add gcsFaultToleranceOptions.",
    links=_KUBERAY,
)
def fault_tolerance(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    ray = workload.ray
    if ray and ray.kind == "RayService" and not ray.gcs_fault_tolerance.unknown and ray.gcs_fault_tolerance.value is not True:
        text = "without GCS fault tolerance a restart of the head ends all workers, and every model is loaded again"
        path = ray.gcs_fault_tolerance.path or "spec.rayClusterConfig.gcsFaultToleranceOptions"
        yield Hit(path, text, "add gcsFaultToleranceOptions with an external Redis", "off")


@rule(
    "RAY-009",
    Severity.WARNING,
    demand="Serve gives answers the time to end.",
    reason="The default of 20 s cuts longer streams whenever a replica goes.",
    source="docs.ray.io, Serve configuration (graceful_shutdown_timeout_s)",
    remedy="Set it to the longest answer.",
    links=_LLM,
    settings={"answer_seconds": 600},
)
def shutdown(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    for deployment in workload.ray.deployments if workload.ray else ():
        given = deployment.graceful_shutdown_timeout
        if not given.unknown and (given.absent or given.get() < float(settings["answer_seconds"])):
            level = Severity.INFO if given.absent else Severity.WARNING
            text = f"graceful_shutdown_timeout_s {given.default(20.0).get():g}: answers that take longer are cut when a replica goes"
            remedy = f"set graceful_shutdown_timeout_s to {settings['answer_seconds']:g}"
            yield Hit(
                given.path or deployment.path,
                text,
                remedy,
                f"{given.default(20.0).get():g}",
                severity=level,
                fixes=put(given.path, settings["answer_seconds"]) if given.known else (),
            )


@rule(
    "RAY-010",
    Severity.WARNING,
    demand="The autoscaler's target is one that load can exceed.",
    reason="With a target beyond what a replica runs, no load ever asks for a second one.",
    source="docs.ray.io, 'Ray Serve Autoscaling'",
    remedy="Set half of max_num_seqs.",
    settings={"most_ongoing": 2048},
)
def target(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    for deployment in workload.ray.deployments if workload.ray else ():
        goal = deployment.target_ongoing_requests
        if deployment.autoscaling and goal.known and goal.get() > float(settings["most_ongoing"]):
            text = f"target_ongoing_requests {goal.get():g} is never reached, so nothing scales"
            yield Hit(
                goal.path or deployment.path, text, "set it to half of what one replica runs at once (max_num_seqs)", f"{goal.get():g}"
            )


@rule(
    "RAY-011",
    Severity.WARNING,
    demand="Data parallel inside ray.serve.llm uses its own builder.",
    reason="build_openai_app makes no group of ranks; the service never becomes ready.",
    source="ray-project/kuberay#4366; docs.ray.io, 'Data parallel attention'",
    remedy="Use replicas, or the data-parallel builder.",
    links=_LLM,
)
def data_parallel(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    size = workload.engine.data_parallel
    for deployment in workload.ray.deployments if workload.ray else ():
        if deployment.llm and "dp" not in deployment.builder and size.known and size.get() > 1:
            text = f"data_parallel_size {size.get()} inside build_openai_app: the service does not become ready"
            yield Hit(size.path or deployment.path, text, "use Serve replicas, or ray.serve.llm's data-parallel builder", str(size.get()))


@rule(
    "RAY-012",
    Severity.ERROR,
    demand="Ray knows a node by the address that vLLM asks for.",
    reason="The placement group asks for node:<ip>; a node registered under a host name never matches, with all GPUs free.",
    source="vllm-project/vllm#12670; vllm/v1/executor/ray_utils.py",
    remedy="Give both the same IP address.",
)
def node_address(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
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


def _token(values: Mapping[str, Fact[str]]) -> bool:
    return any(name in values for name in TOKENS)


def _holds_models(container: Container) -> bool:
    return any("cache" in mount.mount_path or "model" in mount.mount_path for mount in container.mounts)


@rule(
    "RAY-014",
    Severity.ERROR,
    demand="The hub token reaches every worker.",
    reason="Each worker downloads the model itself; without the token a gated one answers 401.",
    source="ray-project/ray#54812",
    remedy="Give it to every group.",
)
def token_for_workers(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    head = head_of(workload)
    if workload.ray is None or head is None or any(_token(d.runtime_env) for d in workload.ray.deployments):
        return
    on_head = any(_token(container.env) for container in head.containers)
    level = Severity.ERROR if gated(str(workload.engine.model.value or "")) else Severity.WARNING
    for pod in workload.pods:
        bare = pod is not head and not any(_token(c.env) or c.env_from or _holds_models(c) for c in pod.containers)
        if on_head and bare and not _token(workload.engine.env):
            text = f"HF_TOKEN is set on the head only; the workers of group {pod.role} download the model too"
            yield Hit(
                pod.path or where(workload, Place.ENV),
                text,
                "give it to every group from a Secret, or in runtime_env.env_vars",
                severity=level,
            )
