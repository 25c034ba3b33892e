"""Nodes of one GPU kind: labels on nodes that are there, a Karpenter NodePool, or a cloud's own pool by a hook."""

from collections.abc import Callable, Sequence
from typing import NotRequired, TypedDict

import pulumi

from interlock.components._k8s import apply
from interlock.infra.manifests.bundles import NodePoolObjects
from interlock.infra.manifests.node_pools import PoolIntent

ManagedPool = Callable[[str, PoolIntent, pulumi.ResourceOptions], Sequence[pulumi.Resource]]
"""Makes a cloud's own node pool: logical name, what it must make true, and the options that its resources must carry."""


class NodePoolArgs(TypedDict):
    """What a NodePool is made of."""

    spec: NodePoolObjects
    """The planned objects."""
    managed: NotRequired[ManagedPool]
    """For the managed backend: the hook."""


class NodePool(pulumi.ComponentResource):
    """One pool. Only labels of our own and the two by which NVIDIA's components pick a config are written, never taints."""

    pool_name: pulumi.Output[str]
    """Name of the pool."""

    def __init__(self, name: str, args: NodePoolArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("interlock:index:NodePool", name, {}, opts)
        spec, hook = args["spec"], args.get("managed")
        for manifest in spec.manifests:
            apply(f"{name}-{manifest['kind'].lower()}-{manifest['metadata']['name']}", manifest, pulumi.ResourceOptions(parent=self))
        if spec.intent is not None:
            if hook is None:
                raise ValueError(f"pool {spec.name} is managed by a cloud: give the NodePool a `managed` hook that makes it")
            hook(name, spec.intent, pulumi.ResourceOptions(parent=self))
        self.pool_name = pulumi.Output.from_input(spec.name)
        self.register_outputs({"pool_name": self.pool_name})
