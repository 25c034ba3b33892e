"""Routes from outside: Gateway API HTTPRoute by default, Ingress supported."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from interlock.infra.catalog.controllers import Dialect, dialect
from interlock.infra.catalog.routes import controller_name, timeout_annotations
from interlock.infra.config.exposure import WHOLE, RouteConfig, RouteKind
from interlock.infra.manifests.carried import FACTS, route_facts
from interlock.infra.manifests.common import MANAGED_BY, Manifest, manifest, server_manifest
from interlock.infra.manifests.placed import Encoded, put, traced
from interlock.infra.manifests.ray_serve import PORT
from interlock.infra.naming import label
from interlock.infra.plan.types import ClusterPlan, PlannedServer
from interlock.infra.values import MIB, bytes_of

NEVER = 86400
"""A day stands for "never" where a controller knows no such value."""


def route_objects(plan: ClusterPlan, server: PlannedServer, route: RouteConfig) -> list[Manifest]:
    """The route of one server; a load balancer is a type of its Service and no object of its own."""
    if route.kind is RouteKind.LOAD_BALANCER:
        return []
    made = http_route(plan, server, route) if route.kind is RouteKind.HTTPROUTE else ingress(plan, server, route)
    annotations = made["metadata"].setdefault("annotations", {})
    annotations |= {**traced(route.annotations, "route.annotations"), FACTS: route_facts(server)}
    return [made]


@dataclass(frozen=True, slots=True)
class Backend:
    """A Service that a route leads to."""

    service: Any
    """Its name."""
    prefix: str = ""
    """Path in front of the route's own ones, which the server does not see: ``/chat``."""
    weight: Any = None
    """Part of the requests, among the backends of one prefix."""
    port: int = 80
    """Its port."""


def http_route(plan: ClusterPlan, server: PlannedServer, route: RouteConfig) -> Manifest:
    """A Gateway API HTTPRoute; its request timeout counts until the last byte of a streamed answer."""
    spec = http_spec(route, _backends(plan, server, route))
    return server_manifest(plan, server, "gateway.networking.k8s.io/v1", "HTTPRoute", spec=spec)


def _backends(plan: ClusterPlan, server: PlannedServer, route: RouteConfig) -> list[Backend]:
    """The server, and those that the route gives a part of the requests to."""
    if not route.split:
        return [_backend(server)]
    others = [each for each in plan.servers if each.name in route.split]
    rest = put(WHOLE - sum(route.split.values()), "route.split", "split")
    parts = [replace(_backend(each), weight=put(route.split[each.name], f"route.split.{each.name}")) for each in others]
    return [replace(_backend(server), weight=rest), *parts]


def _backend(server: PlannedServer) -> Backend:
    """The Service of a server: its own, or that of its RayService."""
    if server.ray:
        return Backend(put(server.ray.service, "ray_service"), port=PORT)
    return Backend(put(server.name, "name"))


def http_spec(route: RouteConfig, backends: Sequence[Backend]) -> dict[str, Any]:
    """The spec of an HTTPRoute: one rule for the backends of each prefix, and for each path of those that have one."""
    parent = {"name": put(route.gateway, "route.gateway")}
    if route.gateway_namespace:
        parent["namespace"] = put(route.gateway_namespace, "route.gateway_namespace")
    if route.section:
        parent["sectionName"] = put(route.section, "route.listener" if route.listener else "route.tls_secret")
    backends = [replace(each, prefix=f"{route.prefix or ''}{each.prefix}") for each in backends]
    prefixes = dict.fromkeys(backend.prefix for backend in backends)
    rules = [rule for prefix in prefixes for rule in _rules(route, prefix, [each for each in backends if each.prefix == prefix])]
    return {"parentRefs": [parent], "hostnames": [put(route.host, "route.host")], "rules": rules}


def _rules(route: RouteConfig, prefix: str, backends: Sequence[Backend]) -> list[dict[str, Any]]:
    wait = f"{route.timeout_seconds}s"
    led = [{"name": each.service, "port": each.port, **({} if each.weight is None else {"weight": each.weight})} for each in backends]
    end = {"backendRefs": led, "timeouts": put({"request": wait, "backendRequest": wait}, "route.timeout_seconds")}
    if not prefix:
        return [{"matches": put([_match(path) for path in route.paths], "route.paths"), **end}]
    return [{"matches": put([_match(prefix + path)], "route.paths"), "filters": [_rewritten(path)], **end} for path in route.paths]


def _match(path: str) -> dict[str, Any]:
    return {"path": {"type": "PathPrefix", "value": path}}


def _rewritten(path: str) -> dict[str, Any]:
    return {"type": "URLRewrite", "urlRewrite": {"path": {"type": "ReplacePrefixMatch", "replacePrefixMatch": path}}}


def shared_route(plan: ClusterPlan, name: str, route: RouteConfig, backends: Sequence[Backend], longest: int) -> Manifest:
    """One route under its own name: in front of several Services as an HTTPRoute, of one as an Ingress too."""
    names = {"app.kubernetes.io/managed-by": MANAGED_BY, label("stack"): plan.stack}
    if route.kind is RouteKind.INGRESS:
        spec, annotations = ingress_parts(route, backends[0].service)
        made = manifest("networking.k8s.io/v1", "Ingress", name, plan.namespace, names, spec=spec)
    else:
        annotations = {}
        made = manifest("gateway.networking.k8s.io/v1", "HTTPRoute", name, plan.namespace, names, spec=http_spec(route, backends))
    carried = Encoded({"longest_answer_seconds": put(longest, "longest_answer_seconds")})
    made["metadata"]["annotations"] = {**annotations, FACTS: carried}
    return made


def ingress(plan: ClusterPlan, server: PlannedServer, route: RouteConfig) -> Manifest:
    """An Ingress with the read timeouts of its class."""
    spec, annotations = ingress_parts(route, _backend(server).service, "serve" if server.ray else "http")
    made = server_manifest(plan, server, "networking.k8s.io/v1", "Ingress", spec=spec)
    if annotations:
        made["metadata"]["annotations"] = annotations
    return made


def ingress_parts(route: RouteConfig, service: Any, port: str = "http") -> tuple[dict[str, Any], dict[str, Any]]:
    """(spec, annotations) of an Ingress to ``service``."""
    backend, told = {"service": {"name": service, "port": {"name": port}}}, dialect(route.ingress_class)
    host = put(route.host, "route.host")
    if route.prefix:
        shown = [told.path.format(prefix=route.prefix, path=path) for path in route.paths]
        kind = "ImplementationSpecific" if "(" in told.path else "Prefix"
    else:
        shown, kind = list(route.paths), "Prefix"
    paths = put([{"path": path, "pathType": kind, "backend": backend} for path in shown], "route.prefix" if route.prefix else "route.paths")
    spec: dict[str, Any] = {
        "ingressClassName": put(route.ingress_class, "route.ingress_class"),
        "rules": [{"host": host, "http": {"paths": paths}}],
    }
    if route.tls_secret:
        spec["tls"] = put([{"hosts": [host], "secretName": route.tls_secret}], "route.tls_secret")
    return spec, controller_annotations(route, told)


def controller_annotations(route: RouteConfig, told: Dialect) -> dict[str, Any]:
    """What the controller of the class reads: timeouts, no buffering and no second attempt, the largest request, the rewritten path."""
    # nginx counts m as 1024 x 1024 bytes.
    seconds = route.timeout_seconds or told.most_seconds or NEVER
    values = {
        "seconds": seconds,
        "mib": -(-bytes_of(route.max_body) // MIB),
        "prefix": route.prefix or "",
    }
    times = timeout_annotations(controller_name(route.ingress_class), seconds)
    parts = (
        ({**times, **told.timeout}, "route.timeout_seconds"),
        (told.stream, "route.ingress_class"),
        (told.body, "route.max_body"),
        (told.rewrite if route.prefix else {}, "route.prefix"),
    )
    return {name: put(form.format(**values), field) for forms, field in parts for name, form in forms.items()}
