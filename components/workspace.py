"""The stack's namespace."""

from typing import TypedDict

import pulumi

from interlock.components._k8s import apply, kept, protected
from interlock.infra.manifests.bundles import WorkspaceObjects


class WorkspaceArgs(TypedDict):
    """What a Workspace is made of."""

    spec: WorkspaceObjects
    """The namespace and what must exist in it before any store."""


class Workspace(pulumi.ComponentResource):
    """Namespace, and what all stores share."""

    namespace: pulumi.Output[str]
    """Name of the namespace."""

    def __init__(self, name: str, args: WorkspaceArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("interlock:index:Workspace", name, {}, opts)
        spec = args["spec"]
        before: list[pulumi.Resource] = []
        if spec.namespace is not None:
            options = pulumi.ResourceOptions(parent=self, protect=protected(spec.keep), retain_on_delete=kept(spec.keep))
            before.append(apply(f"{name}-namespace", spec.namespace, options))
        for manifest in spec.manifests:
            if manifest is spec.namespace:
                continue
            apply(f"{name}-{manifest['kind'].lower()}", manifest, pulumi.ResourceOptions(parent=self, depends_on=before))
        self.namespace = pulumi.Output.from_input(spec.name)
        self.register_outputs({"namespace": self.namespace})
