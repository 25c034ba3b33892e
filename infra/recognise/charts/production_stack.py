"""vLLM production-stack: the values of its chart and the VLLMRuntime objects of its operator."""

from collections.abc import Iterator
from dataclasses import replace

from interlock.infra.catalog.charts import Below, chart
from interlock.infra.engine.arguments import read_arguments
from interlock.infra.engine.words import Word
from interlock.infra.facts import Autoscaler, Claim, DocumentProblem, Engine, Fact, Origin, Rollout, Workload, absent, known
from interlock.infra.recognise.charts.parts import ADDS, dropped, image_of
from interlock.infra.recognise.containers import raw_list
from interlock.infra.recognise.context import Context
from interlock.infra.recognise.document import Document, Node, Overlay, origin
from interlock.infra.recognise.engines import keyword_flags, sized, with_flags
from interlock.infra.recognise.pods import PodRead, promoted, read_pod
from interlock.infra.recognise.scaling import read_scaled_object
from interlock.infra.recognise.schema import schema_problems
from interlock.infra.recognise.workloads import Result, engines_in

# Fields of vllmConfig that are the chart's own and no flags (helm/templates/deployment-vllm-multi.yaml).
_OWN = frozenset({"v0", "v1", "extraArgs", "env", "port"})
# What the chart makes of an entry: a Deployment, or with raySpec a RayCluster; the templates of the other are left out.
_OF_RAY, _OF_DEPLOYMENT = frozenset({"ray-cluster.yaml"}), frozenset({"deployment-vllm-multi.yaml", "scaledobject-vllm.yaml"})
# Older charts read them.
_ONCE = frozenset({"v0", "v1"})
# Fields of a model's entry that the template makes flags of, with the flag.
_OF_MODEL = {
    "enableLoRA": "enable-lora",
    "enableTool": "enable-auto-tool-choice",
    "toolCallParser": "tool-call-parser",
    "modelRevision": "revision",
}
_DATA = "/data"
"""Where the chart mounts its claim; HF_HOME points there."""
_RUNTIME_OWN = frozenset({"modelURL", "hfTokenSecret", "hfTokenName", "enableTool", "toolCallParser", "chatTemplate"})


def read_chart(spec: Node, source: Origin, context: Context) -> Result:
    """One workload per entry of ``modelSpec``."""
    for model in spec["modelSpec"].items():
        stated = {"gpus"} if _asked(model["requestGPU"]) else set()
        adds = ADDS - stated - ({"probes"} if spec["startupProbe"].mapping else set())
        named = replace(source, path=model.path, name=model["name"].string() or source.name)
        ray = model["raySpec"]["enabled"].boolean().value is True
        yield from _dropped(model, named, ray=ray)
        share = model["requestGPU"].number()
        if share.known and 0 < share.get() < 1:
            text = f"requestGPU {share.get():g} asks for no GPU: the chart's template takes its whole part, which is 0"
            remedy = "write 1, with time-slicing or MPS on the nodes where engines share a card"
            yield DocumentProblem(named, "schema-typo", text, share.path, f"{share.get():g}", remedy, fault="chart-key-dropped")
        for item in engines_in(Node({}), named, _pods(spec, model, context, ray=ray), context, adds):
            if not isinstance(item, Workload):
                yield item
                continue
            yield from _around(model, named, ray=ray)
            yield replace(
                item,
                engine=_engine(item.engine, _kept(model, ray=ray), model["modelURL"].text()),
                replicas=known(1) if ray else model["replicaCount"].integer(),
                autoscaled=model["keda"]["enabled"].boolean().value is True,
                rollout=Rollout(strategy=spec.at("strategy", "type").text(), path=spec["strategy"].path),
            )


def _around(model: Node, source: Origin, *, ray: bool) -> Iterator[Claim | Autoscaler | DocumentProblem]:
    """The claim and the autoscaler that the chart makes for an entry (helm/templates/pvc.yaml, scaledobject-vllm.yaml)."""
    if model["pvcStorage"]:
        modes, stated = model["pvcAccessMode"], tuple(mode.string() for mode in model["pvcAccessMode"].items())
        access = known(stated if stated and all(stated) else ("ReadWriteOnce",), modes.path)
        own = replace(source, kind="PersistentVolumeClaim", name=_claim_name(model))
        yield Claim(own, access, model["storageClass"].text(), model["pvcStorage"].size(), users=known(1))
    keda = model["keda"]
    if not ray and keda["enabled"].boolean().value is True:
        fields = {key: value for key, value in keda.mapping.items() if key != "enabled"}
        target = {"kind": source.kind, "name": source.name}
        whole = Node({**fields, "scaleTargetRef": target}, keda.path)
        made = Overlay({"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject"}, model.path, {"spec": whole})
        own = replace(source, kind="ScaledObject")
        yield replace(next(read_scaled_object(made, _NOWHERE, Context())), origin=own)
        yield from schema_problems(made, own, whole=False)


_NOWHERE = Document({})


def _claim_name(model: Node) -> str:
    return f"{model['name'].string()}-storage-claim"


def _below(*, ray: bool) -> Below:
    """What the templates read of a model's entry."""
    found = chart("vllm-stack", _OF_DEPLOYMENT if ray else _OF_RAY).below
    for key in ("servingEngineSpec", "modelSpec", "[]"):
        found = found.keys[key]
    return found


def _dropped(model: Node, source: Origin, *, ray: bool) -> Iterator[DocumentProblem]:
    """What the templates do not read."""
    for problem in dropped(model, _below(ray=ray), "vllm-stack", source):
        name = problem.value.rpartition(".")[2]
        if name in _ONCE or problem.value.startswith("raySpec"):
            continue
        flag = problem.value.startswith("vllmConfig.")
        yield replace(problem, remedy=f"put --{_dashed(name).replace('_', '-')} into extraArgs") if flag else problem
    if model["raySpec"].mapping and not ray:
        text = "raySpec stands here, but the chart makes a Ray cluster of it only with raySpec.enabled: true"
        remedy = "set raySpec.enabled: true, or remove raySpec"
        yield DocumentProblem(source, "schema-typo", text, model["raySpec"].path, "raySpec", remedy, fault="chart-block-not-enabled")


def _kept(model: Node, *, ray: bool) -> Node:
    """vllmConfig as the templates read it, with the fields of the entry that make flags."""
    config = model["vllmConfig"]
    read = _below(ray=ray).keys["vllmConfig"].keys
    fields = {key: node for key, node in config.fields() if key in read or key in _OWN}
    own = {flag: model[key] for key, flag in _OF_MODEL.items() if model[key] and model[key].string() != "false"}
    return Overlay({**dict.fromkeys(fields), **dict.fromkeys(own)}, config.path, {**own, **fields})


def _pods(spec: Node, model: Node, context: Context, *, ray: bool) -> tuple[PodRead, ...]:
    if not ray:
        return (read_pod(_pod(spec, model, model["requestGPU"]), Node({}), context),)
    # With raySpec the chart makes a RayCluster: one head with GPUs of its own, and the replicas as its workers.
    head = read_pod(_pod(spec, model, model.at("raySpec", "headNode", "requestGPU")), Node({}), context, "head", known(1))
    count = model["replicaCount"].integer().default(1)
    return head, promoted(read_pod(_pod(spec, model, model["requestGPU"]), Node({}), context, "worker", count))


def _asked(gpus: Node) -> bool:
    """Whether the template asks for GPUs: it compares the whole part of the number with 0."""
    number = gpus.number()
    return bool(gpus) and not (number.known and int(number.get()) < 1)


def _pod(spec: Node, model: Node, gpus: Node) -> Node:
    gpus = gpus if _asked(gpus) else Node(None, gpus.path)
    limits = {model["requestGPUType"].string() or "nvidia.com/gpu": gpus} if gpus else {}
    limits |= {"memory": model["limitMemory"]} if model["limitMemory"] else {}
    container = Overlay(
        model.value,
        model.path,
        {
            "name": Node(model["name"].value, model["name"].path),
            "image": image_of(model),
            "args": Node([], model.at("vllmConfig", "extraArgs").path),
            "command": Node(None),
            "env": _environment(model),
            "resources": Overlay({}, gpus.path, {"limits": Overlay({}, model.path, limits)}),
            "startupProbe": spec["startupProbe"],
            "livenessProbe": spec["livenessProbe"] if spec["startupProbe"] else Node(None),
            "readinessProbe": Node(None),
            "volumeMounts": Node([{"name": "storage", "mountPath": _DATA}] if model["pvcStorage"] else None, model["pvcStorage"].path),
        },
    )
    terms = Overlay({}, model.path, {"nodeSelectorTerms": model["nodeSelectorTerms"]})
    required = Overlay({}, model.path, {"requiredDuringSchedulingIgnoredDuringExecution": terms})
    affinity = Overlay({}, model.path, {"nodeAffinity": required}) if model["nodeSelectorTerms"] else Node(None)
    claim = Node({"name": "storage", "persistentVolumeClaim": {"claimName": _claim_name(model)}}, model["pvcAccessMode"].path)
    volumes = Node([claim] if model["pvcStorage"] else None)
    fields = {"containers": Node([container], model.path), "initContainers": Node(None), "volumes": volumes, "affinity": affinity}
    return Overlay(model.value, model.path, fields)


def _environment(model: Node) -> Node:
    """The ``env`` list, the token that the chart turns into a Secret of its own, and the cache on its claim."""
    token = model["hf_token"]
    made = [Overlay({}, token.path, {"name": Node("HF_TOKEN", token.path), "value": token})] if token.string() else []
    if model["pvcStorage"]:
        made.append(Overlay({}, model["pvcStorage"].path, {"name": Node("HF_HOME"), "value": Node(_DATA, model["pvcStorage"].path)}))
    return Node([*made, *model["env"].items()], model["env"].path) if made else model["env"]


def _engine(engine: Engine, config: Node, model: Fact[str], *more: Node) -> Engine:
    """The engine whose flags the templates make of camelCase fields; only what is named is passed."""
    fields = {_dashed(key): node for source in (config, *more) for key, node in source.fields() if key not in _OWN | _RUNTIME_OWN}
    flags = tuple(flag for flag in keyword_flags(Overlay({}, config.path, fields)) if flag.value.value != "")
    engine = sized(replace(engine, flags=flags, entrypoint="operator", complete=True, model=model))
    words = tuple(Word(fact.value or "", fact.known, path=fact.path) for fact in raw_list(config["extraArgs"]))
    return with_flags(engine, read_arguments(words))


def _dashed(key: str) -> str:
    return "".join(f"-{letter.lower()}" if letter.isupper() else letter for letter in key.replace("LoRA", "Lora")).strip("-")


def read_runtime(root: Node, document: Document, context: Context) -> Result:
    """A VLLMRuntime."""
    spec = root["spec"]
    deployment, config = spec["deploymentConfig"], spec["vllmConfig"]
    resources, image = deployment["resources"], deployment["image"]
    name = "/".join(part for part in (image["registry"].string(), image["name"].string()) if part)
    limits = {resources["gpuType"].string() or "nvidia.com/gpu": resources["gpu"]} if resources["gpu"] else {}
    limits |= {"memory": resources["memory"]} if resources["memory"] else {}
    container = Overlay(
        {},
        deployment.path,
        {
            "name": Node("vllm", deployment.path),
            "image": Node(name or None, image["name"].path),
            "env": config["env"],
            "envFrom": Node([spec["model"]["hfTokenSecret"]], spec["model"].path) if spec["model"]["hfTokenSecret"] else Node(None),
            "resources": Overlay({}, resources.path, {"limits": Overlay({}, resources.path, limits)}),
        },
    )
    pod = read_pod(Overlay({}, deployment.path, {"containers": Node([container], deployment.path)}), root["metadata"], context)
    adds = ADDS - {"chart"} - ({"gpus"} if resources["gpu"] else set())
    for item in engines_in(root, origin(root, document, "production-stack"), (pod,), context, adds):
        if isinstance(item, Workload):
            engine = _engine(item.engine, config, spec.at("model", "modelURL").text(), spec["model"])
            strategy = Rollout(strategy=deployment["deploymentStrategy"].text(), path=deployment["deploymentStrategy"].path)
            scaled = bool(spec["autoscalingConfig"]["enabled"].boolean().value)
            replicas = deployment["replicas"].integer() if deployment["replicas"] else absent()
            yield replace(item, engine=engine, replicas=replicas, rollout=strategy, autoscaled=scaled)
        else:
            yield item
