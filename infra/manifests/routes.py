"""Routes from outside: Gateway API HTTPRoute by default, Ingress supported."""

from typing import Any

from interlock.infra.config.exposure import RouteConfig, RouteKind
from interlock.infra.manifests.carried import FACTS, route_facts
from interlock.infra.manifests.common import Manifest, server_manifest
from interlock.infra.manifests.placed import put
from interlock.infra.plan.types import ClusterPlan, PlannedServer

# Ingress controllers read timeouts from annotations of their own; seconds as text. ingress-nginx: Annotations documentation.
INGRESS_TIMEOUTS = {
    "nginx": ("nginx.ingress.kubernetes.io/proxy-read-timeout", "nginx.ingress.kubernetes.io/proxy-send-timeout"),
    "haproxy": ("haproxy.org/timeout-server",),
}
NEVER = 86400
"""A day stands for "never" where a controller knows no such value."""


def route_objects(plan: ClusterPlan, server: PlannedServer, route: RouteConfig) -> list[Manifest]:
    """The route of one server; a load balancer is a type of its Service and no object of its own."""
    if route.kind is RouteKind.LOAD_BALANCER:
        return []
    made = http_route(plan, server, route) if route.kind is RouteKind.HTTPROUTE else ingress(plan, server, route)
    made["metadata"].setdefault("annotations", {})[FACTS] = route_facts(server)
    return [made]


def http_route(plan: ClusterPlan, server: PlannedServer, route: RouteConfig) -> Manifest:
    """A Gateway API HTTPRoute; its request timeout counts until the last byte of a streamed answer."""
    parent = {"name": put(route.gateway, "route.gateway")}
    if route.gateway_namespace:
        parent["namespace"] = put(route.gateway_namespace, "route.gateway_namespace")
    wait = f"{route.timeout_seconds}s"
    rule = {
        "matches": put([{"path": {"type": "PathPrefix", "value": path}} for path in route.paths], "route.paths"),
        "backendRefs": [{"name": put(server.name, "name"), "port": 80}],
        "timeouts": put({"request": wait, "backendRequest": wait}, "route.timeout_seconds"),
    }
    spec = {"parentRefs": [parent], "hostnames": [put(route.host, "route.host")], "rules": [rule]}
    return server_manifest(plan, server, "gateway.networking.k8s.io/v1", "HTTPRoute", spec=spec)


def ingress(plan: ClusterPlan, server: PlannedServer, route: RouteConfig) -> Manifest:
    """An Ingress with the read timeouts of its class."""
    backend = {"service": {"name": put(server.name, "name"), "port": {"name": "http"}}}
    host = put(route.host, "route.host")
    paths = put([{"path": path, "pathType": "Prefix", "backend": backend} for path in route.paths], "route.paths")
    spec: dict[str, Any] = {
        "ingressClassName": put(route.ingress_class, "route.ingress_class"),
        "rules": [{"host": host, "http": {"paths": paths}}],
    }
    if route.tls_secret:
        spec["tls"] = put([{"hosts": [host], "secretName": route.tls_secret}], "route.tls_secret")
    made = server_manifest(plan, server, "networking.k8s.io/v1", "Ingress", spec=spec)
    names = INGRESS_TIMEOUTS.get(route.ingress_class, ())
    annotations = {name: put(str(route.timeout_seconds or NEVER), "route.timeout_seconds") for name in names}
    if route.ingress_class == "nginx":
        annotations["nginx.ingress.kubernetes.io/proxy-buffering"] = put("off", "route.ingress_class")
    if annotations:
        made["metadata"]["annotations"] = annotations
    return made
