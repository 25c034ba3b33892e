"""Who goes first when a pool is full."""

from typing import TypedDict

import pulumi

from interlock.components._k8s import apply
from interlock.infra.manifests.bundles import ObjectSet


class PriorityClassesArgs(TypedDict):
    """What PriorityClasses are made of."""

    spec: ObjectSet
    """The classes."""


class PriorityClasses(pulumi.ComponentResource):
    """The stack's priority classes."""

    names: pulumi.Output[list[str]]
    """Their names in the cluster, lowest first."""

    def __init__(self, name: str, args: PriorityClassesArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("interlock:index:PriorityClasses", name, {}, opts)
        names = [manifest["metadata"]["name"] for manifest in args["spec"].manifests]
        for each, manifest in zip(names, args["spec"].manifests, strict=True):
            apply(f"{name}-{each}", manifest, pulumi.ResourceOptions(parent=self))
        self.names = pulumi.Output.from_input(names)
        self.register_outputs({"names": self.names})
