"""Endpoint pickers: they choose by the engines' own metrics, and hand out nothing when they cannot read them."""

from collections.abc import Iterable, Iterator, Mapping

from interlock.infra.facts import Bundle, EndpointPool, Pod, Workload
from interlock.infra.rules.findings import Severity
from interlock.infra.rules.net_services import engine_port, same_namespace, selected
from interlock.infra.rules.rule import Hit, Settings, drop, put, rule

_SOURCE = (
    "llm-d-router: flow control's utilization saturation detector (stale or missing metrics count as full); InferencePool v1, failureMode"
)
_LINKS = ("https://gateway-api-inference-extension.sigs.k8s.io/api-types/inferencepool/",)


def _engines(pool: EndpointPool, bundle: Bundle) -> Iterator[tuple[Workload, Pod]]:
    for workload, pod in selected(pool.selector, bundle):
        if workload.engine.name == "vllm" and same_namespace(pool.origin.namespace, workload.origin.namespace):
            yield workload, pod


def _effect(pool: EndpointPool) -> str:
    open_ = pool.failure_mode.known and pool.failure_mode.get() == "FailOpen"
    return "requests go to any pod" if open_ else "with failureMode FailClose every request is refused"


@rule(
    "NET-015",
    Severity.ERROR,
    demand="An InferencePool names the port that its engines listen on.",
    reason="The picker reads the metrics there and sends the requests there: it counts every pod as full, and hands out none.",
    source=_SOURCE,
    remedy="Write the engine's port into targetPorts.",
    fault="picker-port-mismatch",
    links=_LINKS,
    of="bundle",
)
def picked_port(bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    for pool in bundle.endpoint_pools:
        stated = [port.get() for port in pool.ports if port.known]
        for workload, pod in _engines(pool, bundle):
            port = engine_port(workload)
            # A sidecar may listen before the engine (prefill and decode).
            alone = len(pod.containers) == 1 and workload.ray is None and "ports" not in workload.operator_adds
            if not alone or not port.known or not stated or len(stated) < len(pool.ports):
                continue
            first = pool.ports[0]
            if port.get() not in stated:
                text = f"the pool takes requests to port {stated[0]}, and {workload.origin.name} listens on {port.get()}: {_effect(pool)}"
                fixes = put(first.path, port.get()) if len(stated) == 1 else ()
                yield Hit(first.path, text, f"set it to {port.get()}", str(stated[0]), origin=pool.origin, fixes=fixes)
                break


_UNREADABLE: Mapping[str, tuple[str, str]] = {
    "ssl-certfile": ("serves TLS, and pickers read metrics over plain http unless they are told", "tell the picker the scheme https"),
    "disable-log-stats": ("exports no metrics", "remove --disable-log-stats"),
}
"""Flags with which a picker cannot read the engine's metrics: what they do, and the fix."""


@rule(
    "NET-016",
    Severity.WARNING,
    demand="A picker reads the metrics of each engine of its pool.",
    reason="An engine without metrics counts as full and gets nothing; of several engines behind one port only one is seen.",
    source=f"{_SOURCE}; kubernetes-sigs/gateway-api-inference-extension#2950 (internal data parallel)",
    remedy="Serve plain metrics, one engine a port.",
    fault="picker-blind",
    links=_LINKS,
    of="bundle",
)
def picked_metrics(bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    for pool in bundle.endpoint_pools:
        # A workload of several pod templates is told once.
        for workload in {id(workload): workload for workload, _ in _engines(pool, bundle)}.values():
            yield from _blind(workload, pool)


def _blind(workload: Workload, pool: EndpointPool) -> Iterator[Hit]:
    engine, name = workload.engine, pool.origin.name
    for flag, (what, remedy) in _UNREADABLE.items():
        stated = engine.flag(flag)
        if stated.known and stated.value != "false":
            text = f"--{flag}: the engine {what}; the picker of InferencePool {name} counts it as full, and {_effect(pool)}"
            fixes = drop(stated.path, flag=flag) if remedy.startswith("remove") else ()
            yield Hit(stated.path, text, remedy, origin=workload.origin, fixes=fixes)
    ranks = engine.data_parallel
    apart = any(not engine.flag(each).absent for each in ("data-parallel-rank", "data-parallel-external-lb", "data-parallel-hybrid-lb"))
    if ranks.known and ranks.get() > 1 and not apart and len(pool.ports) == 1:
        text = f"{ranks.get()} data-parallel engines behind one port: the picker of InferencePool {name} reads one engine's queue and cache"
        remedy = "give each rank a port of its own (--data-parallel-external-lb and one of targetPorts each)"
        yield Hit(ranks.path, text, remedy, str(ranks.get()), origin=workload.origin)
