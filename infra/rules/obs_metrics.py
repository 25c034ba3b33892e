"""What watches the engine: metric names by version, and scrapes that reach its port."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from interlock.infra.catalog.vllm_tables import Standing
from interlock.infra.facts import Bundle, Origin, Place, Pod, Scrape, Workload
from interlock.infra.rules.findings import Fix, Severity
from interlock.infra.rules.net_services import engine_port, same_namespace, selects
from interlock.infra.rules.reading.scalers import end_effect, target_of, without_metric
from interlock.infra.rules.reading.series import FOREIGN, engine_series, recorded, standing, versions
from interlock.infra.rules.reading.units import switched_on, where
from interlock.infra.rules.rule import Hit, Settings, drop, put, rule


@dataclass(frozen=True, slots=True)
class _Expression:
    """A query or the metric of a scaler."""

    origin: Origin
    text: str
    path: str
    use: str
    version: str | None
    effect: str = ""
    """What becomes of who asks it when it finds nothing."""


def _expressions(bundle: Bundle) -> Iterator[_Expression]:
    """Every query and scaler metric."""
    known = versions(bundle)
    common = next(iter(known)) if len(known) == 1 else None
    for query in bundle.queries:
        if query.text.known:
            yield _Expression(query.origin, query.text.get(), query.path or query.text.path, query.use or "query", common)
    for scaler in bundle.autoscalers:
        workload = target_of(scaler, bundle)
        version = str(workload.engine.version.value) if workload and workload.engine.version.known else common
        for source, name, path in scaler.metrics:
            if name.known:
                use, effect = "scaler" if source.lower() == "prometheus" else "adapter", f": {without_metric(scaler)}" if workload else ""
                yield _Expression(scaler.origin, name.get(), path or name.path, use, version, effect)


@rule(
    "OBS-001",
    Severity.WARNING,
    demand="A query names series that the engine's version exports.",
    reason="A series that does not exist causes no error anywhere: the panel is empty, the alert never fires, the scaler never scales.",
    source="vllm/v1/metrics/loggers.py of the wheels 0.5.5 to 0.33.0; volcano-sh/kthena#868",
    remedy="Use the name of your version, and alert on absent().",
    fault="metric-query-fragile",
    links=("https://docs.vllm.ai/en/latest/usage/metrics/",),
    of="bundle",
)
def names(bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    made = recorded(bundle)
    for each in _expressions(bundle):
        for series in engine_series(each.text):
            if series not in made:
                yield from _named(each, series)


def _named(each: _Expression, series: str) -> Iterator[Hit]:
    status, colon = standing(series, each.version), series.replace("vllm_", "vllm:", 1)
    if status.exists and "vllm_" in series and not series.startswith("ray_") and each.use == "scaler":
        summary = f"{series} does not exist in Prometheus, since vLLM's names carry a colon{each.effect}"
        fixes = _renamed(each.text, series, colon, each.path)
        yield Hit(each.path, summary, f"write {colon}", series, severity=Severity.ERROR, origin=each.origin, fixes=fixes)
    elif status.standing in (Standing.RENAMED, Standing.REMOVED, Standing.NOT_YET):
        of = f"vLLM {each.version}" if each.version else "the newest vLLM"
        span = f" (exported from {status.since} to {status.until})" if status.since and status.until else ""
        remedy = f"write {status.to}" if status.to else "remove it, or pin the version that exports it"
        fixes = _renamed(each.text, series, status.to, each.path) if status.to else ()
        yield Hit(each.path, f"{of} does not export {series}{span}{each.effect}", remedy, series, origin=each.origin, fixes=fixes)
    elif status.standing is Standing.UNKNOWN and each.use != "adapter" and ":" in series:
        remedy = f"write {status.to}" if status.to else "use a name of the /metrics page of your version"
        said = f"no vLLM version that was read exports {series}{each.effect}"
        yield Hit(each.path, said, remedy, series, origin=each.origin, fault="metric-unknown")


def _renamed(text: str, old: str, new: str, path: str) -> tuple[Fix, ...]:
    return put(path, re.sub(rf"(?<![\w:]){re.escape(old)}(?![\w:])", new, text))


@rule(
    "OBS-002",
    Severity.WARNING,
    demand="A query names series that Ray, cAdvisor or DCGM export.",
    reason="These names stand in widely read articles and are exported by nothing.",
    source="ray/dashboard/modules/metrics/dashboards of Ray 2.60; NVIDIA DCGM exporter's default counters",
    remedy="Use the name that exists.",
    fault="metric-query-fragile",
    of="bundle",
)
def foreign_names(bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    for each in _expressions(bundle):
        for wrong, right in FOREIGN.items():
            if wrong in each.text:
                yield Hit(each.path, f"nothing exports {wrong}{each.effect}", f"use {right}", wrong, origin=each.origin)


@rule(
    "OBS-003",
    Severity.ERROR,
    demand="A scrape reaches the port on which the engine serves /metrics.",
    reason="Nothing is scraped: dashboards stay empty and autoscalers see no load.",
    source="prometheus-operator documentation, ServiceMonitor (port is a name of the Service's port)",
    remedy="Name the Service's (or the container's) port.",
    fault="metrics-port-mismatch",
    links=("https://prometheus-operator.dev/docs/developer/getting-started/",),
    of="bundle",
)
def scraped(bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    for scrape in bundle.scrapes:
        if scrape.port.known:
            yield from _pod_scrape(scrape, bundle) if scrape.kind == "pod" else _service_scrape(scrape, bundle)


def _service_scrape(scrape: Scrape, bundle: Bundle) -> Iterable[Hit]:
    chosen = [service for service in bundle.services if selects(dict(scrape.selector), service.origin.labels)]
    wanted, have = scrape.port.get(), {name for service in chosen for name in service.port_names}
    engines = any(selects(service.selector, pod.labels) for service in chosen for w in bundle.workloads for pod in w.pods)
    if not chosen or not engines or wanted.isdigit() or wanted in have:
        return
    names_text = ", ".join(sorted(have)) or "none with a name"
    behind = [w for service in chosen for w in bundle.workloads if any(selects(service.selector, pod.labels) for pod in w.pods)]
    effect = next(filter(None, (end_effect(each, bundle) for each in behind)), "")
    text = f"port {wanted!r} is not a port of Service {chosen[0].origin.name} (it has {names_text}){effect}"
    yield Hit(scrape.port.path or scrape.path, text, "use the name of the Service's port", wanted, origin=scrape.origin)


def _pod_scrape(scrape: Scrape, bundle: Bundle) -> Iterable[Hit]:
    near = [
        each for each in bundle.workloads if each.engine.name == "vllm" and same_namespace(scrape.origin.namespace, each.origin.namespace)
    ]
    chosen = [(each, pod) for each in near for pod in each.pods if selects(dict(scrape.selector), pod.labels)]
    missed = [(workload, _missed(scrape, workload, pod)) for workload, pod in chosen]
    # A monitor that reaches some of its pods may be meant for those alone.
    level = Severity.ERROR if all(found for _, found in missed) else Severity.WARNING
    for workload, found in missed:
        if found:
            path, text = scrape.port.path or scrape.path, found[0] + end_effect(workload, bundle)
            yield Hit(path, text, found[1], scrape.port.get(), severity=level, origin=scrape.origin)


def _missed(scrape: Scrape, workload: Workload, pod: Pod) -> tuple[str, str] | None:
    """(what is wrong with the port for a pod, the fix); None where nothing is."""
    wanted, name, port = scrape.port.get(), workload.origin.name, engine_port(workload)
    declared = {each for container in pod.containers for each in container.ports}
    numbers = {number for container in pod.containers for number in container.ports.values()}
    closed, alone = not any(each.ports_open for each in pod.containers), len(pod.containers) == 1 and workload.ray is None
    if scrape.named and wanted.isdigit() and wanted not in declared and closed:
        there = ", ".join(sorted(each for each in declared if not each.startswith("#"))) or "none with a name"
        text = f"port takes a name, and no port of {name} is called {wanted!r} (it has {there}): no targets"
        return text, f"name the port, or write portNumber: {wanted}"
    if wanted.isdigit() and port.known and alone and int(wanted) not in {port.get(), *numbers}:
        return f"metrics are scraped from port {wanted}, but the engine serves them on {port.get()}", f"scrape port {port.get()}"
    if not wanted.isdigit() and wanted not in declared and closed:
        return f"port {wanted!r} is not a port name of the pods of {name}", "use the name of the container's port"
    return None


@rule(
    "OBS-004",
    Severity.WARNING,
    demand="The engine's metrics are on.",
    reason="--disable-log-stats removes the stat loggers, Prometheus among them.",
    source="vllm/v1/engine/async_llm.py (log_stats)",
    remedy="Remove the flag.",
)
def statistics(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    flag = workload.engine.flag("disable-log-stats")
    if not switched_on(flag):
        return
    effect = end_effect(workload, bundle)
    text = f"--disable-log-stats also switches the engine's Prometheus metrics off{effect}"
    level = Severity.ERROR if effect else Severity.WARNING
    path = where(workload, Place.ARGS, flag)
    yield Hit(path, text, "remove --disable-log-stats", severity=level, fixes=drop(path, flag="disable-log-stats"))
