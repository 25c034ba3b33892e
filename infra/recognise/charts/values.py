"""Helm values: production-stack, llm-d modelservice, and any chart whose values hold a vLLM image; also inside HelmRelease and the like."""

import re
from collections.abc import Iterator
from dataclasses import replace

from interlock.infra.catalog.charts import chart, of_operators, same_minor
from interlock.infra.facts import PARTLY, Fact, Flag, NotJudged, Origin, Workload
from interlock.infra.recognise.charts import production_stack as stack
from interlock.infra.recognise.charts.parts import ADDS, dropped, image_of, listed, pod_of
from interlock.infra.recognise.context import Context
from interlock.infra.recognise.document import Document, Node, Overlay, origin, scalar_text
from interlock.infra.recognise.engines import sized
from interlock.infra.recognise.images import read_image
from interlock.infra.recognise.workloads import Result

_DEEPEST = 8
_ARGS = ("args", "extraArgs", "vllmArgs", "engineArgs", "vllmExtraArgs", "additionalArgs", "serverArgs")
_ENV = ("env", "extraEnv", "envVars", "extraEnvVars", "environment")
_MODELS = ("model", "modelName", "modelId", "modelID", "modelURL", "model_id")
_PROBES = ("startupProbe", "livenessProbe", "readinessProbe")


def read_release(root: Node, document: Document, context: Context) -> Result:
    """What a HelmRelease, HelmChart, Argo Application or Kustomization gives to a chart, whose name and version it states."""
    for values, name, version in _embedded(root, context):
        named = name.rpartition("/")[2]
        if named in of_operators() and same_minor(named, version):
            yield from dropped(values, chart(named).below, named, origin(root, document))
        yield from read_values(values, root, document, context)


def _embedded(root: Node, context: Context) -> Iterator[tuple[Node, str, str]]:
    """Values with the chart's name and version."""
    kind, spec = root["kind"].string(), root["spec"]
    if kind == "HelmRelease":
        stated = spec.at("chart", "spec")
        yield spec["values"], stated["chart"].string(), stated["version"].string()
    elif kind == "HelmChart":
        yield context.load(spec["valuesContent"]), spec["chart"].string(), spec["version"].string()
    elif kind == "Application":
        for source in [spec["source"], *spec["sources"].items()]:
            helm, name, version = source["helm"], source["chart"].string(), source["targetRevision"].string()
            yield helm["valuesObject"], name, version
            yield context.load(helm["values"]) if helm["values"] and not helm["values"].mapping else helm["values"], name, version
    elif kind == "Kustomization":
        for each in root["helmCharts"].items():
            yield each["valuesInline"], each["name"].string(), each["version"].string()


def read_values(values: Node, root: Node, document: Document, context: Context) -> Result:
    """Engines in a mapping of chart values."""
    source = replace(origin(root, document, "chart-values"), kind=root["kind"].string() if root["apiVersion"] else "Values")
    if values["servingEngineSpec"].mapping:
        yield from stack.read_chart(values["servingEngineSpec"], source, context)
    elif (values["decode"].mapping or values["prefill"].mapping) and (values["modelArtifacts"].mapping or values["routing"].mapping):
        # What stands beside these belongs to charts that it brings along.
        below = chart("llm-d-modelservice").below
        own = Overlay({key: value for key, value in values.mapping.items() if key in below.keys}, values.path, {})
        yield from dropped(own, below, "llm-d-modelservice", source)
        for side in ("decode", "prefill"):
            if values[side]["create"].boolean().value is not False:
                yield from _modelservice(values, values[side], replace(source, path=values[side].path), context)
    elif foreign := _foreign(values):
        yield NotJudged(source, f"{foreign}, no Kubernetes object")
    else:
        yield from _any_chart(values, source, context, 0)


def _foreign(values: Node) -> str:
    """What a file without a kind is when it is not a chart's values; empty when it may be."""
    services = [service for _, service in values["services"].fields()]
    if services and all(service["image"].string() or service["build"] for service in services):
        return "a compose file"
    if values["suite"].string() and values["tests"].is_list:
        return "tests of a chart (helm-unittest)"
    jobs = [job for _, job in values["jobs"].fields()]
    return "a workflow of a CI service" if jobs and any(job["steps"].is_list for job in jobs) else ""


# --- llm-d modelservice ------------------------------------------------------------------------------------------------


def _modelservice(values: Node, side: Node, source: Origin, context: Context) -> Result:
    sizes = [
        Flag(f"{key}-parallel-size", side["parallelism"][key].text(), key, side["parallelism"][key].path)
        for key in ("tensor", "data", "pipeline")
        if side["parallelism"][key]
    ]
    if side["parallelism"]["dataLocal"]:
        sizes.append(Flag("data-parallel-size-local", side["parallelism"]["dataLocal"].text(), "dataLocal", side["parallelism"].path))
    model = _artifact(values["modelArtifacts"])
    for container in side["containers"].items():
        command = container["modelCommand"].string()
        read_as = Overlay(container.value, container.path, {"image": image_of(container), "args": listed(container["args"])})
        stated = bool(container["resources"]["limits"].mapping)
        adds = ADDS - ({"gpus"} if stated and any("/" in key for key in container["resources"]["limits"].mapping) else set())
        adds -= {"probes"} if container["startupProbe"].mapping else set()
        for item in pod_of(side, read_as, source, context, adds):
            if not isinstance(item, Workload):
                yield item
                continue
            given = {flag.name for flag in item.engine.flags}
            flags = (*item.engine.flags, *(flag for flag in sizes if flag.name not in given)) if command != "custom" else item.engine.flags
            engine = replace(item.engine, flags=flags, complete=item.engine.complete or command in ("vllmServe", ""))
            engine = sized(replace(engine, model=model if command == "vllmServe" or not engine.model.known else engine.model))
            yield replace(item, engine=engine, replicas=side["replicas"].integer())


def _artifact(node: Node) -> Fact[str]:
    name = node["name"]
    return name.text() if name else node["uri"].text().map(lambda text: text.partition("://")[2] or text)


# --- any chart ---------------------------------------------------------------------------------------------------------


def _any_chart(node: Node, source: Origin, context: Context, depth: int) -> Result:
    """Mappings with a vLLM image, wherever they stand; what the chart's templates add is not known."""
    if depth > _DEEPEST:
        return
    if node["servingEngineSpec"].mapping:
        yield from stack.read_chart(node["servingEngineSpec"], source, context)
        return
    if _runs_vllm(node):
        yield from _chart_engine(node, replace(source, path=node.path), context)
        return
    for _, child in node.fields() if node.mapping else ((str(index), item) for index, item in enumerate(node.items())):
        if isinstance(child.value, dict | list):
            yield from _any_chart(child, source, context, depth + 1)


_READ = frozenset(
    {"image", "repository", "tag", "imageTag", "registry", "command", "resources", "probes", "name", "replicaCount", "replicas"}
)
_PLAIN = frozenset({"nodeSelector", "affinity", "tolerations", "volumes", "securityContext", "ports", *_ARGS, *_ENV, *_MODELS, *_PROBES})


def _unread(node: Node, source: Origin) -> Iterator[NotJudged]:
    """What stands beside an engine in the values of a chart that is not known, and means nothing without its templates."""
    names = [key for key, _ in node.fields()]
    left = [name for name in names if name not in _READ | _PLAIN]
    if left:
        told = ", ".join(left[:6]) + (", ..." if len(left) > 6 else "")
        read = f"{len(names) - len(left)} of {len(names)} keys read"
        why = f"values of a chart that is not known: {read}; only its templates say what {told} do"
        yield NotJudged(source, why, PARTLY)


_COMMON = re.compile(r"(?:^|\.)controllers\.[^.]+\.containers\.[^.]+$")


def _switched(probe: Node) -> Node:
    """A probe of the common library (bjw-s): off unless it is enabled; with ``custom`` its ``spec`` is the probe itself."""
    if probe["enabled"].boolean().value is not True:
        return Node(None, probe.path)
    if probe["custom"].boolean().value is True:
        return probe["spec"]
    # The library fills in the handler from the Service's port.
    return Overlay(probe["spec"].value if probe["spec"] else {}, probe["spec"].path, {"tcpSocket": Node({}, probe.path)})


def _runs_vllm(node: Node) -> bool:
    image = node["image"]
    if not image or node["containers"].is_list:
        return False
    text = image_of(node).string()
    return read_image(Fact(), text).engine == "vllm" and ("/" in text or "vllm" in text)


def _chart_engine(node: Node, source: Origin, context: Context) -> Result:
    args = next((node[key] for key in _ARGS if node[key].is_list or node[key].string()), Node(None, f"{node.path}.args"))
    env = next((node[key] for key in _ENV if node[key]), Node(None))
    switched = node["probes"] if node["probes"].mapping and not any(node[key] for key in _PROBES) else Node(None)
    probes = {key: node[key] if node[key]["httpGet"] or node[key]["periodSeconds"] else Node(None) for key in _PROBES}
    probes |= {key: _switched(switched[key.removesuffix("Probe")]) for key in _PROBES if switched}
    command = node["command"] if node["command"] else node["image"]["command"]
    fields = {"image": image_of(node), "args": listed(args), "env": env, "command": listed(command), **probes}
    container = Overlay(node.value, node.path, {**fields, "name": Node("engine", node.path), "volumeMounts": Node(None)})
    limits = node["resources"]["limits"].mapping
    # Probes written out whole are passed on as they are; without a startupProbe the liveness probe is the one that kills.
    stated = bool(switched) or probes["startupProbe"] or (probes["livenessProbe"]["httpGet"] and not node["startupProbe"])
    adds = ADDS - ({"gpus"} if any("gpu" in (scalar_text(key) or "") for key in limits) else set()) - ({"probes"} if stated else set())
    for item in pod_of(node, container, source, context, adds):
        if isinstance(item, Workload) and not _COMMON.search(node.path):
            yield from _unread(node, source)
        if isinstance(item, Workload):
            model = next((node[key].text() for key in _MODELS if node[key] and not node[key].mapping), item.engine.model)
            # Below controllers.*.containers.* of the common library the words are those of the container, and nothing is added.
            whole = item.engine.complete and _COMMON.search(node.path) is not None and node["command"].is_list
            engine = replace(item.engine, complete=whole, model=item.engine.model if item.engine.model.known else model)
            count = node.first("replicaCount", "replicas").integer()
            yield replace(item, engine=sized(engine), replicas=count)
