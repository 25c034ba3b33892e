"""One tenant: namespace, quota and limits."""

from collections.abc import Mapping, Sequence
from typing import Any, NotRequired, TypedDict

import pulumi

from interlock.components._given import Given
from interlock.components._made import Recipe, make, register
from interlock.components.arguments.cluster import TenantSettings, WaiverSettings
from interlock.components.arguments.pools import PoolSettings
from interlock.infra.config import ClusterConfig
from interlock.infra.manifests.bundles import stack_objects
from interlock.infra.manifests.placed import Draft
from interlock.infra.manifests.sets import TenantObjects
from interlock.infra.plan.types import ClusterPlan


class TenantArgs(TypedDict):
    """What a Tenant is made of."""

    tenant: TenantSettings
    """What it may use. Its name defaults to the component's."""
    pools: list[PoolSettings]
    """Pools of the cluster: every GPU resource that they advertise is limited, at 0 where the tenant has none."""
    stack: NotRequired[str]
    """Name that labels and cluster-wide names carry; omit for the Pulumi stack's."""
    waivers: NotRequired[list[WaiverSettings]]
    """Findings accepted with a reason."""
    rules: NotRequired[dict[str, Any]]
    """Rule settings by ``CODE.name``."""


class Tenant(pulumi.ComponentResource):
    """A namespace with what it may use; GPU units are counted by resource."""

    namespace: pulumi.Output[str]
    """Name of the namespace."""
    quota: pulumi.Output[str]
    """Name of its ResourceQuota."""
    limits: pulumi.Output[str]
    """Name of its LimitRange."""

    def __init__(self, name: str, args: TenantArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        made = make(RECIPE, name, args)
        super().__init__("interlock:index:Tenant", name, {}, opts)
        before: list[pulumi.Resource] = []
        for manifest in made.objects.manifests:
            options = pulumi.ResourceOptions(parent=self, depends_on=list(before))
            child = made.apply(f"{name}-{manifest['kind'].lower()}", manifest, options)
            if manifest["kind"] == "Namespace":
                before.append(child)
        self.namespace = made.output(made.objects.name)
        self.quota = made.output(made.objects.name)
        self.limits = made.output(made.objects.name)
        register(self)


def _config(name: str, read: Given) -> dict[str, Any]:
    tenants = [{"name": name, **read.values["tenant"]}]
    return {"scope": "platform", "namespace": "default", "pools": read.values["pools"], "tenants": tenants}


def _build(config: ClusterConfig, plan: ClusterPlan, given: Mapping[str, Any]) -> tuple[TenantObjects, Sequence[Draft]]:
    made = stack_objects(config, plan)
    return made.tenants[0], made.drafts


RECIPE = Recipe("Tenant", TenantArgs, _config, _build, words={"tenants[0]": "tenant"})
