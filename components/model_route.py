"""A way in from outside, to one server or to several."""

from collections.abc import Mapping, Sequence
from typing import Any, NotRequired, TypedDict

import pulumi

from interlock.components._given import Given
from interlock.components._made import ANY_POOL, Recipe, make, register, stand_in
from interlock.components.arguments.cluster import WaiverSettings
from interlock.components.arguments.servers import RouteSettings
from interlock.infra.config import ClusterConfig
from interlock.infra.errors import ConfigError, Problem
from interlock.infra.manifests.placed import Draft, finished
from interlock.infra.manifests.routes import Backend, shared_route
from interlock.infra.manifests.servers import deployment, service
from interlock.infra.manifests.sets import RouteObjects
from interlock.infra.manifests.waivers import carrying
from interlock.infra.naming import subdomain_problem
from interlock.infra.plan.types import ClusterPlan


class BackendSettings(TypedDict):
    """A Service that the route leads to."""

    service: pulumi.Input[str]
    """Its name: the output ``service`` of a VllmServer. Its port is 80."""
    prefix: NotRequired[str]
    """Path in front of the route's own ones, such as ``/chat``: a request to /chat/v1 reaches the server as /v1."""
    weight: NotRequired[int]
    """Part of the requests, among the backends of one prefix."""


class ModelRouteArgs(TypedDict):
    """What a ModelRoute is made of."""

    route: RouteSettings
    """Kind, host, gateway and timeout."""
    namespace: pulumi.Input[str]
    """Namespace of the route and of the Services."""
    backends: list[BackendSettings]
    """The Services, one rule for each prefix."""
    name: NotRequired[str]
    """Name of the route; omit for the component's."""
    longest_answer_seconds: NotRequired[int]
    """Longest answer of the servers in seconds, which the timeout must let through; 600 by default."""
    stack: NotRequired[str]
    """Name that labels and cluster-wide names carry; omit for the Pulumi stack's."""
    waivers: NotRequired[list[WaiverSettings]]
    """Findings accepted with a reason."""
    rules: NotRequired[dict[str, Any]]
    """Rule settings by ``CODE.name``."""


class ModelRoute(pulumi.ComponentResource):
    """An HTTPRoute or an Ingress whose timeout lets the longest answer through. A VllmServer alone on its host makes its own route."""

    route_name: pulumi.Output[str]
    """Name of the route."""
    urls: pulumi.Output[list[str]]
    """Base URL of each backend, in their order."""

    def __init__(self, name: str, args: ModelRouteArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        made = make(RECIPE, name, args)
        super().__init__("interlock:index:ModelRoute", name, {}, opts)
        for manifest in made.objects.manifests:
            made.apply(f"{name}-{manifest['kind'].lower()}", manifest, pulumi.ResourceOptions(parent=self))
        self.route_name = made.output(made.objects.name)
        self.urls = made.output(list(made.objects.urls))
        register(self)


def _config(name: str, read: Given) -> dict[str, Any]:
    given = read.values
    route, backends = given["route"], given["backends"]
    problems = list(_problems(route, backends))
    if wrong := subdomain_problem(given.get("name", name)):
        problems.append(Problem("name", f"{wrong}; state another one as the argument name"))
    if problems:
        raise ConfigError(problems)
    longest = given.get("longest_answer_seconds", 600)
    names = dict.fromkeys(backend["service"] for backend in backends)
    servers = [{**stand_in(each), "longest_answer_seconds": longest} for each in names]
    servers[0]["route"] = route
    return {"scope": "serving", "namespace": given["namespace"], "create_namespace": False, "pools": [ANY_POOL], "servers": servers}


def _problems(route: Mapping[str, Any], backends: Sequence[Any]) -> Any:
    if not backends:
        yield Problem("backends", "is empty: name at least one Service")
    if route.get("kind") == "load-balancer":
        yield Problem("route.kind", "'load-balancer' is a type of a server's own Service: set it in server.route of the VllmServer")
    for index, backend in enumerate(backends):
        unknown = sorted(set(backend) - set(BackendSettings.__annotations__))
        if unknown or "service" not in backend:
            what = f"unknown key {unknown[0]!r}" if unknown else "service is required and missing"
            yield Problem(f"backends[{index}]", f"{what}; keys are {', '.join(BackendSettings.__annotations__)}")
        prefix = backend.get("prefix", "")
        if not isinstance(prefix, str) or (prefix and (not prefix.startswith("/") or prefix.endswith("/"))):
            yield Problem(f"backends[{index}].prefix", f"{prefix!r} does not begin with / or ends with it: write it like /chat")
        weight = backend.get("weight", 1)
        if not isinstance(weight, int) or not 0 <= weight <= 1_000_000:
            yield Problem(f"backends[{index}].weight", f"{weight!r} is not an integer from 0 to 1000000")
    if route.get("kind") == "ingress" and (len(backends) > 1 or any({"prefix", "weight"} & set(each) for each in backends)):
        yield Problem("route.kind", "an 'ingress' leads to one Service without prefix and weight: use httproute, or one route for each")


def _route(config: ClusterConfig, plan: ClusterPlan, given: Mapping[str, Any]) -> Draft:
    route = config.servers[0].route
    assert route is not None
    backends = [Backend(each["service"], each.get("prefix", ""), each.get("weight")) for each in given["backends"]]
    made = shared_route(plan, given["name"], route, backends, config.servers[0].longest_answer_seconds)
    return carrying(finished(made, "servers[0]"), plan.waived)


def _servers(plan: ClusterPlan) -> list[Draft]:
    """Servers that stand in for those behind the route."""
    return [
        finished(build, f"servers[{each.index}]") for each in plan.servers for build in (deployment(plan, each, {}), service(plan, each))
    ]


def _build(config: ClusterConfig, plan: ClusterPlan, given: Mapping[str, Any]) -> tuple[RouteObjects, Sequence[Draft]]:
    route = config.servers[0].route
    assert route is not None
    base = f"{'https' if route.tls_secret else 'http'}://{route.host}"
    urls = [f"{base}{each.get('prefix', '')}{route.paths[0].rstrip('/')}" for each in given["backends"]]
    made = _route(config, plan, given)
    return RouteObjects((made,), name=given["name"], urls=tuple(urls)), (*_servers(plan), made)


RECIPE = Recipe(
    "ModelRoute",
    ModelRouteArgs,
    _config,
    _build,
    words={
        "servers[0].route": "route",
        "servers[0].longest_answer_seconds": "longest_answer_seconds",
        "servers[0].name": "backends[0].service",
    },
    tells=("route", "longest_answer_seconds"),
)
