"""One place that holds weights: volumes, claim, and the Jobs that fill it."""

from collections.abc import Mapping, Sequence
from typing import Any, NotRequired, TypedDict

import pulumi

from interlock.components._given import Given
from interlock.components._k8s import kept, protected
from interlock.components._made import ANY_POOL, Recipe, make, register, stand_in
from interlock.components._runtime import apply_runtime
from interlock.components.arguments.cluster import NetworkSettings, WaiverSettings
from interlock.components.arguments.pools import PoolSettings
from interlock.components.arguments.stores import StoreSettings
from interlock.infra.config import ClusterConfig
from interlock.infra.errors import ConfigError, Problem
from interlock.infra.manifests.alone import with_runtime
from interlock.infra.manifests.bundles import stack_objects
from interlock.infra.manifests.placed import Draft
from interlock.infra.manifests.sets import StoreObjects
from interlock.infra.plan.types import ClusterPlan

DATA = frozenset({"PersistentVolume", "PersistentVolumeClaim"})
"""Kinds that hold data, which a destroy keeps as the plan says."""


class ModelStoreArgs(TypedDict):
    """What a ModelStore is made of."""

    store: StoreSettings
    """The store and what is fetched into it. Its name defaults to the component's."""
    namespace: pulumi.Input[str]
    """Namespace of its claim and Jobs; it exists already."""
    pools: NotRequired[list[PoolSettings]]
    """Pools whose nodes the Jobs may have to run on: their taints are tolerated."""
    production: NotRequired[bool]
    """Protect the volumes, and refuse images that are named without a digest; false by default."""
    network: NotRequired[NetworkSettings]
    """Who may talk to its pods, by NetworkPolicy; omit for no policy: what else of the program asks them is not known here."""
    stack: NotRequired[str]
    """Name that labels and cluster-wide names carry; omit for the Pulumi stack's."""
    waivers: NotRequired[list[WaiverSettings]]
    """Findings accepted with a reason."""
    rules: NotRequired[dict[str, Any]]
    """Rule settings by ``CODE.name``."""


class ModelStore(pulumi.ComponentResource):
    """A store of any kind. Its data outlives a destroy as ``store.keep`` says; whoever depends on it starts when its Jobs are done."""

    store_name: pulumi.Output[str]
    """Name of the store."""
    claim: pulumi.Output[str]
    """Claim that pods mount; empty for kinds without one."""
    namespace: pulumi.Output[str]
    """Namespace of the claim."""

    def __init__(self, name: str, args: ModelStoreArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        made = make(RECIPE, name, args)
        super().__init__("interlock:index:ModelStore", name, {}, opts)
        spec = made.objects
        before: list[pulumi.Resource] = apply_runtime(made, name, self, ())
        for manifest in spec.volumes:
            holds = manifest["kind"] in DATA
            # Unset, and not false, where the plan asks for nothing: then the component's own options reach its children.
            options = pulumi.ResourceOptions(
                parent=self,
                depends_on=list(before),
                protect=(holds and protected(spec.keep)) or None,
                retain_on_delete=(holds and kept(spec.keep)) or None,
            )
            before.append(made.apply(f"{name}-{manifest['kind'].lower()}-{manifest['metadata']['name']}", manifest, options))
        for manifest in spec.jobs:
            timeout = f"{spec.job_timeout}s"
            timeouts = pulumi.CustomTimeouts(create=timeout, update=timeout)
            options = pulumi.ResourceOptions(parent=self, depends_on=list(before), custom_timeouts=timeouts)
            made.apply(f"{name}-{manifest['metadata']['name']}", manifest, options)
        self.store_name = made.output(spec.name)
        self.claim = made.output(spec.claim)
        self.namespace = made.output(spec.namespace)
        register(self)


def _config(name: str, read: Given) -> dict[str, Any]:
    given = read.values
    if given["store"].get("kind") == "node-sync":
        text = "'node-sync' makes no object of its own: write it into the stores of the VllmServer that reads it"
        raise ConfigError([Problem("stores[0].kind", text)])
    # Its servers are another component's, and so is what they ask for.
    store = {"name": name, **({"filled": "its servers say what they read"} if given["store"].get("kind", "claim") == "claim" else {})}
    store |= given["store"]
    # A Job tolerates the taints of the pools whose servers use the store.
    pools = given.get("pools", [])
    users = [{**stand_in(f"on-{index}"), "pool": pool.get("name"), "weights": store["name"]} for index, pool in enumerate(pools)]
    return {
        "scope": "serving",
        "namespace": given["namespace"],
        "create_namespace": False,
        "network": given.get("network", {"policies": False}),
        "pools": pools or [ANY_POOL],
        "stores": [store],
        "servers": users,
    }


def _build(config: ClusterConfig, plan: ClusterPlan, given: Mapping[str, Any]) -> tuple[StoreObjects, Sequence[Draft]]:
    made = stack_objects(config, plan)
    store = made.stores[0]
    # A dot, which no server has in its name: a store and a server may be called alike.
    return with_runtime(store, config, plan.stack, f"{store.name}.store"), made.drafts


RECIPE = Recipe("ModelStore", ModelStoreArgs, _config, _build, words={"stores[0]": "store"}, tells=("store", "pools", "namespace"))
