"""Names and ports: variables that Services inject, ports that meet, addresses that listen."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from interlock.infra.catalog.vllm_flags import env_status
from interlock.infra.catalog.vllm_tables import Standing
from interlock.infra.facts import Bundle, Container, Fact, Place, Pod, Role, Service, Workload, known, unknown
from interlock.infra.rules.findings import Severity
from interlock.infra.rules.gpu_devices import official
from interlock.infra.rules.reading.units import engine_containers, older, where
from interlock.infra.rules.rule import Hit, Settings, put, rule

_DEFAULT_PORT = 8000


def selects(selector: Mapping[str, str], labels: Mapping[str, str]) -> bool:
    """Whether a selector (not empty) matches labels."""
    return bool(selector) and all(labels.get(key) == value for key, value in selector.items())


def same_namespace(one: str, other: str) -> bool:
    """Whether two objects can be in one namespace: equal, or not stated."""
    return one == other or "" in (one, other)


def serving_pods(service: Service, bundle: Bundle) -> Iterator[tuple[Workload, Pod]]:
    """The engine pods that a Service selects."""
    for workload, pod in selected(service.selector, bundle):
        if workload.engine.name == "vllm" and same_namespace(service.origin.namespace, workload.origin.namespace):
            yield workload, pod


def selected(selector: Mapping[str, str], bundle: Bundle) -> list[tuple[Workload, Pod]]:
    """The pods, of any namespace, that a selector (not empty) matches, in the order of the bundle."""
    if "pods by label" not in bundle.memo:
        made: dict[tuple[str, str], list[tuple[Workload, Pod]]] = {}
        for workload in bundle.workloads:
            for pod in workload.pods:
                for label in pod.labels.items():
                    made.setdefault(label, []).append((workload, pod))
        bundle.memo["pods by label"] = made
    by_label: Mapping[tuple[str, str], list[tuple[Workload, Pod]]] = bundle.memo["pods by label"]
    # Each label of the selector leaves some pods; those that the rarest leaves are looked at.
    fewest = min((by_label.get(label, []) for label in selector.items()), key=len, default=[])
    return [(workload, pod) for workload, pod in fewest if selects(selector, pod.labels)]


def injected(service: Service) -> list[str]:
    """Variable names that the kubelet makes of a Service with a cluster address (Docker link style)."""
    prefix = service.origin.name.upper().replace("-", "_").replace(".", "_")
    names = [f"{prefix}_SERVICE_HOST", f"{prefix}_SERVICE_PORT", f"{prefix}_PORT"]
    for port, _ in service.ports:
        if port.known:
            names.extend(f"{prefix}_PORT_{port.get()}_TCP{tail}" for tail in ("", "_PROTO", "_PORT", "_ADDR"))
    return names


def _clashes(service: Service) -> list[str]:
    names = injected(service)
    return [name for name in names if name.startswith("VLLM_") and env_status(name, None).standing is not Standing.UNKNOWN]


@rule(
    "NET-001",
    Severity.ERROR,
    demand="No Service makes Kubernetes inject a variable that vLLM reads.",
    reason="A Service called vllm injects VLLM_PORT=tcp://..., which vLLM reads as its own port and refuses to start.",
    source="vllm/envs.py get_vllm_port; Kubernetes documentation, 'Service' (environment variables); vllm-project/vllm#15613, #34199",
    remedy="Set enableServiceLinks: false, or rename the Service.",
    fault="service-env-clash",
    links=("https://kubernetes.io/docs/concepts/services-networking/service/#environment-variables",),
    settings={"port_read_since": "0.4.3"},
    of="bundle",
)
def service_links(bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    for service in bundle.services:
        names = _clashes(service)
        external = service.type.known and service.type.get() == "ExternalName"
        if not names or external:
            continue
        for workload in bundle.workloads:
            if workload.engine.name != "vllm" or not same_namespace(service.origin.namespace, workload.origin.namespace):
                continue
            near = service.origin.file == workload.origin.file or any(selects(service.selector, pod.labels) for pod in workload.pods)
            # Before, nothing read it (vllm-project/vllm#4914).
            read = [each for each in names if each != "VLLM_PORT" or not older(workload, str(settings["port_read_since"]))]
            yield from _linked(workload, service, read) if near and read else ()
    for workload in bundle.workloads:
        name = workload.service_name
        listed = name.known and any(service.origin.name == name.get() for service in bundle.services)
        if workload.engine.name == "vllm" and name.known and not listed:
            yield from _governed(workload, str(name.value))


def _open_links(workload: Workload, names: list[str]) -> list[str]:
    """Which of the variables reach an engine container: service links are on and the container does not set them itself."""
    if "service-links-off" in workload.operator_adds:
        return []
    reached: list[str] = []
    for pod, container in engine_containers(workload):
        if pod.service_links.unknown or (pod.service_links.known and not pod.service_links.get()):
            continue
        reached.extend(name for name in names if name not in container.env)
    return list(dict.fromkeys(reached))


def _linked(workload: Workload, service: Service, names: list[str]) -> Iterable[Hit]:
    reached = _open_links(workload, names)
    if reached:
        port = next((port.get() for port, _ in service.ports if port.known), _DEFAULT_PORT)
        level = Severity.WARNING if service.headless else Severity.ERROR
        text = f"Service {service.origin.name} sets {reached[0]}=tcp://<address>:{port} in this pod, and the engine reads it"
        if service.headless:
            text = f"Service {service.origin.name} is headless; with an address it would set {reached[0]}=tcp://... in this pod"
        remedy = "set enableServiceLinks: false in the pod, or rename the Service (not vllm)"
        fixes = put(where(workload, Place.SERVICE_LINKS), False)
        yield Hit(fixes[0].path, text, remedy, service.origin.name, severity=level, origin=workload.origin, fixes=fixes)


def _governed(workload: Workload, name: str) -> Iterable[Hit]:
    reached = _open_links(workload, _clashes(Service(workload.origin, ports=(), type=Fact())) if name == workload.origin.name else [])
    prefix = name.upper().replace("-", "_")
    if not reached and prefix == "VLLM":
        reached = _open_links(workload, ["VLLM_PORT"])
    if reached:
        text = f"the governing Service is called {name}: unless it is headless, Kubernetes sets {reached[0]}=tcp://... in this pod"
        remedy = "set enableServiceLinks: false in the pod, or rename the Service (not vllm)"
        yield Hit(workload.service_name.path, text, remedy, name, severity=Severity.WARNING, origin=workload.origin)


def engine_port(workload: Workload) -> Fact[int]:
    """The port the engine's server listens on: as given, else 8000 when the whole command line could be read."""
    port = workload.engine.port
    if not port.absent:
        return port
    plain = workload.engine.complete and workload.engine.entrypoint in ("serve", "module", "image")
    return known(_DEFAULT_PORT, port.path) if plain else unknown(port.path, "the command line cannot be read whole")


def _resolve(pod: Pod, container: Container | None, target: str) -> int | None:
    """A port by number or name, in one container or in all of a pod's."""
    if target.isdigit():
        return int(target)
    for candidate in [container] if container else pod.containers:
        if target in candidate.ports:
            return candidate.ports[target]
    return None


def _elsewhere(workload: Workload, pod: Pod, number: int) -> bool:
    """Whether another container than this engine may listen on a port: it declares it, or a proxy stands beside the engine."""
    own = workload.engine.container
    others = [container for container in pod.containers if container.role is not Role.ENGINE or own not in ("", container.name)]
    return any(number in container.ports.values() or (container.role is not Role.INIT and not container.ports) for container in others)


@rule(
    "NET-002",
    Severity.ERROR,
    demand="A Service leads to the port that the engine listens on.",
    reason="Every request is refused although the pods are Ready.",
    source="Kubernetes documentation, 'Service'; vllm serve --port (default 8000)",
    remedy="Make targetPort and --port the same.",
    fault="port-mismatch",
    links=("https://kubernetes.io/docs/concepts/services-networking/service/",),
    of="bundle",
)
def service_ports(bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    for service in bundle.services:
        for workload, pod in serving_pods(service, bundle):
            port = engine_port(workload)
            if not port.known or workload.ray is not None or not service.ports:
                continue
            targets = [_target(pod, number, target) for number, target in service.ports]
            if any(target is None or target == port.get() or _elsewhere(workload, pod, target) for target in targets):
                yield from _one_wrong(service, workload, pod, port.get(), targets)
                continue
            seen = ", ".join(str(target) for target in targets)
            text = f"the Service leads to port {seen}, but the engine listens on {port.get()}"
            remedy = f"set targetPort to {port.get()}, or start the engine with --port {targets[0]}"
            path = service.ports[0][1].path or service.ports[0][0].path or "spec.ports"
            fixes = put(path, port.get()) if len(targets) == 1 else ()
            yield Hit(path, text, remedy, seen, origin=service.origin, fixes=fixes, also=((workload.origin, port.path),))
            break


# Names of ports behind which only the API server can stand; it serves /metrics too.
_OF_THE_SERVER = re.compile(r"metrics|prom|http|api|openai")


def _one_wrong(service: Service, workload: Workload, pod: Pod, port: int, targets: Sequence[int | None]) -> Iterable[Hit]:
    """A port of several that leads nowhere; ports of other protocols may be anybody's."""
    if port not in targets or len(service.port_names) != len(targets):
        return
    for name, target, (number, stated) in zip(service.port_names, targets, service.ports, strict=True):
        if target in (None, port) or not _OF_THE_SERVER.search(name) or _elsewhere(workload, pod, int(target or 0)):
            continue
        what = "serves its metrics there too" if "metrics" in name or "prom" in name else "listens there only"
        text = f"port {name} leads to {target}, where nothing listens: the engine's server is on {port} and {what}"
        path = stated.path if stated.known else number.path
        fault = "metrics-port-mismatch" if "metrics" in name or "prom" in name else ""
        # Through the Service's other port requests arrive; a monitor reads nothing here.
        level = Severity.ERROR if fault else Severity.WARNING
        remedy, fixes = f"set targetPort to {port}", put(path, port)
        yield Hit(path, text, remedy, str(target), severity=level, origin=service.origin, fault=fault, fixes=fixes)


def _target(pod: Pod, number: Fact[int], target: Fact[str]) -> int | None:
    if target.known:
        return _resolve(pod, None, target.get())
    return number.get() if target.absent and number.known else None


@rule(
    "NET-003",
    Severity.ERROR,
    demand="Probes ask the port that the engine listens on.",
    reason="The probe never succeeds: the pod stays unready, or is killed again and again.",
    source="Kubernetes documentation, 'Configure Liveness, Readiness and Startup Probes'",
    remedy="Ask the engine's port.",
    fault="port-mismatch",
)
def probe_ports(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    if "ports" in workload.operator_adds:
        return  # A chart or an operator names ports and puts proxies before the engine.
    port = engine_port(workload)
    for pod, container in engine_containers(workload):
        for probe in container.probes.values():
            if not probe.port.known or probe.handler == "exec":
                continue
            number = _resolve(pod, container, probe.port.get())
            if number is None and container.ports_open:
                continue
            if number is None:
                text = f"the {probe.kind} probe asks port {probe.port.get()!r}, but the container has no port of that name"
                place, remedy = probe.port.path or probe.path, "name the port in the container's ports, or give its number"
                yield Hit(place, text, remedy, probe.port.get(), also=((None, f"{container.path}.ports"),))
            elif (
                port.known
                and number != port.get()
                and workload.ray is None
                and not _elsewhere(workload, pod, number)
                and pod.role != "worker"
            ):
                text = f"the {probe.kind} probe asks port {number}, but the engine listens on {port.get()}"
                yield Hit(
                    probe.port.path or probe.path,
                    text,
                    f"set it to {port.get()}, or start the engine with --port {number}",
                    str(number),
                    fixes=put(probe.port.path, port.get()),
                    also=((None, port.path),),
                )


_SERVED = ("/health", "/ping", "/v1/models", "/version", "/metrics", "/load", "/docs", "/openapi.json", "/redoc", "/tokenizer_info")


@rule(
    "NET-004",
    Severity.WARNING,
    demand="Probes ask a path that the engine serves.",
    reason="A 404 counts as a failure: the pod stays unready, or is killed again and again.",
    source="vllm/entrypoints/serve (routes of the server); llm-d/llm-d-inference-sim#45",
    remedy="Ask /health.",
)
def probe_paths(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    for _, container in engine_containers(workload):
        for probe in container.probes.values():
            path = probe.http_path
            if not path.known or path.get().split("?")[0].rstrip("/") in _SERVED or workload.ray is not None:
                continue
            if workload.engine.entrypoint not in ("serve", "module", "image") or workload.engine.flag("root-path").known:
                continue
            if any(other.role is Role.SIDECAR for pod in workload.pods for other in pod.containers):
                continue
            text = f"the {probe.kind} probe asks {path.get()}, which vLLM's server answers with 404"
            kills = probe.kind in ("startup", "liveness") and official(workload)
            level = Severity.ERROR if kills else Severity.WARNING
            yield Hit(path.path or probe.path, text, "set it to /health", path.get(), severity=level, fixes=put(path.path, "/health"))


@rule(
    "NET-005",
    Severity.ERROR,
    demand="The engine listens on an address that other pods reach.",
    reason="The kubelet's probes and the Service use the pod's address; nothing listens there.",
    source="vllm serve --host; Kubernetes documentation, 'Cluster Networking'",
    remedy="Listen on 0.0.0.0.",
)
def listens(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    host = workload.engine.flag("host")
    if not host.known or host.get() not in ("127.0.0.1", "localhost", "::1"):
        return
    beside = any(container.role is Role.SIDECAR for pod in workload.pods for container in pod.containers)
    text = f"the engine listens on {host.get()} only, so neither probes nor Services reach it"
    level = Severity.WARNING if beside else Severity.ERROR
    yield Hit(where(workload, Place.ARGS, host), text, "listen on 0.0.0.0 (or ::)", host.get(), severity=level)
