"""Workloads of Kubernetes itself, and of any kind that holds a pod template: Deployment, StatefulSet, Job, Rollout, Knative, ..."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from interlock.infra.facts import (
    Autoscaler,
    Claim,
    DocumentProblem,
    Engine,
    Fact,
    NotJudged,
    Origin,
    Place,
    Pod,
    Rollout,
    Workload,
    absent,
    known,
)
from interlock.infra.recognise.accelerators import product_fact, vendor_of
from interlock.infra.recognise.context import Context
from interlock.infra.recognise.document import Document, Node, origin
from interlock.infra.recognise.engines import engine_of
from interlock.infra.recognise.pods import PodRead, claim_volumes, read_pod

Result = Iterator[Workload | NotJudged | DocumentProblem | Autoscaler | Claim]
_DEEPEST = 12


@dataclass(frozen=True, slots=True)
class Template:
    """Where a pod template stands."""

    metadata: Node
    spec: Node


# Kinds whose template stands where the API says; any other kind is searched for pod specs.
_TEMPLATES: dict[str, tuple[str, ...]] = {
    "Deployment": ("spec", "template"),
    "StatefulSet": ("spec", "template"),
    "DaemonSet": ("spec", "template"),
    "ReplicaSet": ("spec", "template"),
    "ReplicationController": ("spec", "template"),
    "Rollout": ("spec", "template"),
    "Job": ("spec", "template"),
    "CronJob": ("spec", "jobTemplate", "spec", "template"),
    "Pod": (),
    "PodTemplate": ("template",),
    "Service": ("spec", "template"),
    "Configuration": ("spec", "template"),
}
_LAID_OVER = frozenset({"probes", "shm", "gpus", "service-links-off", "ports", "hub-token"})
_SINGLE = frozenset({"Pod", "Job", "CronJob", "PodTemplate", "DaemonSet"})


def templates(root: Node) -> Iterator[Template]:
    """The pod templates of an object."""
    keys = _TEMPLATES.get(root["kind"].string())
    if keys is not None:
        node = root.at(*keys)
        if node["spec"]["containers"].is_list:
            yield Template(node["metadata"], node["spec"])
        return
    yield from _search(root, Node(None), 0)


def _search(node: Node, parent: Node, depth: int) -> Iterator[Template]:
    if depth > _DEEPEST:
        return
    if node["containers"].is_list and any(item["image"] or item["command"] for item in node["containers"].items()):
        yield Template(parent["metadata"], node)
        return
    children = (child for _, child in node.fields()) if node.mapping else node.items()
    for child in children:
        if isinstance(child.value, dict | list):
            yield from _search(child, node, depth + 1)


def read_native(root: Node, document: Document, context: Context) -> Result:
    """Workloads of an object with pod templates."""
    source = origin(root, document, "container")
    found = list(templates(root))
    for template in found:
        pod = read_pod(template.spec, template.metadata, context)
        pod = replace(pod, pod=replace(pod.pod, volumes=(*pod.pod.volumes, *claim_volumes(root.at("spec", "volumeClaimTemplates")))))
        several = len(found) > 1
        yield from engines_in(root, replace(source, path=template.spec.path if several else source.path), (pod,), context)


def engines_in(root: Node, source: Origin, pods: tuple[PodRead, ...], context: Context, adds: frozenset[str] = frozenset()) -> Result:
    """One workload per engine container of the pods; other engines are named."""
    leading = next((pod for pod in pods if any(read.launch.engine == "vllm" for read in pod.engines)), None)
    engines = [read for read in leading.engines if read.launch.engine == "vllm"] if leading else []
    others = {read.engine for pod in pods for read in pod.reads if read.engine not in ("", "vllm")}
    if not engines:
        for name in sorted(others):
            yield NotJudged(source, f"{name} is not vLLM: skipped")
        return
    for read in engines:
        if read.container.image.absent and source.form in ("container", "lws", "ray"):
            if read.launch.entrypoint not in ("serve", "module") or source.form != "container":
                yield NotJudged(source, "its engine container has no image: a patch or a part of an object")
                continue
            # What it states is judged; what it lacks may stand in the object that it is laid over.
            stated = {"gpus"} if vendor_of((*read.container.limits, *read.container.requests)) else set()
            adds = (adds | _LAID_OVER) - stated
        form = "shell" if source.form == "container" and read.launch.entrypoint in ("shell", "script") else source.form
        yield assemble(root, replace(source, form=form), engine_of(read, context), pods, adds)


def assemble(root: Node, source: Origin, engine: Engine, reads: tuple[PodRead, ...], adds: frozenset[str] = frozenset()) -> Workload:
    """The workload around an engine."""
    spec = root["spec"]
    pods = tuple(read.pod for read in reads)
    return Workload(
        origin=source,
        engine=engine,
        vendor=vendor(reads, engine.container),
        replicas=known(1) if source.kind in _SINGLE and source.kind != "DaemonSet" else spec["replicas"].integer(),
        pods=pods,
        rollout=_rollout(root),
        selector=spec.at("selector", "matchLabels").texts() or (spec["selector"].texts() if source.kind == "ReplicationController" else {}),
        gpu=next((product_fact(read.gpu) for read in reads if not read.gpu.absent), absent()),
        service_name=spec["serviceName"].text() if source.kind == "StatefulSet" else absent(),
        operator_adds=adds,
        paths=_paths(root, pods, engine.container),
    )


def vendor(reads: tuple[PodRead, ...], name: str) -> Fact[str]:
    """What the engine's image is built for; where that does not say, whose accelerator its container asks for."""
    containers = [read for pod in reads for read in pod.reads if read.container.name == name or not name]
    for read in containers:
        if read.image.vendor:
            return known(read.image.vendor, read.container.image.path)
    for read in containers:
        found = vendor_of((*read.container.limits, *read.container.requests))
        if found:
            return known(found, f"{read.container.path}.resources")
    return absent()


def _rollout(root: Node) -> Rollout:
    spec = root["spec"]
    node = spec["updateStrategy"] if root["kind"].string() in ("StatefulSet", "DaemonSet") else spec["strategy"]
    rolling = node.first("rollingUpdate", "canary")
    return Rollout(
        strategy=node["type"].text() if node["type"] or root["kind"].string() != "Rollout" else known("RollingUpdate", node.path),
        max_surge=rolling["maxSurge"].text(),
        max_unavailable=rolling["maxUnavailable"].text(),
        progress_deadline=spec["progressDeadlineSeconds"].number(),
        path=node.path,
    )


def _paths(root: Node, pods: tuple[Pod, ...], name: str) -> dict[Place, str]:
    """Where absent facts would stand."""
    container = next((item for pod in pods for item in pod.containers if item.name == name), None)
    base = container.path if container else (pods[0].path if pods else root.path)
    pod = pods[0].path if pods else root.path
    strategy = "updateStrategy" if root["kind"].string() in ("StatefulSet", "DaemonSet") else "strategy"
    # A shell's script reads no args: the engine's own stand in it.
    line = ".command" if container and container.args.absent and len(container.command.value or ()) > 2 else ".args"
    inside = {
        Place.ARGS: line,
        Place.MODEL: line,
        Place.TENSOR_PARALLEL: line,
        Place.CONTAINER: "",
        Place.PROBES: "",
        Place.ENV: ".env",
        Place.GPUS: ".resources.limits",
        Place.RESOURCES: ".resources.requests",
        Place.IMAGE: ".image",
        Place.SECURITY: ".securityContext",
    }
    return {
        **{place: base + end for place, end in inside.items()},
        Place.VOLUMES: f"{pod}.volumes",
        Place.SERVICE_LINKS: f"{pod}.enableServiceLinks",
        Place.GRACE_PERIOD: f"{pod}.terminationGracePeriodSeconds",
        Place.RUNTIME_CLASS: f"{pod}.runtimeClassName",
        Place.PROGRESS_DEADLINE: "spec.progressDeadlineSeconds",
        Place.REPLICAS: "spec.replicas",
        Place.STRATEGY: f"spec.{strategy}",
    }
