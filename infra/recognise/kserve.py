"""KServe's InferenceService and its serving runtimes."""

from collections.abc import Mapping
from dataclasses import replace

from interlock.infra.facts import Container, Engine, Fact, NotJudged, Origin, Pod, Workload, absent, known, unknown
from interlock.infra.recognise.context import Context
from interlock.infra.recognise.document import Document, Node, Overlay, origin
from interlock.infra.recognise.pods import PodRead, promoted, read_pod
from interlock.infra.recognise.workloads import Result, engines_in

_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
# The controller adds no probe that kills (Knative's queue proxy asks for readiness only): a liveness probe is its author's own.
_ADDS: frozenset[str] = frozenset()
# A serving runtime brings volumes (KServe's own mounts /dev/shm); one outside of the documents may as well.
_MODEL_ADDS = frozenset({"shm"})
# What an InferenceService may still bring to a runtime.
_RUNTIME_ADDS = frozenset({"probes", "gpus", "shm"})
_MOUNTED = "/mnt/models"


def read_runtime(root: Node, document: Document, context: Context) -> Result:
    """A ServingRuntime: the InferenceService brings GPUs and model."""
    pods = (read_pod(root["spec"], Node({}), context),)
    for item in engines_in(root, origin(root, document, "kserve"), pods, context, _RUNTIME_ADDS):
        if isinstance(item, Workload):
            open_model = unknown(why="the InferenceService names the model") if item.engine.model.absent else item.engine.model
            yield replace(item, engine=replace(item.engine, model=open_model, complete=False), pods=_without_resources(item.pods))
        else:
            yield item


def read_inference_service(root: Node, document: Document, context: Context) -> Result:
    """An InferenceService: its predictor's model with the serving runtime of the set, or its own containers."""
    predictor = root["spec"]["predictor"]
    model = predictor["model"] if predictor["model"] else predictor["huggingface"]
    source = origin(root, document, "kserve")
    sizes = _worker_sizes(predictor["workerSpec"])
    inside = replace(context, injected={name: fact for name, (_, fact) in sizes.items()})
    if model:
        found = _model(root, source, inside, predictor, model)
    else:
        pods = _with_workers(read_pod(predictor, root["metadata"], inside, *_head(predictor)), predictor, inside)
        found = engines_in(root, source, pods, inside, _ADDS)
    for item in found:
        yield _scaled(item, predictor) if isinstance(item, Workload) else item


def _head(predictor: Node) -> tuple[str, Fact[int]]:
    return ("head", known(1)) if predictor["workerSpec"] else ("", Fact())


def _worker_sizes(worker: Node) -> Mapping[str, tuple[str, Fact[str]]]:
    """What the controller sets in the environment of a multi-node predictor."""
    fields = {"TENSOR_PARALLEL_SIZE": "tensorParallelSize", "PIPELINE_PARALLEL_SIZE": "pipelineParallelSize"}
    return {name: (field, worker[field].text()) for name, field in fields.items() if worker[field]}


def _with_workers(head: PodRead, predictor: Node, context: Context) -> tuple[PodRead, ...]:
    worker = predictor["workerSpec"]
    if not worker:
        return (head,)
    stages = worker["pipelineParallelSize"].integer()
    count = stages.map(lambda size: max(size - 1, 0)) if not stages.absent else known(1, worker.path)
    stated = worker["containers"].is_list and any(item["resources"] for item in worker["containers"].items())
    if stated:
        return head, promoted(read_pod(worker, Node({}), context, "worker", count))
    return head, PodRead(replace(head.pod, role="worker", count=count), head.reads, head.gpu)


def _scaled(item: Workload, predictor: Node) -> Workload:
    minimum, maximum = predictor["minReplicas"].integer(), predictor["maxReplicas"].integer()
    fixed = maximum.known and minimum.known and maximum.get() <= minimum.get()
    return replace(item, replicas=known(1) if minimum.absent else minimum, autoscaled=bool(predictor["maxReplicas"]) and not fixed)


def _model(root: Node, source: Origin, context: Context, predictor: Node, model: Node) -> Result:
    runtime = context.runtimes.get(model["runtime"].string(), Node(None))
    container = next(iter(runtime["spec"]["containers"].items()), Node({}))
    image = model["image"] if model["image"] else container["image"]
    image = image if image else _default_image(model)
    if not image:
        name = model["runtime"].string() or model.at("modelFormat", "name").string() or "?"
        yield NotJudged(source, f"its serving runtime ({name}) is not among the documents")
        return
    spec = Overlay(predictor.value, predictor.path, {"containers": Node([_merged(model, container, image)], model.path)})
    pods = _with_workers(read_pod(spec, root["metadata"], context, *_head(predictor)), predictor, context)
    for item in engines_in(root, source, pods, context, _MODEL_ADDS):
        if not isinstance(item, Workload):
            yield item
            continue
        engine = _stored(item.engine, model)
        if not runtime and not model["image"]:
            engine = replace(engine, complete=engine.complete and model.at("modelFormat", "name").string().lower() == "huggingface")
        yield replace(item, engine=engine, pods=item.pods if model["image"] else _without_image(item.pods))


def _merged(model: Node, container: Node, image: Node) -> Node:
    """The model's fields over those of its runtime; what the runtime says points to the field that names it."""
    place = model["runtime"].path
    fields = {
        key: model[key] if model[key] else Node(container[key].value, place)
        for key in ("command", "env", "envFrom", "resources", "volumeMounts", "ports", *_PROBES)
    }
    inherited = [Node(item.value, place) for item in container["args"].items()]
    args = Node([*inherited, *model["args"].items()], model["args"].path)
    return Overlay(
        model.value,
        model.path,
        {**fields, "args": args, "image": image, "name": Node("kserve-container", model.path), "securityContext": Node({}, place)},
    )


def _default_image(model: Node) -> Node:
    """The image of a runtime outside the documents, where format or runtime name say that it is vLLM."""
    words = f"{model['runtime'].string()} {model.at('modelFormat', 'name').string()}".lower()
    place = model["runtime"].path if model["runtime"] else model["modelFormat"].path
    if "vllm" in words:
        return Node("vllm:{{ default }}", place)
    # KServe's default runtime for this format is vLLM behind its own server.
    plain = "huggingface" in words and not model["runtime"]
    return Node("kserve/huggingfaceserver:{{ default }}", place) if plain else Node(None, place)


def _without_image(pods: tuple[Pod, ...]) -> tuple[Pod, ...]:
    """The image stands in the runtime, which is judged on its own."""

    def bare(container: Container) -> Container:
        return replace(container, image=absent()) if container.name == "kserve-container" else container

    return tuple(replace(pod, containers=tuple(bare(container) for container in pod.containers)) for pod in pods)


def stored_model(uri: Fact[str]) -> Fact[str]:
    """The model that a storage URI names: ``hf://org/name:revision`` -> ``org/name``; other schemes keep their path."""

    def name(text: str) -> str:
        scheme, _, rest = text.partition("://")
        return rest.partition(":")[0] if scheme == "hf" else rest or text

    return uri.map(name)


def _without_resources(pods: tuple[Pod, ...]) -> tuple[Pod, ...]:
    """What a runtime asks for is a default that every InferenceService replaces."""

    def bare(container: Container) -> Container:
        return replace(container, limits={}, requests={})

    return tuple(replace(pod, containers=tuple(bare(container) for container in pod.containers)) for pod in pods)


def _stored(engine: Engine, model: Node) -> Engine:
    uri = model["storageUri"] if model["storageUri"] else model.at("storage", "path")
    given = engine.model
    if uri and (not given.known or given.get().startswith(_MOUNTED)):
        return replace(engine, model=stored_model(uri.text()))
    return engine
