"""A namespace for servers."""

from collections.abc import Mapping, Sequence
from typing import Any, NotRequired, TypedDict

import pulumi

from interlock.components._given import Given
from interlock.components._k8s import kept, protected
from interlock.components._made import ANY_POOL, Recipe, make, register
from interlock.components._runtime import apply_runtime
from interlock.components.arguments.cluster import WaiverSettings
from interlock.components.arguments.stores import StoreSettings
from interlock.infra.config import ClusterConfig
from interlock.infra.manifests.bundles import stack_objects
from interlock.infra.manifests.placed import Draft
from interlock.infra.manifests.sets import WorkspaceObjects
from interlock.infra.plan.types import ClusterPlan


class WorkspaceArgs(TypedDict):
    """What a Workspace is made of."""

    namespace: str
    """Name of the namespace, which is made here."""
    stores: NotRequired[list[StoreSettings]]
    """Stores that will be in it: their kinds decide about Pod Security (folders of nodes need the level privileged), and their ``keep``
    about what a destroy does with the namespace, whose claims would go with it."""
    production: NotRequired[bool]
    """Protect a namespace that holds claims; false by default."""
    stack: NotRequired[str]
    """Name that labels and cluster-wide names carry; omit for the Pulumi stack's."""
    waivers: NotRequired[list[WaiverSettings]]
    """Findings accepted with a reason."""
    rules: NotRequired[dict[str, Any]]
    """Rule settings by ``CODE.name``."""


class Workspace(pulumi.ComponentResource):
    """A namespace under Pod Security ``restricted``, and what all stores in it share."""

    namespace: pulumi.Output[str]
    """Name of the namespace."""

    def __init__(self, name: str, args: WorkspaceArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        made = make(RECIPE, name, args)
        super().__init__("interlock:index:Workspace", name, {}, opts)
        spec = made.objects
        before: list[pulumi.Resource] = []
        if spec.namespace is not None:
            options = pulumi.ResourceOptions(parent=self, protect=protected(spec.keep) or None, retain_on_delete=kept(spec.keep) or None)
            before.append(made.apply(f"{name}-namespace", spec.namespace, options))
        apply_runtime(made, name, self, before)
        # What holds data waits for these alone: a claim that outlives a destroy would keep the runtime with it.
        self.before = tuple(before)
        # Whoever builds on the name waits for the namespace.
        self.namespace = pulumi.Output.all(made.output(spec.name), *(each.urn for each in before)).apply(lambda known: str(known[0]))
        register(self)


def _config(name: str, read: Given) -> dict[str, Any]:
    given = read.values
    return {"scope": "serving", "namespace": given["namespace"], "pools": [ANY_POOL], "stores": given.get("stores", [])}


def _build(config: ClusterConfig, plan: ClusterPlan, given: Mapping[str, Any]) -> tuple[WorkspaceObjects, Sequence[Draft]]:
    made = stack_objects(config, plan)
    assert made.workspace is not None
    return made.workspace, made.drafts


RECIPE = Recipe("Workspace", WorkspaceArgs, _config, _build)
