"""Operators whose objects name few fields: KubeAI Model, Dynamo graphs."""

from collections.abc import Mapping
from dataclasses import replace

from interlock.infra.facts import Fact, NotJudged, Origin, Workload, known
from interlock.infra.recognise.accelerators import product
from interlock.infra.recognise.context import Context
from interlock.infra.recognise.document import Document, Node, Overlay, origin
from interlock.infra.recognise.kserve import stored_model
from interlock.infra.recognise.pods import PodRead, promoted, read_pod
from interlock.infra.recognise.workloads import Result, engines_in

_OPERATOR = frozenset({"probes", "shm", "ports", "service-links-off"})
# KubeAI gives every model pod the token of its installation.
_KUBEAI = _OPERATOR | {"hub-token"}
_PROFILES = {"nvidia-gpu-": "nvidia.com/gpu", "amd-gpu-": "amd.com/gpu", "google-tpu-": "google.com/tpu"}
_ROLES = frozenset({"frontend", "planner", "main", "router", "epp", "default"})


def read_kubeai(root: Node, document: Document, context: Context) -> Result:
    """A KubeAI Model: engine, url, resource profile times count, arguments."""
    source = origin(root, document, "kubeai")
    spec = root["spec"]
    engine = spec["engine"].string()
    if engine and engine.lower() != "vllm":
        yield NotJudged(source, f"{engine} is not vLLM: skipped")
        return
    profile, _, times = spec["resourceProfile"].string().rpartition(":")
    own = context.profiles.get(profile, Node(None))
    prefix = next((prefix for prefix in _PROFILES if profile.startswith(prefix)), "")
    limits = _times(own["limits"], times) if own else {_PROFILES[prefix]: times} if prefix else {}
    image = spec["image"] if spec["image"] else _image(own, spec["image"].path, context)
    container = Overlay(
        spec.value,
        spec.path,
        {
            "name": Node("server", spec.path),
            "image": image,
            "resources": Overlay({}, spec["resourceProfile"].path, {"limits": _at(limits, spec["resourceProfile"])}),
        },
    )
    placed = {key: own[key] for key in ("nodeSelector", "affinity", "tolerations", "runtimeClassName")} if own else {}
    pods = (read_pod(Overlay({}, spec.path, {"containers": Node([container], spec.path), **placed}), root["metadata"], context),)
    adds = _KUBEAI if limits else _KUBEAI | {"gpus"}
    for item in engines_in(root, source, pods, context, adds):
        if not isinstance(item, Workload):
            yield item
            continue
        minimum, maximum = spec["minReplicas"].integer(), spec["maxReplicas"].integer()
        yield replace(
            item,
            engine=replace(item.engine, model=stored_model(spec["url"].text()), entrypoint="operator", complete=True),
            gpu=known(product(profile.removeprefix(prefix)), spec["resourceProfile"].path)
            if prefix == "nvidia-gpu-" and not own
            else item.gpu,
            replicas=spec["replicas"].integer() if spec["replicas"] else minimum.default(1),
            autoscaled=not maximum.absent or not minimum.absent,
        )


def _times(limits: Node, times: str) -> dict[str, str]:
    """A profile's limits times the count that the Model asks for."""
    count = int(times) if times.isdigit() and len(times) < 5 else 1
    return {key: str(fact.get() * count) for key, node in limits.fields() if "/" in key and (fact := node.integer()).known}


def _image(profile: Node, place: str, context: Context) -> Node:
    """The image that KubeAI's configuration names for a profile, else its chart's own, which is not known here."""
    name = profile["imageName"].string() or "default"
    found = context.engine_images.get(name, context.engine_images.get("default", Fact()))
    return Node(found.get() if found.known else "vllm:{{ default }}", place)


def _at(values: Mapping[str, str], place: Node) -> Node:
    """A mapping whose values all stand at one place."""
    return Overlay(values, place.path, {key: Node(value, place.path) for key, value in values.items()})


def read_dynamo(root: Node, document: Document, context: Context) -> Result:
    """A DynamoGraphDeployment (services by name, or a list of components) or a single DynamoComponentDeployment."""
    source = origin(root, document, "dynamo")
    spec = root["spec"]
    services = [*spec["services"].fields(), *((item["name"].string(), item) for item in spec["components"].items())]
    if root["kind"].string() == "DynamoComponentDeployment":
        services = [(source.name, spec)]
    for _, service in services:
        role = service.first("componentType", "type").string().lower()
        if role not in _ROLES or service["resources"]["limits"]["gpu"]:
            yield from _service(root, replace(source, path=service.path), service, context)


def _service(root: Node, source: Origin, service: Node, context: Context) -> Result:
    extra = service["extraPodSpec"]
    if service["podTemplate"]:
        spec, metadata = service["podTemplate"]["spec"], service["podTemplate"]["metadata"]
    else:
        spec, metadata = _classic(service, extra), service
    count = service["multinode"]["nodeCount"].integer()
    pod = promoted(read_pod(spec, metadata, context, "worker" if count.known else "", count))
    for item in engines_in(root, source, (pod,), context, _adds(service, pod)):
        yield replace(item, replicas=service["replicas"].integer()) if isinstance(item, Workload) else item


def _adds(service: Node, pod: PodRead) -> frozenset[str]:
    stated = any(container.limits or container.requests for container in pod.pod.containers)
    return _OPERATOR if stated else _OPERATOR | {"gpus"}


def _classic(service: Node, extra: Node) -> Node:
    main = extra["mainContainer"]
    device = service.at("device", "resources")
    sliced = Overlay({}, device.path, {"limits": device}) if device else main["resources"]
    resources = service["resources"] if service["resources"] else sliced
    container = Overlay(
        main.value if main else {},
        main.path,
        {
            "name": Node("main", main.path),
            "resources": Overlay({}, resources.path, {key: _named(resources[key]) for key in ("limits", "requests")}),
            "env": _both(service["envs"], main["env"]),
            "envFrom": Node([service["envFromSecret"], *main["envFrom"].items()], main.path)
            if service["envFromSecret"]
            else main["envFrom"],
            **{key: service[key] if service[key] else main[key] for key in ("livenessProbe", "readinessProbe", "startupProbe")},
        },
    )
    others = [item for item in extra["containers"].items() if item["name"].string() != "main"]
    return Overlay(extra.value if extra else {}, extra.path, {"containers": Node([container, *others], main.path)})


def _both(first: Node, second: Node) -> Node:
    return Node([*first.items(), *second.items()], second.path if second else first.path)


def _named(node: Node) -> Node:
    """Dynamo's ``gpu`` as the resource that its operator asks for."""
    kind = node["gpuType"].string() or "nvidia.com/gpu"
    values = {kind if key == "gpu" else key: value for key, value in node.fields() if key not in ("gpuType", "custom")}
    values |= dict(node["custom"].fields())
    return Overlay({key: value.value for key, value in values.items()}, node.path, values)


def is_kubeai(root: Node) -> bool:
    """Whether a Model is KubeAI's."""
    return root["apiVersion"].string().startswith("kubeai.org/")
