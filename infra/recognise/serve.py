"""Ray Serve configurations: LLM configs of ray.serve.llm, and applications that start vLLM themselves."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from interlock.infra.facts import Engine, Fact, Flag, ServeDeployment, known, unknown
from interlock.infra.recognise.document import Node
from interlock.infra.recognise.engines import keyword_flags, sized
from interlock.infra.recognise.pods import PodRead

_LLM_PATHS = re.compile(r"ray\.(serve\.)?llm|build_(pd_)?openai_app|build_llm_deployment")
_INGRESS = ("ingress_deployment_config", "ingress_cls_config")
_CONFIG_KEYS = ("llm_configs", "prefill_config", "decode_config", "llm_config")
# Names that public serve scripts read from their environment (KubeRay's vLLM samples and their descendants).
_ENV_SIZES = {
    "tensor-parallel-size": ("TENSOR_PARALLELISM", "TENSOR_PARALLEL_SIZE", "TP_SIZE"),
    "pipeline-parallel-size": ("PIPELINE_PARALLELISM", "PIPELINE_PARALLEL_SIZE", "PP_SIZE"),
}
_ENGINE_ARGS = ("engine_kwargs", "engine_args", "vllm_args")
# Arguments that vLLM alone spells so.
_VLLMS = frozenset({"tensor_parallel_size", "gpu_memory_utilization", "max_model_len", "max_num_seqs", "enforce_eager"})
_ENV_MODEL = ("MODEL_ID", "MODEL_NAME", "MODEL", "VLLM_MODEL", "MODEL_PATH")


@dataclass(frozen=True, slots=True)
class Found:
    """One engine of a Serve config."""

    engine: Engine
    deployment: ServeDeployment
    accelerator: Fact[str] = Fact()
    """``accelerator_type`` of the LLM config."""


def engines(config: Node, pods: tuple[PodRead, ...]) -> Iterator[Found]:
    """Every engine that a Serve config describes, with its deployment."""
    for application in config["applications"].items():
        found = list(_llm_configs(application["args"]))
        options = next((node.path for key in _INGRESS if (node := application["args"][key]).mapping), "")
        builder = application["import_path"].string().rpartition(":")[2]
        for each in (_from_llm_config(node, builder) for node in found):
            yield replace(each, deployment=replace(each.deployment, configs=len(found), ingress_options=options))
        if not found and not _LLM_PATHS.search(application["import_path"].string()):
            yield from _own_application(application, pods)


def _llm_configs(args: Node) -> Iterator[Node]:
    for key in _CONFIG_KEYS:
        node = args[key]
        for item in node.items() if node.is_list else (node,):
            if item["model_loading_config"] or item["engine_kwargs"]:
                yield item


def _from_llm_config(node: Node, builder: str) -> Found:
    loading, kwargs = node["model_loading_config"], node["engine_kwargs"]
    model = loading.first("model_source", "model_id")
    named = model.text() if not model.mapping else known(model["bucket_uri"].string() or "?", model.path)
    env = node.at("runtime_env", "env_vars").facts()
    engine = sized(Engine(entrypoint="ray-serve", model=named, flags=tuple(keyword_flags(kwargs)), env=env))
    deployment = node["deployment_config"]
    groups = node["placement_group_config"]
    carrier = _deployment(deployment, loading["model_id"].string(), node, groups, env, llm=True)
    return Found(engine, replace(carrier, builder=builder), node["accelerator_type"].text())


def _deployment(node: Node, name: str, whole: Node, groups: Node, env: Mapping[str, Fact[str]], *, llm: bool = False) -> ServeDeployment:
    bundles = groups["bundles"] if groups["bundles"] else node["placement_group_bundles"]
    per_bundle = whole.at("resources_per_bundle", "GPU")
    actor = node.at("ray_actor_options", "num_gpus")
    scaling = node["autoscaling_config"]
    return ServeDeployment(
        name=name,
        path=whole.path,
        llm=llm,
        num_gpus=actor.number() if actor or not per_bundle else per_bundle.number(),
        bundles=tuple(_bundle(bundle) for bundle in bundles.items()),
        per_worker=_bundle(groups["bundle_per_worker"]),
        strategy=(groups["strategy"] if groups["strategy"] else node["placement_group_strategy"]).text(),
        replicas=(node["num_replicas"] if node["num_replicas"] else scaling["min_replicas"]).integer(),
        most_replicas=scaling["max_replicas"].integer(),
        target_ongoing_requests=scaling.first("target_ongoing_requests", "target_num_ongoing_requests_per_replica").number(),
        max_ongoing_requests=node.first("max_ongoing_requests", "max_concurrent_queries").number(),
        autoscaling=bool(scaling.mapping) or node["num_replicas"].string() == "auto",
        graceful_shutdown_timeout=node["graceful_shutdown_timeout_s"].number(),
        runtime_env=env,
        adapters=bool(whole["lora_config"]),
        router=node.at("request_router_config", "request_router_class").text(),
        router_options=node.at("request_router_config", "request_router_kwargs").facts(),
    )


def _bundle(node: Node) -> Mapping[str, float]:
    return {key: fact.get() for key, value in node.fields() if (fact := value.number()).known}


def _own_application(application: Node, pods: tuple[PodRead, ...]) -> Iterator[Found]:
    """An application with its own code: vLLM when its names, packages, arguments or images say so."""
    env = application.at("runtime_env", "env_vars").facts()
    if not _speaks_of_vllm(application, pods):
        return
    configs = [node["user_config"] for node in application["deployments"].items()]
    stated_args = [application["args"], *(config[key] for config in (application["args"], *configs) for key in _ENGINE_ARGS)]
    flags = [flag for node in stated_args for flag in keyword_flags(node)]
    for name, keys in _ENV_SIZES.items():
        stated = next(((key, env[key]) for key in keys if key in env), None)
        if stated and not any(flag.name == name for flag in flags):
            flags.append(Flag(name, stated[1], stated[0], stated[1].path))
    model = next((env[key] for key in _ENV_MODEL if key in env), None)
    stated_model = next((flag.value for flag in flags if flag.name in ("model", "model-id")), None)
    fallback = unknown(application.path, "the application's own code names the model")
    engine = sized(Engine(entrypoint="ray-serve", model=stated_model or model or fallback, flags=tuple(flags), env=env, complete=False))
    deployments = list(application["deployments"].items())
    holding = next((node for node in deployments if node.at("ray_actor_options", "num_gpus")), None)
    node = holding or next(iter(deployments), Node({}, application.path))
    name = node["name"].string() or application["name"].string()
    yield Found(engine, _deployment(node, name, node, Node({}, node.path), env))


def _speaks_of_vllm(application: Node, pods: tuple[PodRead, ...]) -> bool:
    words = f"{application['import_path'].string()} {application['name'].string()} {application['runtime_env'].value!s:.5000}".lower()
    images = [read.image.engine for pod in pods for read in pod.reads]
    configs = [node["user_config"][key] for node in application["deployments"].items() for key in _ENGINE_ARGS]
    told = any(config["model"] and any(key in _VLLMS for key in config.mapping) for config in configs)
    return told or "vllm" in words or "tensor_parallel" in words or "vllm" in images
