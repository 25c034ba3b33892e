"""The GPU layer: NVIDIA's device plugin with a config for each class of nodes."""

from typing import Any, TypedDict

import pulumi

from interlock.components._k8s import apply
from interlock.infra.manifests.bundles import GpuLayerObjects


class GpuDevicePluginArgs(TypedDict):
    """What a GpuDevicePlugin is made of."""

    spec: GpuLayerObjects
    """The planned objects."""


class GpuDevicePlugin(pulumi.ComponentResource):
    """Namespace, RuntimeClass, configs by class of nodes and DaemonSets; for an installed layer only its MIG layouts."""

    classes: pulumi.Output[dict[str, str]]
    """Plugin config by pool, for pools that share their cards."""

    def __init__(self, name: str, args: GpuDevicePluginArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("interlock:index:GpuDevicePlugin", name, {}, opts)
        spec = args["spec"]
        before: list[pulumi.Resource] = []
        for manifest in spec.manifests:
            options = pulumi.ResourceOptions(parent=self, depends_on=list(before))
            before.append(apply(_logical(name, manifest), manifest, options))
        self.classes = pulumi.Output.from_input(spec.classes)
        self.register_outputs({"classes": self.classes})


def _logical(name: str, manifest: dict[str, Any]) -> str:
    """Stable when a content hash in the object's name changes; two DaemonSets differ by their component."""
    part = manifest["metadata"]["labels"].get("app.kubernetes.io/component", "mig")
    return f"{name}-{manifest['kind'].lower()}-{part}"
