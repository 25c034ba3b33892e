"""The GPU layer: NVIDIA's device plugin, or the one that is there, looked at instead of assumed."""

from typing import Any, TypedDict

import pulumi
from pulumi_kubernetes.core.v1 import ConfigMap

from interlock.components._k8s import apply
from interlock.infra.errors import ConfigError, Problem
from interlock.infra.manifests.platform import GpuLayerObjects, missing_classes


class GpuDevicePluginArgs(TypedDict):
    """What a GpuDevicePlugin is made of."""

    spec: GpuLayerObjects
    """The planned objects, or what to look at."""


class GpuDevicePlugin(pulumi.ComponentResource):
    """Namespace, RuntimeClass, configs by class of nodes and DaemonSets; for an installed layer only the check of its config map."""

    classes: pulumi.Output[dict[str, str]]
    """Plugin config by pool, for pools that share their cards."""

    def __init__(self, name: str, args: GpuDevicePluginArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("interlock:index:GpuDevicePlugin", name, {}, opts)
        spec = args["spec"]
        before: list[pulumi.Resource] = []
        for manifest in spec.manifests:
            options = pulumi.ResourceOptions(parent=self, depends_on=list(before))
            before.append(apply(_logical(name, manifest), manifest, options))
        found: Any = spec.classes
        if spec.check:
            there = ConfigMap.get(f"{name}-installed", spec.check, opts=pulumi.ResourceOptions(parent=self))
            found = there.data.apply(lambda data: _checked(spec, frozenset(data or {})))
        self.classes = pulumi.Output.from_input(found)
        self.register_outputs({"classes": self.classes})


def _logical(name: str, manifest: dict[str, Any]) -> str:
    """Stable when a content hash in the object's name changes; two DaemonSets differ by their component."""
    part = manifest["metadata"]["labels"].get("app.kubernetes.io/component", "mig")
    return f"{name}-{manifest['kind'].lower()}-{part}"


def _checked(spec: GpuLayerObjects, keys: frozenset[str]) -> dict[str, str]:
    problems = missing_classes(spec, keys)
    if problems:
        raise ConfigError([Problem("platform.gpu_layer.config_map", text) for text in problems])
    return spec.classes
