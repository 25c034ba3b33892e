"""Routes from outside: Gateway API HTTPRoute by default, Ingress supported."""

from typing import Any

from interlock.infra.config.exposure import RouteConfig, RouteKind
from interlock.infra.manifests.common import Manifest, labels, manifest
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
    return [http_route(plan, server, route) if route.kind is RouteKind.HTTPROUTE else ingress(plan, server, route)]


def http_route(plan: ClusterPlan, server: PlannedServer, route: RouteConfig) -> Manifest:
    """A Gateway API HTTPRoute; its request timeout counts until the last byte of a streamed answer."""
    parent = {"name": route.gateway}
    if route.gateway_namespace:
        parent["namespace"] = route.gateway_namespace
    rule = {
        "matches": [{"path": {"type": "PathPrefix", "value": path}} for path in route.paths],
        "backendRefs": [{"name": server.name, "port": 80}],
        "timeouts": {"request": f"{route.timeout_seconds}s", "backendRequest": f"{route.timeout_seconds}s"},
    }
    spec = {"parentRefs": [parent], "hostnames": [route.host], "rules": [rule]}
    api = "gateway.networking.k8s.io/v1"
    return manifest(api, "HTTPRoute", server.name, server.namespace, labels(plan.stack, server.name), spec=spec)


def ingress(plan: ClusterPlan, server: PlannedServer, route: RouteConfig) -> Manifest:
    """An Ingress with the read timeouts of its class."""
    backend = {"service": {"name": server.name, "port": {"name": "http"}}}
    paths = [{"path": path, "pathType": "Prefix", "backend": backend} for path in route.paths]
    spec: dict[str, Any] = {"ingressClassName": route.ingress_class, "rules": [{"host": route.host, "http": {"paths": paths}}]}
    if route.tls_secret:
        spec["tls"] = [{"hosts": [route.host], "secretName": route.tls_secret}]
    made = manifest("networking.k8s.io/v1", "Ingress", server.name, server.namespace, labels(plan.stack, server.name), spec=spec)
    names = INGRESS_TIMEOUTS.get(route.ingress_class, ())
    annotations = {name: str(route.timeout_seconds or NEVER) for name in names}
    if route.ingress_class == "nginx":
        annotations["nginx.ingress.kubernetes.io/proxy-buffering"] = "off"
    if annotations:
        made["metadata"]["annotations"] = annotations
    return made
