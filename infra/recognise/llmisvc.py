"""KServe's LLMInferenceService: the controller builds pods from a few fields and a partial pod template."""

from dataclasses import replace

from interlock.infra.engine.arguments import read_arguments
from interlock.infra.facts import Engine, Fact, Flag, Origin, Workload, absent, known, unknown
from interlock.infra.recognise.context import Context
from interlock.infra.recognise.document import Document, Node, Overlay, origin
from interlock.infra.recognise.engines import SIZES, sized, with_flags
from interlock.infra.recognise.kserve import stored_model
from interlock.infra.recognise.pods import PodRead, promoted, read_pod
from interlock.infra.recognise.shell import Shell
from interlock.infra.recognise.workloads import Result, engines_in

# kserve config/llmisvcconfig: the controller's templates set probes, /dev/shm, ports and the command.
_ADDS = frozenset({"probes", "shm", "ports", "service-links-off"})
_PARALLEL = {
    "tensor": SIZES["tensor_parallel"],
    "pipeline": SIZES["pipeline_parallel"],
    "data": SIZES["data_parallel"],
    "dataLocal": SIZES["data_parallel_local"],
}


def read_llm_service(root: Node, document: Document, context: Context) -> Result:
    """One workload for the decode side and one for the prefill side where there is one."""
    source = origin(root, document, "kserve")
    if root["kind"].string() == "LLMInferenceServiceConfig" and not root["spec"]["template"]:
        return
    yield from _side(root, source, root["spec"], context)
    if root["spec"]["prefill"]:
        yield from _side(root, replace(source, path="spec.prefill"), root["spec"]["prefill"], context)


def _side(root: Node, source: Origin, side: Node, context: Context) -> Result:
    template = side["template"]
    stated = any(item["resources"] for item in template["containers"].items())
    pods = _pods(side, template, context)
    model = root["spec"]["model"]
    adds = _ADDS if stated else _ADDS | {"gpus"}
    for item in engines_in(root, source, pods, context, adds):
        if not isinstance(item, Workload):
            yield item
            continue
        engine = _engine(item.engine, side)
        yield replace(
            item,
            engine=replace(engine, model=stored_model(model["uri"].text()) if model["uri"] else engine.model),
            replicas=side["replicas"].integer(),
            autoscaled=bool(root["spec"]["scaling"]),
        )


def _pods(side: Node, template: Node, context: Context) -> tuple[PodRead, ...]:
    listed = [_main(item) if item["name"].string() in ("main", "") else item for item in template["containers"].items()]
    spec = Overlay(
        template.value, template.path, {"containers": Node(listed or [_main(Node({}, template.path))], f"{template.path}.containers")}
    )
    worker = side["worker"]
    if not worker:
        return (read_pod(spec, Node({}), context),)
    rest = [_main(item) for item in worker["containers"].items()]
    workers = Overlay(worker.value, worker.path, {"containers": Node(rest, f"{worker.path}.containers")})
    return (
        read_pod(spec, Node({}), context, "leader", known(1)),
        promoted(read_pod(workers, Node({}), context, "worker", _workers(side["parallelism"]))),
    )


def _main(container: Node) -> Node:
    """The engine's container; without an image of its own the controller's default runs."""
    image = container["image"] if container["image"] else Node("vllm:{{ default }}", container["image"].path)
    return Overlay(container.value, container.path, {"image": image, "name": Node("main", container.path)})


def _workers(parallelism: Node) -> Fact[int]:
    """Pods beside the leader: pipeline stages, or data ranks over the ranks of one pod."""
    stages, ranks, local = (parallelism[key].integer() for key in ("pipeline", "data", "dataLocal"))
    if stages.known and stages.get() > 1:
        return known(stages.get() - 1, stages.path)
    if ranks.known and local.known and local.get() > 0:
        return known(max(ranks.get() // local.get() - 1, 0), ranks.path)
    return unknown(parallelism.path, "the number of pods is not stated")


def _engine(engine: Engine, side: Node) -> Engine:
    flags = []
    for field, name in _PARALLEL.items():
        node = side["parallelism"][field]
        if node and not any(flag.name == name for flag in engine.flags):
            flags.append(Flag(name, node.text(), field, node.path))
    if side["parallelism"]["expert"].boolean().value is True:
        flags.append(Flag("enable-expert-parallel", known("true"), "expert", side["parallelism"]["expert"].path))
    extra = engine.env.get("VLLM_ADDITIONAL_ARGS", absent())
    engine = sized(replace(engine, flags=(*engine.flags, *flags), entrypoint="operator", complete=not engine.env or engine.complete))
    if extra.known and extra.get():
        words = [word for command in Shell(extra.get(), lambda name: Fact(), extra.path).read() for word in command.words]
        engine = with_flags(engine, read_arguments(words))
    return replace(engine, complete=True) if not extra.unknown else engine
