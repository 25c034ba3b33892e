"""Routes: whether a long answer reaches the client, and what a route or load balancer opens to the world."""

import re
from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from typing import Any

from interlock.infra.catalog.tables import table
from interlock.infra.facts import Bundle, Route, Service, Workload
from interlock.infra.facts.supervisor import KEYS
from interlock.infra.rules.findings import Fix, Severity
from interlock.infra.rules.net_services import same_namespace, serving_pods
from interlock.infra.rules.rule import Hit, Settings, drop, put, rule
from interlock.infra.values import seconds


def controllers() -> Mapping[str, Any]:
    """What each controller does with a long answer by default."""
    found: Mapping[str, Any] = table("route_limits.json")["controllers"]
    return found


def engines_behind(route: Route, bundle: Bundle) -> list[Workload]:
    """The engines a route leads to through a Service of the documents, or by their own name (operators make that Service)."""
    if not route.backend.known:
        return []
    name, found = route.backend.get(), list[Workload]()
    for service in bundle.services:
        if service.origin.name == name and same_namespace(service.origin.namespace, route.origin.namespace):
            found.extend(workload for workload, _ in serving_pods(service, bundle))
    if not any(service.origin.name == name for service in bundle.services):
        found.extend(w for w in bundle.workloads if w.engine.name == "vllm" and w.origin.name in (name, name.removesuffix("-service")))
    return found


def leads_to_an_engine(route: Route, bundle: Bundle) -> bool:
    """Whether a route leads to vLLM: to an engine of the documents, or to a Service that they lack and whose name says vllm."""
    if engines_behind(route, bundle):
        return True
    listed = route.backend.known and any(service.origin.name == route.backend.get() for service in bundle.services)
    return route.backend.known and not listed and "vllm" in route.backend.get().lower()


def limits(route: Route) -> Iterator[tuple[str, float, str, str]]:
    """Every known limit of a route as (what, seconds, what it measures, path); a limit of 0 is none."""
    controller = controllers().get(str(route.controller.value), {}) if route.controller.known else {}
    path = route.read_timeout.path or route.timeout_path or "spec"
    measures = str(controller.get("measures", "answer"))
    if route.read_timeout.known:
        yield "the timeout", route.read_timeout.get(), measures, path
    elif route.read_timeout.absent and controller and not _stated_otherwise(route):
        yield f"no timeout is stated, and the default of {route.controller.get()}", float(controller["seconds"]), measures, path
    for name, fact, kind in (("one attempt", route.per_try_timeout, "answer"), ("the idle timeout", route.idle_timeout, "silence")):
        if fact.known:
            yield name, fact.get(), kind, fact.path or path


def _stated_otherwise(route: Route) -> bool:
    """Both nginx controllers answer to the class nginx, and a snippet can set anything."""
    near = route.controller.value in ("nginx", "nginx-inc")
    return near and any(name.endswith(("/proxy-read-timeout", "-snippet", "-snippets")) for name in route.annotations)


@rule(
    "NET-006",
    Severity.ERROR,
    demand="The limits on the way are longer than the longest answer, the controller's default counted.",
    reason="The gateway closes the connection in the middle of an answer: 504 or a cut stream, while the engine works on.",
    source="infra/catalog/route_limits.json (each controller's documentation); modelplaneai/modelplane#174",
    remedy="Raise the timeout (nginx proxy-read-timeout, ALB idle timeout, HTTPRoute timeouts.request).",
    fault="ingress-no-timeout",
    links=("https://gateway-api.sigs.k8s.io/guides/http-timeouts/",),
    settings={"silence_seconds": 120, "answer_seconds": 300, "advised_seconds": 600, "certain_seconds": 61},
    of="bundle",
)
def timeouts(bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    for route in bundle.routes:
        if not leads_to_an_engine(route, bundle):
            continue
        stated = route.longest_answer.get() if route.longest_answer.known else None
        for what, given, measures, path in limits(route):
            needed = stated if stated is not None else float(settings[f"{measures}_seconds"])
            advised = max(needed, float(settings["advised_seconds"]))
            if given <= 0 or given >= (advised if stated is None else needed):
                continue
            # How long answers take is assumed where nobody states it: only what cuts nearly every one of them is certain.
            certain = needed if stated is not None else min(needed, float(settings["certain_seconds"]))
            level = Severity.ERROR if given < certain else Severity.WARNING
            wanted = needed if stated is not None else advised
            kind = "answers may take" if measures == "answer" else "an answer may stay silent (a long prompt, no streaming)"
            text = f"{what} is {given:g} s, below the {wanted:g} s that {kind}; longer ones end in 504 or a cut stream"
            remedy, fixes = _longer(path, wanted)
            remedy += f", or let answers take {given:g} s at most (longest_answer_seconds)" if stated is not None else ""
            value = "" if what.startswith("no timeout") else f"{given:g}"
            yield Hit(path, text, remedy, value, severity=level, origin=route.origin, fixes=fixes)


def _longer(path: str, wanted: float) -> tuple[str, tuple[Fix, ...]]:
    """The remedy for a limit at ``path``, with the change where the field takes a plain number or duration."""
    nginx = re.search(r'/(proxy-read-timeout)"\]$', path)
    field = nginx or re.search(r"\.(timeouts\.(?:request|backendRequest))$", path)
    if field is None:
        return f"set it to {wanted:g} s or more", ()
    value = f"{wanted:g}" if nginx else f"{wanted:g}s"
    return f"set {field[1]} to {wanted:g} s or more", put(path, value)


_TIMEOUT_WORDS = re.compile(r"time-?out|timout|idle", re.IGNORECASE)


@rule(
    "NET-007",
    Severity.ERROR,
    demand="A timeout annotation is one that the route's controller reads.",
    reason="A foreign or misspelt annotation is ignored without a word, and the default timeout cuts answers.",
    source="Annotation lists of ingress-nginx, NGINX Ingress Controller and AWS Load Balancer Controller",
    remedy="Use the controller's own annotation on the route itself.",
    fault="ingress-annotation-dead",
    links=("https://kubernetes.github.io/ingress-nginx/user-guide/nginx-configuration/annotations/",),
    of="bundle",
)
def dead_annotations(bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    for route in bundle.routes:
        for name, value in route.annotations.items():
            owner = next((key for key, row in controllers().items() if row["prefix"] and name.startswith(row["prefix"])), None)
            if owner is None or not _TIMEOUT_WORDS.search(name + value):
                continue
            problem, remedy = _dead(route, owner, name, value)
            if problem:
                path = f'metadata.annotations["{name}"]'
                right = re.fullmatch(r"write (\S+/\S+)", remedy)
                fixes = drop(path) + put(f'metadata.annotations["{right[1]}"]', value) if right else ()
                yield Hit(path, problem, remedy, value, origin=route.origin, fixes=fixes)


_READ_ON_SERVICES = ("appgw", "kong", "haproxy", "openshift", "traefik")


def _dead(route: Route, owner: str, name: str, value: str) -> tuple[str, str]:
    row = controllers()[owner]
    class_name = str(route.controller.value) if route.controller.known else ""
    if class_name in controllers() and class_name != owner and not {class_name, owner} <= {"nginx", "nginx-inc"}:
        return f"{name} is read by {owner}, but this route belongs to {class_name}", f"use the timeout of {class_name}"
    if route.kind == "Service" and owner in _READ_ON_SERVICES:
        return "", ""
    if route.kind not in ("", "Ingress", "Route", "HTTPProxy"):
        return f"{name} stands on a {route.kind}, where no controller reads it", "state the timeout in the route's own field"
    key, known_keys = name.removeprefix(row["prefix"]), row["timeout"]
    if not known_keys:
        return "", ""
    if key not in known_keys:
        close = get_close_matches(key, list(known_keys), 1, 0.88)
        return (f"{name} is misspelt: {owner} reads {row['prefix']}{close[0]}", f"write {row['prefix']}{close[0]}") if close else ("", "")
    if known_keys[key] == "number" and not re.fullmatch(r"\d+", value.strip()):
        return f"{name}: {value!r} is not a plain number of seconds, so {owner} ignores it", f"write {_plain(value)}"
    return "", ""


def _plain(value: str) -> str:
    try:
        return f'"{seconds(value):g}"'
    except ValueError:
        return '"600"'


@rule(
    "NET-008",
    Severity.WARNING,
    demand="Streamed answers are not buffered.",
    reason="A client sees nothing until the buffer is full or the answer is complete.",
    source="docs.nginx.com, NGINX Ingress Controller annotations: proxy-buffering is on by default there (off in ingress-nginx)",
    remedy="Switch response buffering off.",
    of="bundle",
)
def buffering(bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    for route in bundle.routes:
        if not leads_to_an_engine(route, bundle):
            continue
        f5 = route.controller.known and route.controller.get() == "nginx-inc"
        stated = next(((k, v) for k, v in route.annotations.items() if k.endswith("/proxy-buffering")), None)
        if stated and stated[1].lower() in ("on", "true"):
            text = f"{stated[0]}: {stated[1]} holds tokens back until a buffer is full"
            yield Hit(
                f'metadata.annotations["{stated[0]}"]',
                text,
                'set it to "off"',
                stated[1],
                origin=route.origin,
                fixes=put(f'metadata.annotations["{stated[0]}"]', "off"),
            )
        elif f5 and stated is None:
            text = "this controller buffers answers unless it is told not to, so streamed tokens arrive in lumps or at the end"
            yield Hit("metadata.annotations", text, 'add nginx.org/proxy-buffering: "false"', origin=route.origin)


def keyed(workload: Workload) -> bool:
    """Whether an engine asks for a key, its own or a tenant's; one whose command line is not known counts as asking."""
    engine = workload.engine
    if engine.entrypoint == "ray-serve" and workload.ray and any(each.llm for each in workload.ray.deployments):
        return False  # the ingress of ray.serve.llm knows no keys, whatever the engine behind it is told
    own = not engine.flag("api-key").absent or "VLLM_API_KEY" in engine.env
    return not engine.complete or own or any(each.name == "middleware" and each.value.value == KEYS for each in engine.flags)


def _internal(service: Service) -> bool:
    notes = {key.lower(): value.lower() for key, value in service.origin.annotations.items()}
    return any("internal" in key and value not in ("false", "") for key, value in notes.items()) or "internal" in notes.values()


@rule(
    "NET-009",
    Severity.WARNING,
    demand="An engine behind a load balancer asks for keys.",
    reason="Anybody who finds the address uses the GPUs.",
    source="Kubernetes documentation, 'Service' type LoadBalancer; vllm serve --api-key",
    remedy="Put a gateway with keys before it, or an internal load balancer.",
    fault="public-loadbalancer",
    of="bundle",
)
def open_load_balancer(bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    for service in bundle.services:
        if not (service.type.known and service.type.get() == "LoadBalancer") or _internal(service):
            continue
        for workload, _ in serving_pods(service, bundle):
            if not keyed(workload):
                text = f"a load balancer leads to {workload.origin.name}, and the engine asks for no key"
                remedy = "make the Service ClusterIP behind a gateway with keys, or give the engine VLLM_API_KEY from a Secret"
                yield Hit(service.type.path or "spec.type", text, remedy, "LoadBalancer", origin=service.origin)
                break


@rule(
    "NET-010",
    Severity.WARNING,
    demand="A route to an engine with keys shows /v1 only.",
    reason="The key guards /v1, /v2, /inference and /cohere; /invocations answers without it.",
    source="vllm/entrypoints/openai/server_utils.py (AuthenticationMiddleware); measured on vLLM 0.32",
    remedy="Route /v1 only.",
    of="bundle",
)
def open_paths(bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    for route in bundle.routes:
        keyed = [workload for workload in engines_behind(route, bundle) if _guarded(workload)]
        if keyed and any(path in ("/", "/*", "/(.*)") for path in route.paths):
            text = "path / also shows /invocations, /metrics and /tokenize, which the engine answers without its key"
            yield Hit(route.origin.path or "spec.rules", text, "route /v1 only", "/", origin=route.origin)


def _guarded(workload: Workload) -> bool:
    return workload.engine.flag("api-key").known or "VLLM_API_KEY" in workload.engine.env


@rule(
    "NET-011",
    Severity.WARNING,
    demand="The Ray dashboard is not reachable from outside.",
    reason="Its job API runs any code without a key unless token authentication is on.",
    source="docs.ray.io, 'Security'",
    remedy="Keep it ClusterIP.",
    links=("https://docs.ray.io/en/latest/ray-security/index.html",),
    of="bundle",
)
def dashboards(bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    for service in bundle.services:
        outside = service.type.known and service.type.get() in ("LoadBalancer", "NodePort") and not _internal(service)
        if outside and any(port.known and port.get() == 8265 for port, _ in service.ports):
            text = "port 8265 is the Ray dashboard and job API: whoever reaches it runs code in the cluster"
            yield Hit(service.type.path or "spec.ports", text, "keep it ClusterIP and use port-forward", "8265", origin=service.origin)
    for route in bundle.routes:
        if route.backend_port.known and route.backend_port.get() in ("8265", "dashboard"):
            text = "this route leads to the Ray dashboard and job API: whoever reaches it runs code in the cluster"
            yield Hit(route.backend_port.path or "spec.rules", text, "remove it from the route", "8265", origin=route.origin)
