"""One tenant: namespace, quota and limits."""

from typing import TypedDict

import pulumi

from interlock.components._k8s import apply
from interlock.infra.manifests.bundles import TenantObjects


class TenantArgs(TypedDict):
    """What a Tenant is made of."""

    spec: TenantObjects
    """Namespace, ResourceQuota and LimitRange."""


class Tenant(pulumi.ComponentResource):
    """A namespace with what it may use; GPU units are counted by resource."""

    namespace: pulumi.Output[str]
    """Name of the namespace."""

    def __init__(self, name: str, args: TenantArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("interlock:index:Tenant", name, {}, opts)
        before: list[pulumi.Resource] = []
        for manifest in args["spec"].manifests:
            made = apply(f"{name}-{manifest['kind'].lower()}", manifest, pulumi.ResourceOptions(parent=self, depends_on=list(before)))
            if manifest["kind"] == "Namespace":
                before.append(made)
        self.namespace = pulumi.Output.from_input(args["spec"].name)
        self.register_outputs({"namespace": self.namespace})
