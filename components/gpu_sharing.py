"""How cards are shared, for a GPU layer that is installed already."""

from collections.abc import Mapping, Sequence
from typing import Any, NotRequired, TypedDict

import pulumi

from interlock.components._given import Given
from interlock.components._made import Recipe, make, register
from interlock.components.arguments.cluster import WaiverSettings
from interlock.components.arguments.pools import PoolSettings
from interlock.infra.config import ClusterConfig
from interlock.infra.manifests.bundles import stack_objects
from interlock.infra.manifests.placed import Draft
from interlock.infra.manifests.sets import GpuLayerObjects
from interlock.infra.manifests.sharing import sharing_objects
from interlock.infra.plan.types import ClusterPlan


class GpuSharingArgs(TypedDict):
    """What a GpuSharing is made of."""

    pools: list[PoolSettings]
    """Pools with their ``share``: time-slicing, MPS or MIG."""
    namespace: pulumi.Input[str]
    """Namespace of the installed layer (the GPU operator's), which reads the ConfigMaps by name."""
    stack: NotRequired[str]
    """Name that labels and cluster-wide names carry; omit for the Pulumi stack's."""
    waivers: NotRequired[list[WaiverSettings]]
    """Findings accepted with a reason."""
    rules: NotRequired[dict[str, Any]]
    """Rule settings by ``CODE.name``."""


class GpuSharing(pulumi.ComponentResource):
    """ConfigMaps with the device plugin's configs by class (time-slicing, MPS) and with the MIG layouts; the layer itself is installed."""

    config_map: pulumi.Output[str]
    """ConfigMap of the device plugin's configs: devicePlugin.config.name of the GPU operator's ClusterPolicy."""
    mig_config_map: pulumi.Output[str]
    """ConfigMap of the MIG layouts: migManager.config.name of the ClusterPolicy; empty when no pool uses MIG."""
    classes: pulumi.Output[dict[str, str]]
    """Plugin config by pool, for pools that share their cards: the node label ``nvidia.com/device-plugin.config``."""

    def __init__(self, name: str, args: GpuSharingArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        made = make(RECIPE, name, args)
        super().__init__("interlock:index:GpuSharing", name, {}, opts)
        names = ["", ""]
        for manifest in made.objects.manifests:
            mig = "config.yaml" in manifest["data"]
            names[mig] = manifest["metadata"]["name"]
            made.apply(f"{name}-configmap-{'mig' if mig else 'plugin'}", manifest, pulumi.ResourceOptions(parent=self))
        self.config_map, self.mig_config_map = (made.output(each) for each in names)
        self.classes = made.output(made.objects.classes)
        register(self)


def _config(name: str, read: Given) -> dict[str, Any]:
    layer = {"kind": "installed", "namespace": read.values["namespace"]}
    return {"scope": "platform", "namespace": "default", "pools": read.values["pools"], "platform": {"gpu_layer": layer}}


def _build(config: ClusterConfig, plan: ClusterPlan, given: Mapping[str, Any]) -> tuple[GpuLayerObjects, Sequence[Draft]]:
    sharing = sharing_objects(config, plan.stack)
    return sharing, (*(draft for each in stack_objects(config, plan).pools for draft in each.drafts), *sharing.drafts)


RECIPE = Recipe(
    "GpuSharing",
    GpuSharingArgs,
    _config,
    _build,
    words={"platform.gpu_layer.namespace": "namespace", "platform.gpu_layer": "pools"},
)
