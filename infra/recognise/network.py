"""Services and what routes to them: Ingress, HTTPRoute, VirtualService, IngressRoute, OpenShift Route, with their timeouts."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from interlock.infra.catalog.routes import controller_name
from interlock.infra.catalog.tables import table
from interlock.infra.facts import Fact, Route, Service, absent, known, unknown
from interlock.infra.recognise.context import Context
from interlock.infra.recognise.document import Document, Node, origin
from interlock.infra.values import seconds


@dataclass(frozen=True, slots=True)
class Policies:
    """Gateway classes, and timeouts that other objects attach to routes and Services."""

    gateways: Mapping[str, str] = field(default_factory=dict)
    timeouts: Mapping[tuple[str, str], Fact[float]] = field(default_factory=dict)
    """By (kind, name) of the target."""
    backends: Mapping[str, str] = field(default_factory=dict)
    """The Service behind an AIServiceBackend or Backend, by name."""


def gather_policies(documents: tuple[Document, ...]) -> Policies:
    """Gateways and timeout policies of the set."""
    gateways: dict[str, str] = {}
    timeouts: dict[tuple[str, str], Fact[float]] = {}
    backends: dict[str, str] = {}
    for document in documents:
        root = Node(document.data, document.path)
        kind, spec = root["kind"].string(), root["spec"]
        if kind == "Gateway":
            gateways[root.at("metadata", "name").string()] = spec["gatewayClassName"].string()
        elif kind in ("AIServiceBackend", "Backend"):
            host = next((each.at("fqdn", "hostname").string() for each in spec["endpoints"].items()), "")
            backends[root.at("metadata", "name").string()] = host.partition(".")[0] or spec.at("backendRef", "name").string()
        fields = table("routes.json")["policies"].get(kind)
        if fields:
            fact = spec.at(*fields).duration()
            targets = [*spec["targetRefs"].items(), spec["targetRef"]]
            for target in targets if not fact.absent else ():
                timeouts[target["kind"].string(), target["name"].string()] = fact
    return Policies(gateways, timeouts, backends)


def read_service(root: Node, document: Document, context: Context) -> Iterator[Service | Route]:
    """A core Service; one that carries annotations of an Ingress controller is also shown as a route."""
    if not root["apiVersion"].string().startswith("v1") and root["apiVersion"]:
        return
    spec = root["spec"]
    source = origin(root, document)
    ports = tuple((port["port"].integer(), port["targetPort"].text()) for port in spec["ports"].items())
    names = tuple(name for port in spec["ports"].items() if (name := port["name"].string()))
    yield Service(source, spec["selector"].texts(), ports, spec["type"].text(), spec["clusterIP"].string() == "None", names)
    if any(_owner(name) for name in source.annotations):
        yield Route(source, known(source.name), annotations=source.annotations, kind="Service")


def _owner(annotation: str) -> str:
    """The controller that reads an annotation; empty when it is none of an Ingress controller."""
    return next((row["controller"] for row in table("routes.json")["annotations"] if annotation.startswith(row["prefix"])), "")


def _controller(root: Node) -> Fact[str]:
    annotations = root.at("metadata", "annotations")
    stated = root.at("spec", "ingressClassName")
    stated = stated if stated else annotations["kubernetes.io/ingress.class"]
    if stated:
        return stated.text().map(controller_name)
    owners = {owner for name, _ in annotations.fields() if (owner := _owner(name))}
    return known(owners.pop(), annotations.path) if len(owners) == 1 else absent(f"{root['spec'].path}.ingressClassName")


def _annotated_timeout(root: Node, controller: Fact[str]) -> tuple[Fact[float], str]:
    annotations = root.at("metadata", "annotations")
    rows = [row for row in table("routes.json")["timeouts"] if row["controller"] == controller.value]
    for row in rows:
        node = annotations[row["annotation"]]
        if node:
            return _read_timeout(node, row), node.path
    return absent(), annotations[rows[0]["annotation"]].path if rows else annotations.path


def _read_timeout(node: Node, row: Mapping[str, Any]) -> Fact[float]:
    fact = node.text()
    if row.get("pattern"):
        match = re.search(row["pattern"], fact.value or "")
        return known(float(match.group(1)), node.path) if match else Fact() if fact.known else unknown(node.path, fact.why)
    scale = float(row.get("scale", 1))
    return fact.map(lambda text: seconds(text.strip().strip('"')) * scale)


def read_ingress(root: Node, document: Document, context: Context) -> Iterator[Route]:
    """An Ingress: one route per backend."""
    source = origin(root, document)
    controller = _controller(root)
    timeout, place = _annotated_timeout(root, controller)
    base = Route(source, controller=controller, read_timeout=timeout, annotations=source.annotations, kind="Ingress", timeout_path=place)
    hosts = tuple(dict.fromkeys(host for rule in root.at("spec", "rules").items() if (host := rule["host"].string())))
    # Of several hosts it is not known here which path is whose.
    base = replace(base, hosts=hosts if len(hosts) == 1 else (), entry=str(controller.value or ""))
    paths: dict[tuple[str, str], list[str]] = {}
    facts: dict[tuple[str, str], tuple[Fact[str], Fact[str]]] = {}
    for path, backend in _ingress_backends(root["spec"]):
        name = backend.first("serviceName", "service") if backend["serviceName"] else backend["service"]["name"]
        port = backend["servicePort"] if backend["servicePort"] else backend["service"]["port"].first("number", "name")
        key = (name.string(), port.string())
        facts[key] = (name.text(), port.text())
        paths.setdefault(key, []).append(path)
    for key, (name_fact, port_fact) in facts.items():
        yield replace(base, backend=name_fact, backend_port=port_fact, paths=tuple(paths[key]))


def _ingress_backends(spec: Node) -> Iterator[tuple[str, Node]]:
    for key in ("defaultBackend", "backend"):
        if spec[key]:
            yield "/", spec[key]
    for rule in spec["rules"].items():
        for path in rule.at("http", "paths").items():
            yield path["path"].string() or "/", path["backend"]


def read_http_route(root: Node, document: Document, context: Context, policies: Policies) -> Iterator[Route]:
    """An HTTPRoute, GRPCRoute or AIGatewayRoute (Envoy AI Gateway): one route per rule and backend."""
    source = origin(root, document)
    parents = [parent["name"].string() for parent in root.at("spec", "parentRefs").items()]
    classes = {policies.gateways[name] for name in parents if name in policies.gateways}
    controller = known(controller_name(classes.pop())) if len(classes) == 1 else absent()
    controller = known("envoy-ai-gateway") if source.kind == "AIGatewayRoute" else controller
    hosts = tuple(host.string() for host in root.at("spec", "hostnames").items() if host.string())
    entry = ",".join(
        sorted(f"{parent['namespace'].string()}/{parent['name'].string()}" for parent in root.at("spec", "parentRefs").items())
    )
    for rule in root.at("spec", "rules").items():
        stated = rule.at("timeouts", "request")
        timeout = stated.duration() if stated else policies.timeouts.get(("HTTPRoute", source.name), absent())
        for reference in rule["backendRefs"].items():
            name = reference["name"].text().map(lambda text: _behind(text, policies))
            own = policies.timeouts.get((reference["kind"].string() or "Service", name.value or ""), absent())
            yield Route(
                source,
                backend=name,
                backend_port=reference["port"].text(),
                controller=controller,
                read_timeout=own if timeout.absent else timeout,
                paths=tuple(match["path"]["value"].string() or "/" for match in rule["matches"].items()) or ("/",),
                annotations=source.annotations,
                kind=source.kind,
                timeout_path=stated.path,
                per_try_timeout=rule.at("timeouts", "backendRequest").duration(),
                hosts=hosts,
                entry=entry,
                target=(reference["group"].string(), reference["kind"].string() or "Service", reference["namespace"].string()),
                conditional=any(match[key] for match in rule["matches"].items() for key in ("headers", "queryParams", "method")),
            )


def _behind(name: str, policies: Policies) -> str:
    """The Service at the end of a chain of backends."""
    for _ in range(3):
        name = policies.backends.get(name) or name
    return name


def read_virtual_service(root: Node, document: Document, context: Context) -> Iterator[Route]:
    """An Istio VirtualService: one route per destination."""
    source = origin(root, document)
    for rule in root.at("spec", "http").items():
        for target in rule["route"].items():
            host = target.at("destination", "host")
            yield Route(
                source,
                backend=host.text().map(lambda text: text.split(".")[0]),
                target=("", "Service", host.string().partition(".")[2].partition(".")[0]),
                backend_port=target.at("destination", "port", "number").text(),
                controller=known("istio"),
                read_timeout=rule["timeout"].duration(),
                paths=tuple(match["uri"].first("prefix", "exact", "regex").string() or "/" for match in rule["match"].items()) or ("/",),
                annotations=source.annotations,
                kind="VirtualService",
                timeout_path=rule["timeout"].path,
                per_try_timeout=rule.at("retries", "perTryTimeout").duration(),
            )


def read_simple_route(root: Node, document: Document, context: Context) -> Iterator[Route]:
    """A Traefik IngressRoute or an OpenShift Route."""
    source = origin(root, document)
    if source.kind == "Route":
        timeout, place = _annotated_timeout(root, known("openshift"))
        target, port = root.at("spec", "to", "name"), root.at("spec", "port", "targetPort")
        base = Route(source, target.text(), port.text(), known("openshift"), timeout, kind="Route", timeout_path=place)
        yield replace(base, paths=(root.at("spec", "path").string() or "/",), annotations=source.annotations)
        return
    for rule in root.at("spec", "routes").items():
        for target in rule["services"].items():
            yield Route(
                source, target["name"].text(), target["port"].text(), known("traefik"), annotations=source.annotations, kind=source.kind
            )
