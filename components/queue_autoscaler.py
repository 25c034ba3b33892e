"""Replicas by queue depth, for a server that somebody else made."""

from collections.abc import Mapping, Sequence
from typing import Any, NotRequired, TypedDict

import pulumi

from interlock.components._given import Given
from interlock.components._made import ANY_POOL, Recipe, make, register, stand_in
from interlock.components.arguments.cluster import PrometheusSettings, WaiverSettings
from interlock.components.arguments.scaling import AutoscaleSettings
from interlock.infra.config import ClusterConfig
from interlock.infra.errors import ConfigError, Problem
from interlock.infra.manifests.placed import Draft, finished
from interlock.infra.manifests.scaling import scaler_objects
from interlock.infra.manifests.servers import server_objects
from interlock.infra.manifests.sets import ScalerObjects
from interlock.infra.manifests.waivers import carrying
from interlock.infra.plan.scaling import decide_scaling
from interlock.infra.plan.types import ClusterPlan, PlannedServer


class QueueAutoscalerArgs(TypedDict):
    """What a QueueAutoscaler is made of."""

    autoscale: AutoscaleSettings
    """Kind, bounds and the queue per replica above which replicas are added."""
    namespace: pulumi.Input[str]
    """Namespace of the Deployment."""
    deployment: pulumi.Input[str]
    """Name of the Deployment that is scaled; it states no replicas of its own."""
    model: pulumi.Input[str]
    """Name that the engine serves the model under (``--served-model-name``): the queue is read by it."""
    prometheus: NotRequired[PrometheusSettings]
    """The Prometheus that is asked; it scrapes the engine already. ``http://prometheus.monitoring:9090`` by default."""
    load_seconds: NotRequired[int]
    """Seconds from a pod's start until it serves: replicas are added no faster; 300 by default."""
    stack: NotRequired[str]
    """Name that labels and cluster-wide names carry; omit for the Pulumi stack's."""
    waivers: NotRequired[list[WaiverSettings]]
    """Findings accepted with a reason."""
    rules: NotRequired[dict[str, Any]]
    """Rule settings by ``CODE.name``."""


class QueueAutoscaler(pulumi.ComponentResource):
    """A KEDA ScaledObject or a HorizontalPodAutoscaler on vLLM's queue. A VllmServer with ``server.autoscale`` makes its own."""

    scaler: pulumi.Output[str]
    """Name of the ScaledObject or HorizontalPodAutoscaler."""
    min_replicas: pulumi.Output[int]
    """Minimum number of replicas."""
    max_replicas: pulumi.Output[int]
    """Maximum number of replicas."""

    def __init__(self, name: str, args: QueueAutoscalerArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        made = make(RECIPE, name, args)
        super().__init__("interlock:index:QueueAutoscaler", name, {}, opts)
        for manifest in made.objects.manifests:
            made.apply(f"{name}-{manifest['kind'].lower()}", manifest, pulumi.ResourceOptions(parent=self))
        self.scaler = made.output(made.objects.name)
        self.min_replicas = made.output(made.objects.min_replicas)
        self.max_replicas = made.output(made.objects.max_replicas)
        register(self)


def _config(name: str, read: Given) -> dict[str, Any]:
    given = read.values
    if given.get("load_seconds", 300) < 1:
        raise ConfigError([Problem("load_seconds", f"{given['load_seconds']} is out of range: it must be at least 1")])
    server = {**stand_in(given["deployment"]), "served_name": given["model"], "autoscale": given["autoscale"]}
    return {
        "scope": "serving",
        "namespace": given["namespace"],
        "create_namespace": False,
        "monitoring": {"scrape": "none", "prometheus": given.get("prometheus", {})},
        "pools": [ANY_POOL],
        "servers": [server],
    }


def _server(config: ClusterConfig, plan: ClusterPlan, given: Mapping[str, Any]) -> PlannedServer:
    """The Deployment that is scaled, with the load time that was given."""
    server, seconds = plan.servers[0], float(given.get("load_seconds", 300))
    engine, why = server.args.engine, dict(server.why)
    scaling = decide_scaling(config, server.config, engine, server.scrape, version=server.vllm, scale_up=seconds, why=why)
    return server.model_copy(update={"times": server.times.model_copy(update={"scale_up": seconds}), "scaling": scaling})


def _scaler(plan: ClusterPlan, server: PlannedServer) -> tuple[Draft, ...]:
    assert server.config.autoscale is not None
    assert server.scaling is not None
    made = scaler_objects(plan, server, server.config.autoscale, server.scaling)
    return tuple(carrying(finished(each, "servers[0]"), plan.waived) for each in made)


def _build(config: ClusterConfig, plan: ClusterPlan, given: Mapping[str, Any]) -> tuple[ScalerObjects, Sequence[Draft]]:
    server = _server(config, plan, given)
    scale = config.servers[0].autoscale
    assert scale is not None
    made = ScalerObjects(_scaler(plan, server), name=given["deployment"], min_replicas=scale.min_replicas, max_replicas=scale.max_replicas)
    # The scaler, and a server that stands in for the one it scales.
    return made, tuple(server_objects(plan, server, {}))


RECIPE = Recipe(
    "QueueAutoscaler",
    QueueAutoscalerArgs,
    _config,
    _build,
    words={
        "servers[0].autoscale": "autoscale",
        "servers[0].name": "deployment",
        "servers[0].served_name": "model",
        "monitoring.prometheus": "prometheus",
    },
    tells=("autoscale", "prometheus"),
)
