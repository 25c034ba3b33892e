"""Models of one RayService: a Ray cluster, Ray Serve in it, and what guards them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NotRequired, TypedDict

import pulumi

from interlock.components._given import Given
from interlock.components._made import Made, Recipe, make, register
from interlock.components.arguments.cluster import WaiverSettings
from interlock.components.arguments.pools import PoolSettings
from interlock.components.arguments.ray import RayServiceSettings
from interlock.components.arguments.servers import ServerSettings
from interlock.components.arguments.stores import StoreSettings
from interlock.infra.config import ClusterConfig
from interlock.infra.errors import ConfigError, Problem
from interlock.infra.manifests.bundles import stack_objects
from interlock.infra.manifests.placed import Draft, finished
from interlock.infra.manifests.ray_container import TOKEN_KEY
from interlock.infra.manifests.sets import RayObjects
from interlock.infra.plan.types import ClusterPlan


class RayServerArgs(TypedDict):
    """What a RayServer is made of."""

    servers: list[ServerSettings]
    """The models and how they are served; each asks for ``serve: ray`` by standing here."""
    pools: list[PoolSettings]
    """Nodes that the workers run on; nothing is made for them here."""
    namespace: pulumi.Input[str]
    """Namespace that it is put into; it exists already."""
    service: NotRequired[RayServiceSettings]
    """Head, ingress and state of the cluster; its name defaults to the component's."""
    token: NotRequired[pulumi.Input[str]]
    """Token that opens the cluster, as a secret; omit where ``service.token_secret`` names a Secret that is there."""
    stores: NotRequired[list[StoreSettings]]
    """Stores that ``servers[].weights`` and ``servers[].compile_cache`` name. Claims of them exist already, or a ModelStore makes them."""
    production: NotRequired[bool]
    """Refuse images that are named without a digest; false by default."""
    stack: NotRequired[str]
    """Name that labels and selectors carry; omit for the Pulumi stack's. Two stacks that share a namespace need two names."""
    waivers: NotRequired[list[WaiverSettings]]
    """Findings accepted with a reason."""
    rules: NotRequired[dict[str, Any]]
    """Rule settings by ``CODE.name``."""


class RayServer(pulumi.ComponentResource):
    """A RayService, planned and judged before anything of it is registered. Whoever depends on it waits until its models answer."""

    url: pulumi.Output[str]
    """Base URL inside the cluster, ending in /v1; the name in a request chooses the model."""
    models: pulumi.Output[dict[str, str]]
    """What clients send as ``model``, by server."""
    namespace: pulumi.Output[str]
    """Its namespace."""
    service: pulumi.Output[str]
    """Name of the RayService, and of the Service that KubeRay makes for its requests."""
    gpus: pulumi.Output[int]
    """GPUs of all workers, autoscaled ones at their most."""
    token_secret: pulumi.Output[str]
    """Name of the Secret whose key ``auth_token`` opens the cluster; never its content."""

    def __init__(self, name: str, args: RayServerArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        made = make(RECIPE, name, args)
        super().__init__("interlock:index:RayServer", name, {}, opts)
        before = _guards(made, name, self)
        spec, on = made.objects, pulumi.ResourceOptions(parent=self, depends_on=before)
        for manifest in spec.manifests:
            if manifest["kind"] == "RayService":
                made.apply(f"{name}-rayservice", manifest, pulumi.ResourceOptions.merge(on, _changed(spec)))
            elif manifest["kind"] not in GUARDS:
                made.apply(_logical(name, spec, manifest), manifest, pulumi.ResourceOptions(parent=self))
        self.url = made.output(spec.url)
        self.models = made.output(spec.models)
        self.namespace = made.output(spec.namespace)
        self.service = made.output(spec.name)
        self.gpus = made.output(spec.gpus)
        self.token_secret = made.output(spec.token)
        register(self)


GUARDS = frozenset({"NetworkPolicy", "Secret"})
"""Kinds without which no pod of a cluster may start."""


def _guards(made: Made[RayObjects], name: str, parent: pulumi.Resource) -> list[pulumi.Resource]:
    """The token and who may reach the pods."""
    on = pulumi.ResourceOptions(parent=parent)
    return [made.apply(_logical(name, made.objects, each), each, on) for each in made.objects.manifests if each["kind"] in GUARDS]


def _logical(name: str, spec: RayObjects, manifest: Mapping[str, Any]) -> str:
    """Logical name of a child: its kind, and the part that its name ends in."""
    part = manifest["metadata"]["name"].removeprefix(f"{spec.name}-")
    return f"{name}-{manifest['kind'].lower()}-{part}"


def _changed(spec: RayObjects) -> pulumi.ResourceOptions:
    """How Pulumi waits for the models; where the pools hold one cluster only, a changed cluster is replaced, the old one first."""
    wait = f"{spec.update_timeout}s"
    options = pulumi.ResourceOptions(custom_timeouts=pulumi.CustomTimeouts(create=wait, update=wait, delete=f"{spec.delete_timeout}s"))
    if not spec.recreate:
        return options
    whole = pulumi.ResourceOptions(replace_on_changes=["spec.rayClusterConfig"], delete_before_replace=True)
    return pulumi.ResourceOptions.merge(options, whole)


def _config(name: str, read: Given) -> dict[str, Any]:
    given = read.values
    service = {"name": name, **given.get("service", {})}
    if ("token" in given) == ("token_secret" in service):
        both = "both a token and service.token_secret are given" if "token" in given else "the cluster has no token"
        raise ConfigError([Problem("token", f"{both}: give token, or name an existing Secret in service.token_secret")])
    servers = [{**each, "serve": "ray", "ray_service": service["name"]} for each in given["servers"]]
    return {
        "scope": "serving",
        "namespace": given["namespace"],
        "create_namespace": False,
        "pools": given["pools"],
        "servers": servers,
        "stores": list(given.get("stores", ())),
        "ray_services": [service],
    }


def _build(config: ClusterConfig, plan: ClusterPlan, given: Mapping[str, Any]) -> tuple[RayObjects, Sequence[Draft]]:
    made = stack_objects(config, plan)
    objects = made.rays[0]
    if objects.secret:
        secret = finished({**objects.secret, "stringData": {TOKEN_KEY: given["token"]}}, "ray_services[0]", whole=True)
        objects = replace(objects, drafts=(secret, *objects.drafts))
    return objects, made.drafts


RECIPE = Recipe("RayServer", RayServerArgs, _config, _build, words={"ray_services[0]": "service"})
