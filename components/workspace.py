"""The stack's namespace with its stores."""

from typing import TypedDict

import pulumi

from interlock.components._k8s import apply
from interlock.infra.manifests.workspace import WorkspaceObjects


class WorkspaceArgs(TypedDict):
    """What a Workspace is made of."""

    spec: WorkspaceObjects
    """The namespace and what must exist in it before any server."""


class Workspace(pulumi.ComponentResource):
    """Namespace, claims and other things that servers find there."""

    namespace: pulumi.Output[str]
    """Name of the namespace."""

    def __init__(self, name: str, args: WorkspaceArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("interlock:index:Workspace", name, {}, opts)
        spec = args["spec"]
        before: list[pulumi.Resource] = []
        if spec.namespace is not None:
            holds = spec.protect and bool(spec.claims)
            options = pulumi.ResourceOptions(parent=self, protect=holds, retain_on_delete=holds)
            before.append(apply(f"{name}-namespace", spec.namespace, options))
        for manifest in spec.claims:
            kept = pulumi.ResourceOptions(parent=self, depends_on=before, protect=spec.protect, retain_on_delete=spec.protect)
            apply(f"{name}-{manifest['metadata']['name']}", manifest, kept)
        self.namespace = pulumi.Output.from_input(spec.name)
        self.register_outputs({"namespace": self.namespace})
