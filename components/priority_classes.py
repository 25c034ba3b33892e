"""Who goes first when a pool is full."""

from collections.abc import Mapping, Sequence
from typing import Any, NotRequired, TypedDict

import pulumi

from interlock.components._given import Given
from interlock.components._made import ANY_POOL, Recipe, make, register
from interlock.components.arguments.cluster import PriorityClassSettings, WaiverSettings
from interlock.infra.config import ClusterConfig
from interlock.infra.manifests.bundles import stack_objects
from interlock.infra.manifests.placed import Draft
from interlock.infra.manifests.sets import PriorityObjects
from interlock.infra.plan.types import ClusterPlan


class PriorityClassesArgs(TypedDict):
    """What PriorityClasses are made of."""

    classes: list[PriorityClassSettings]
    """The classes; each is ``<stack>-<name>`` in the cluster."""
    stack: NotRequired[str]
    """Name that labels and cluster-wide names carry; omit for the Pulumi stack's."""
    waivers: NotRequired[list[WaiverSettings]]
    """Findings accepted with a reason."""
    rules: NotRequired[dict[str, Any]]
    """Rule settings by ``CODE.name``."""


class PriorityClasses(pulumi.ComponentResource):
    """Priority classes of one stack."""

    names: pulumi.Output[list[str]]
    """Their names in the cluster, lowest first."""
    by_name: pulumi.Output[dict[str, str]]
    """Name in the cluster by the name that was given: what ``server.priority_class`` of a VllmServer takes."""

    def __init__(self, name: str, args: PriorityClassesArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        made = make(RECIPE, name, args)
        super().__init__("interlock:index:PriorityClasses", name, {}, opts)
        names = [manifest["metadata"]["name"] for manifest in made.objects.manifests]
        for each, manifest in zip(names, made.objects.manifests, strict=True):
            made.apply(f"{name}-{each}", manifest, pulumi.ResourceOptions(parent=self))
        self.names = made.output(names)
        self.by_name = made.output(made.objects.names)
        register(self)


def _config(name: str, read: Given) -> dict[str, Any]:
    platform = {"priority_classes": read.values["classes"]}
    return {"scope": "platform", "namespace": "default", "pools": [ANY_POOL], "platform": platform}


def _build(config: ClusterConfig, plan: ClusterPlan, given: Mapping[str, Any]) -> tuple[PriorityObjects, Sequence[Draft]]:
    made = stack_objects(config, plan)
    return made.priorities, made.drafts


RECIPE = Recipe("PriorityClasses", PriorityClassesArgs, _config, _build, words={"platform.priority_classes": "classes"})
