"""The GPU layer: NVIDIA's device plugin with a config for each class of nodes."""

from collections.abc import Mapping, Sequence
from typing import Any, NotRequired, TypedDict

import pulumi

from interlock.components._given import Given
from interlock.components._made import Recipe, make, register
from interlock.components.arguments.cluster import GpuLayerSettings, WaiverSettings
from interlock.components.arguments.pools import PoolSettings
from interlock.infra.config import ClusterConfig
from interlock.infra.errors import ConfigError, Problem
from interlock.infra.manifests.bundles import stack_objects
from interlock.infra.manifests.placed import Draft, Manifest
from interlock.infra.manifests.sets import GpuLayerObjects
from interlock.infra.plan.types import ClusterPlan


class GpuDevicePluginArgs(TypedDict):
    """What a GpuDevicePlugin is made of."""

    pools: list[PoolSettings]
    """Pools whose nodes get the plugin; how a pool shares its cards is in its own ``share``."""
    layer: NotRequired[GpuLayerSettings]
    """Namespace, image and driver of the plugin; its kind is device-plugin."""
    stack: NotRequired[str]
    """Name that labels and cluster-wide names carry; omit for the Pulumi stack's."""
    waivers: NotRequired[list[WaiverSettings]]
    """Findings accepted with a reason."""
    rules: NotRequired[dict[str, Any]]
    """Rule settings by ``CODE.name``."""


class GpuDevicePlugin(pulumi.ComponentResource):
    """Namespace, RuntimeClass, configs by class of nodes, DaemonSets, and MIG layouts: what makes GPUs visible to Kubernetes."""

    namespace: pulumi.Output[str]
    """Namespace of the plugin."""
    runtime_class: pulumi.Output[str]
    """RuntimeClass by which pods get the driver's libraries."""
    classes: pulumi.Output[dict[str, str]]
    """Plugin config by pool, for pools that share their cards."""

    def __init__(self, name: str, args: GpuDevicePluginArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        made = make(RECIPE, name, args)
        super().__init__("interlock:index:GpuDevicePlugin", name, {}, opts)
        before: list[pulumi.Resource] = []
        for manifest in made.objects.manifests:
            options = pulumi.ResourceOptions(parent=self, depends_on=list(before))
            before.append(made.apply(_logical(name, manifest), manifest, options))
        self.namespace = made.output(made.objects.namespace)
        self.runtime_class = made.output(made.objects.runtime_class)
        self.classes = made.output(made.objects.classes)
        register(self)


def _logical(name: str, manifest: Manifest) -> str:
    """Stable when a content hash in the object's name changes; two DaemonSets differ by their component."""
    part = manifest["metadata"]["labels"].get("app.kubernetes.io/component", "mig")
    return f"{name}-{manifest['kind'].lower()}-{part}"


def _config(name: str, read: Given) -> dict[str, Any]:
    kind = read.values.get("layer", {}).get("kind", "device-plugin")
    if kind == "installed":
        text = "'installed' is a layer of somebody else, and nothing is made of it: leave kind out, or use GpuSharing for its ConfigMaps"
        raise ConfigError([Problem("platform.gpu_layer.kind", text)])
    layer = {"kind": "device-plugin", **read.values.get("layer", {})}
    return {"scope": "platform", "namespace": "default", "pools": read.values["pools"], "platform": {"gpu_layer": layer}}


def _build(config: ClusterConfig, plan: ClusterPlan, given: Mapping[str, Any]) -> tuple[GpuLayerObjects, Sequence[Draft]]:
    made = stack_objects(config, plan)
    return made.gpu_layer, made.drafts


RECIPE = Recipe("GpuDevicePlugin", GpuDevicePluginArgs, _config, _build, words={"platform.gpu_layer": "layer"})
