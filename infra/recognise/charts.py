"""Helm values: production-stack, llm-d modelservice, and any chart whose values hold a vLLM image; also inside HelmRelease and the like."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from interlock.infra.facts import Engine, Fact, Flag, Origin, Workload
from interlock.infra.recognise.arguments import read_arguments
from interlock.infra.recognise.containers import raw_list
from interlock.infra.recognise.context import Context
from interlock.infra.recognise.document import Document, Node, Overlay, origin, scalar_text
from interlock.infra.recognise.engines import keyword_flags, sized, with_flags
from interlock.infra.recognise.images import read_image
from interlock.infra.recognise.native import Result, engines_in
from interlock.infra.recognise.pods import read_pod
from interlock.infra.recognise.words import Word

_ALL = frozenset({"probes", "shm", "gpus", "service-links-off", "ports", "chart"})
_DEEPEST = 8
_ARGS = ("args", "extraArgs", "vllmArgs", "engineArgs", "vllmExtraArgs", "additionalArgs", "serverArgs")
_ENV = ("env", "extraEnv", "envVars", "extraEnvVars", "environment")
_MODELS = ("model", "modelName", "modelId", "modelID", "modelURL", "model_id")
_PROBES = ("startupProbe", "livenessProbe", "readinessProbe")


def embedded_values(root: Node, context: Context) -> Iterator[Node]:
    """The values that a HelmRelease, HelmChart, Argo Application or Kustomization carries."""
    kind, spec = root["kind"].string(), root["spec"]
    if kind == "HelmRelease":
        yield spec["values"]
    elif kind == "HelmChart":
        yield context.load(spec["valuesContent"])
    elif kind == "Application":
        for source in [spec["source"], *spec["sources"].items()]:
            helm = source["helm"]
            yield helm["valuesObject"]
            yield context.load(helm["values"]) if helm["values"] and not helm["values"].mapping else helm["values"]
    elif kind == "Kustomization":
        for chart in root["helmCharts"].items():
            yield chart["valuesInline"]


def read_values(values: Node, root: Node, document: Document, context: Context) -> Result:
    """Engines in a mapping of chart values."""
    source = replace(origin(root, document, "chart-values"), kind=root["kind"].string() or "Values")
    if values["servingEngineSpec"].mapping:
        yield from _production_stack(values["servingEngineSpec"], source, context)
    elif (values["decode"].mapping or values["prefill"].mapping) and (values["modelArtifacts"].mapping or values["routing"].mapping):
        for side in ("decode", "prefill"):
            if values[side]["create"].boolean().value is not False:
                yield from _modelservice(values, values[side], replace(source, path=values[side].path), context)
    else:
        yield from _any_chart(values, source, context, 0)


# --- production-stack --------------------------------------------------------------------------------------------------


def _production_stack(spec: Node, source: Origin, context: Context) -> Result:
    for model in spec["modelSpec"].items():
        config = model["vllmConfig"]
        limits = {"nvidia.com/gpu": model["requestGPU"]} if model["requestGPU"] else {}
        kind = model["requestGPUType"].string()
        limits = {kind: model["requestGPU"]} if kind and limits else limits
        limits |= {"memory": model["limitMemory"]} if model["limitMemory"] else {}
        container = Overlay(
            model.value,
            model.path,
            {
                "name": Node(model["name"].value, model["name"].path),
                "image": _image(model),
                "args": Node([], config["extraArgs"].path),
                "command": Node(None),
                "env": _stack_env(model),
                "resources": Overlay({}, model["requestGPU"].path, {"limits": Overlay({}, model.path, limits)}),
                "startupProbe": spec["startupProbe"],
                "livenessProbe": Node(None) if not spec["startupProbe"] else spec["livenessProbe"],
                "readinessProbe": Node(None),
            },
        )
        adds = _ALL - ({"gpus"} if model["requestGPU"] else set()) - ({"probes"} if spec["startupProbe"].mapping else set())
        named = replace(source, path=model.path, name=model["name"].string() or source.name)
        for item in _pod(model, container, named, context, adds):
            if isinstance(item, Workload):
                engine = _stack_engine(item.engine, model, config)
                keda = model["keda"]["enabled"].boolean().value is True
                yield replace(item, engine=engine, replicas=model["replicaCount"].integer(), autoscaled=keda)
            else:
                yield item


def _stack_env(model: Node) -> Node:
    """The chart's ``env`` list and the token it turns into a Secret of its own."""
    token = model["hf_token"]
    if not token.string():
        return model["env"]
    own = Overlay({}, token.path, {"name": Node("HF_TOKEN", token.path), "value": token})
    return Node([*model["env"].items(), own], model["env"].path)


def _stack_engine(engine: Engine, model: Node, config: Node) -> Engine:
    """The chart turns ``vllmConfig`` into flags (helm/templates/deployment-vllm-multi.yaml); only what it names is passed."""
    flags = [flag for flag in keyword_flags(Node(_renamed(config), config.path)) if flag.name != "extra-args"]
    engine = sized(replace(engine, flags=tuple(flags), entrypoint="operator", complete=True, model=model["modelURL"].text()))
    words = tuple(Word(fact.value or "", fact.known, path=fact.path) for fact in raw_list(config["extraArgs"]))
    return with_flags(engine, read_arguments(words))


def _renamed(config: Node) -> Mapping[str, object]:
    """camelCase keys as flag names; the chart's own switches are not flags."""
    skipped = {"v0", "v1", "extraArgs"}
    return {_dashed(key): config[key].value for key, _ in config.fields() if key not in skipped}


def _dashed(key: str) -> str:
    return "".join(f"-{letter.lower()}" if letter.isupper() else letter for letter in key).strip("-")


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
        read_as = Overlay(container.value, container.path, {"image": _image(container), "args": _listed(container["args"])})
        stated = bool(container["resources"]["limits"].mapping)
        adds = _ALL - ({"gpus"} if stated and any("/" in key for key in container["resources"]["limits"].mapping) else set())
        adds -= {"probes"} if container["startupProbe"].mapping else set()
        for item in _pod(side, read_as, source, context, adds):
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
    if _runs_vllm(node):
        yield from _chart_engine(node, replace(source, path=node.path), context)
        return
    for _, child in node.fields() if node.mapping else ((str(index), item) for index, item in enumerate(node.items())):
        if isinstance(child.value, dict | list):
            yield from _any_chart(child, source, context, depth + 1)


def _runs_vllm(node: Node) -> bool:
    image = node["image"]
    if not image or node["containers"].is_list:
        return False
    text = _image(node).string()
    return read_image(Fact(), text).engine == "vllm" and ("/" in text or "vllm" in text)


def _chart_engine(node: Node, source: Origin, context: Context) -> Result:
    args = next((node[key] for key in _ARGS if node[key].is_list or node[key].string()), Node(None, f"{node.path}.args"))
    env = next((node[key] for key in _ENV if node[key]), Node(None))
    probes = {key: node[key] if node[key]["httpGet"] or node[key]["periodSeconds"] else Node(None) for key in _PROBES}
    command = node["command"] if node["command"] else node["image"]["command"]
    fields = {"image": _image(node), "args": _listed(args), "env": env, "command": _listed(command), **probes}
    container = Overlay(node.value, node.path, {**fields, "name": Node("engine", node.path), "volumeMounts": Node(None)})
    limits = node["resources"]["limits"].mapping
    adds = _ALL - ({"gpus"} if any("gpu" in (scalar_text(key) or "") for key in limits) else set())
    for item in _pod(node, container, source, context, adds):
        if isinstance(item, Workload):
            model = next((node[key].text() for key in _MODELS if node[key] and not node[key].mapping), item.engine.model)
            engine = replace(item.engine, complete=False, model=item.engine.model if item.engine.model.known else model)
            count = node.first("replicaCount", "replicas").integer()
            yield replace(item, engine=sized(engine), replicas=count)


# --- shared ------------------------------------------------------------------------------------------------------------


def _pod(node: Node, container: Node, source: Origin, context: Context, adds: frozenset[str]) -> Result:
    spec = Overlay(node.value, node.path, {"containers": Node([container], node.path), "initContainers": Node(None), "volumes": Node(None)})
    yield from engines_in(Node({}), source, (read_pod(spec, Node({}), context),), context, adds)


def _listed(node: Node) -> Node:
    return node if node.is_list or not node.mapping else Node(None, node.path)


def _image(node: Node) -> Node:
    """``image`` as a text, or put together from repository and tag (in ``image`` or beside it)."""
    image = node["image"]
    if image.string() and not node["repository"]:
        tag = node.first("tag", "imageTag")
        plain = ":" not in image.string().rpartition("/")[2] and "@" not in image.string()
        return Node(f"{image.string()}:{tag.string()}", tag.path) if plain and tag.string() else image
    part = image if image.mapping else node
    repository = part.first("repository", "name", "repo").string()
    if not repository:
        return Node(None, image.path)
    registry = part["registry"].string()
    tag = part["tag"] if part["tag"] else node["tag"]
    digest = part.first("digest", "sha").string()
    text = f"{registry}/{repository}" if registry else repository
    text += f":{tag.string()}" if tag.string() else "" if digest or ":" in repository else ":{{ default }}"
    return Node(f"{text}@{digest}" if digest else text, tag.path if tag else part["repository"].path)
