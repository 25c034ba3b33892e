"""Hosts: two routes that want the same requests."""

from collections.abc import Iterable

from interlock.infra.facts import Bundle, Route
from interlock.infra.rules.findings import Severity
from interlock.infra.rules.net_routes import leads_to_an_engine
from interlock.infra.rules.rule import Hit, Settings, rule


@rule(
    "NET-017",
    Severity.WARNING,
    demand="A host and path lead to one engine.",
    reason="The older route gets every request, whatever model it names; the engine behind the other one idles, and its clients get 404.",
    source="Gateway API specification, HTTPRoute (precedence of conflicting matches: the oldest route); ingress-nginx documentation",
    remedy="Give each engine a host or a path of its own, or one route with both.",
    fault="two-routes-of-one-host",
    links=("https://gateway-api.sigs.k8s.io/reference/spec/#httprouterule",),
    of="bundle",
)
def one_route(bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    first: dict[tuple[str, str, str, str], Route] = {}
    for route in bundle.routes:
        # With headers or methods both may be meant; a canary of ingress-nginx is.
        split = route.conditional or any("canary" in name for name in route.annotations)
        if split or not route.backend.known or not leads_to_an_engine(route, bundle):
            continue
        for host in route.hosts:
            for path in route.paths:
                other = first.setdefault((route.kind, route.entry, host, path), route)
                mine = (route.origin.namespace, route.origin.name)
                if mine == (other.origin.namespace, other.origin.name) or _whole(route) == _whole(other):
                    continue
                text = (
                    f"{host}{path} leads to {_named(route, other)} here and to {_named(other, route)} in {other.kind} {other.origin.name}"
                )
                remedy = "give each a host or a path of its own"
                yield Hit(route.backend.path or "spec.rules", text, remedy, host, origin=route.origin)


def _whole(route: Route) -> tuple[str, ...]:
    """What a route leads to, so that it cannot be mistaken: group, kind, namespace and name."""
    group, kind, namespace = route.target
    return group, kind, namespace or route.origin.namespace, str(route.backend.value)


def _named(route: Route, other: Route) -> str:
    """The backend of a route, with as much of its kind and namespace as tells it from the other's."""
    group, kind, namespace, name = _whole(route)
    if name != other.backend.value:
        return name
    return f"{kind} {name}" if (group, kind) != _whole(other)[:2] else f"{namespace}/{name}"
