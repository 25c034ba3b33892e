"""What Ray Serve is told (``serveConfigV2``): one application with a model for each server, from the same arguments as a Deployment's."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from interlock.infra.engine.arguments import read_arguments
from interlock.infra.engine.words import Word
from interlock.infra.manifests.placed import Owned, put
from interlock.infra.plan.ray_types import PlannedRay, PlannedRayService
from interlock.infra.plan.types import PlannedServer

PORT = 8000
APPLICATION = "llm"
DOOR = "ingress"
"""Ray resource that only the pods without GPUs offer: one for each replica of the application's ingress."""


def serve_config(service: PlannedRayService, servers: Sequence[PlannedServer]) -> dict[str, Any]:
    """The whole configuration of Serve."""
    return {
        "proxy_location": "EveryNode",
        "http_options": {"host": "0.0.0.0", "port": PORT},
        "applications": [
            {
                "name": APPLICATION,
                "route_prefix": "/",
                "import_path": f"ray.serve.llm:{builder(servers)}",
                "args": application(service, servers),
            }
        ],
    }


def builder(servers: Sequence[PlannedServer]) -> str:
    """The function of ray.serve.llm that builds the application: data-parallel ranks have one of their own, for a single model."""
    return "build_dp_openai_app" if any(each.ray and each.ray.ranks > 1 for each in servers) else "build_openai_app"


def application(service: PlannedRayService, servers: Sequence[PlannedServer]) -> dict[str, Any]:
    """The models, and the ingress in front of them on pods without GPUs."""
    configs = [Owned(llm_config(server, server.ray), f"servers[{server.index}]") for server in servers if server.ray]
    ongoing = sum((each.ray.ongoing + each.ray.queued) * each.max_replicas * each.ray.ranks for each in servers if each.ray)
    ingress = {
        "num_replicas": put(service.config.ingress_replicas, f"{service.owner}.ingress_replicas"),
        "max_ongoing_requests": ongoing,
        "graceful_shutdown_timeout_s": service.drain,
        "ray_actor_options": {"num_cpus": 1, "resources": {DOOR: 1}},
    }
    models = {"llm_config": configs[0]} if builder(servers) == "build_dp_openai_app" else {"llm_configs": configs}
    return {**models, "ingress_deployment_config": ingress}


def llm_config(server: PlannedServer, ray: PlannedRay) -> dict[str, Any]:
    """The LLMConfig of one server."""
    loading = {
        "model_id": put(server.args.served_model_name, "served_name", "served_name"),
        "model_source": put(server.args.model, "model.id", "model_path"),
    }
    bundle = {"GPU": 1, ray.marker: 1}
    return {
        "model_loading_config": loading,
        "engine_kwargs": dict(engine_kwargs(server)),
        "placement_group_config": put({"bundle_per_worker": bundle, "strategy": ray.strategy}, "engine", "placement"),
        "deployment_config": deployment(server, ray),
    }


def engine_kwargs(server: PlannedServer) -> Iterator[tuple[str, Any]]:
    """The engine's arguments by name: those of the command line that a Deployment would have, without those of its API server."""
    if server.args.revision:
        yield "revision", put(server.args.revision, "model.revision", "model_path")
    for name, value in server.args.engine.stated().items():
        yield name, put(value, f"engine.{name}", name)
    words = [Word(text, path=f"extra.args[{place}]") for place, text in enumerate(server.args.extra)]
    for flag in read_arguments(words).flags:
        if flag.value.known:
            yield flag.name.replace("-", "_"), put(_typed(flag.value.get()), flag.value.path or flag.path)


def _typed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def deployment(server: PlannedServer, ray: PlannedRay) -> dict[str, Any]:
    """Options of the Serve deployment: limits, drain, health, and replicas or their bounds."""
    drain = put(server.times.drain, "rollout.drain_seconds", "drain")
    return {
        "max_ongoing_requests": put(ray.ongoing, "engine.max_num_seqs", "ongoing"),
        "max_queued_requests": put(ray.queued, "engine.max_num_seqs", "ongoing"),
        "graceful_shutdown_timeout_s": drain,
        "graceful_shutdown_wait_loop_s": 2,
        "health_check_period_s": ray.health_period,
        "health_check_timeout_s": put(ray.health_timeout, "runtime.hang_seconds", "health"),
        **replicas(server, ray),
    }


def replicas(server: PlannedServer, ray: PlannedRay) -> dict[str, Any]:
    """A fixed number, or what Serve scales between."""
    if not server.config.autoscale:
        return {"num_replicas": put(server.replicas, "replicas", "replicas")}
    return {
        "autoscaling_config": {
            "min_replicas": put(server.replicas, "autoscale.min_replicas"),
            "max_replicas": put(server.max_replicas, "autoscale.max_replicas"),
            "target_ongoing_requests": put(ray.target, "engine.max_num_seqs", "target"),
            "upscale_delay_s": ray.upscale,
            "downscale_delay_s": put(ray.downscale, "autoscale.scale_down_seconds", "downscale"),
        }
    }
