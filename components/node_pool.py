"""Nodes of one GPU kind: labels on nodes that are there, a Karpenter NodePool, or a cloud's own pool by a hook."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NotRequired, TypedDict

import pulumi

from interlock.components._given import Given
from interlock.components._made import Recipe, make, register
from interlock.components.arguments.cluster import WaiverSettings
from interlock.components.arguments.pools import PoolSettings
from interlock.infra.config import ClusterConfig
from interlock.infra.manifests.bundles import stack_objects
from interlock.infra.manifests.node_pools import PoolIntent
from interlock.infra.manifests.placed import Draft
from interlock.infra.manifests.sets import NodePoolObjects
from interlock.infra.plan.types import ClusterPlan

ManagedPool = Callable[[str, PoolIntent, pulumi.ResourceOptions], Sequence[pulumi.Resource]]
"""Makes a cloud's own node pool: logical name, what it must make true, and the options that its resources must carry."""


class NodePoolArgs(TypedDict):
    """What a NodePool is made of."""

    pool: PoolSettings
    """The nodes, their GPUs and how these are shared."""
    stack: NotRequired[str]
    """Name that labels and cluster-wide names carry; omit for the Pulumi stack's."""
    waivers: NotRequired[list[WaiverSettings]]
    """Findings accepted with a reason."""
    rules: NotRequired[dict[str, Any]]
    """Rule settings by ``CODE.name``."""


class NodePool(pulumi.ComponentResource):
    """One pool. Only labels of our own and the two by which NVIDIA's components pick a config are written onto nodes, never taints."""

    pool_name: pulumi.Output[str]
    """Name of the pool."""
    labels: pulumi.Output[dict[str, str]]
    """Labels that every node of the pool carries."""
    taints: pulumi.Output[list[str]]
    """Keys of the NoSchedule taints on every node; their value is ``present``."""
    resource: pulumi.Output[str]
    """Extended resource that pods ask for; empty where GPUs come by claims."""
    units: pulumi.Output[int]
    """Units of it on all nodes: cards, shares or MIG instances."""

    def __init__(
        self, name: str, args: NodePoolArgs, opts: pulumi.ResourceOptions | None = None, managed: ManagedPool | None = None
    ) -> None:
        made = make(RECIPE, name, args)
        spec = made.objects
        if spec.intent is not None and managed is None:
            why = "is managed: give NodePool a `managed` hook that makes the cloud's pool"
            way = "or say backend existing, and make a pool with the outputs labels and taints"
            raise pulumi.RunError(f"NodePool {name!r}: pool.backend {why}, {way}")
        super().__init__("interlock:index:NodePool", name, {}, opts)
        for manifest in spec.manifests:
            logical = f"{name}-{manifest['kind'].lower()}-{manifest['metadata']['name']}"
            made.apply(logical, manifest, pulumi.ResourceOptions(parent=self))
        if spec.intent is not None and managed is not None:
            managed(name, spec.intent, pulumi.ResourceOptions(parent=self))
        self.pool_name = made.output(spec.name)
        self.labels = made.output(spec.labels)
        self.taints = made.output(list(spec.taints))
        self.resource = made.output(spec.resource)
        self.units = made.output(spec.units)
        register(self)


def _config(name: str, read: Given) -> dict[str, Any]:
    return {"scope": "platform", "namespace": "default", "pools": [read.values["pool"]]}


def _build(config: ClusterConfig, plan: ClusterPlan, given: Mapping[str, Any]) -> tuple[NodePoolObjects, Sequence[Draft]]:
    made = stack_objects(config, plan)
    return made.pools[0], made.drafts


RECIPE = Recipe("NodePool", NodePoolArgs, _config, _build, words={"pools[0]": "pool"})
