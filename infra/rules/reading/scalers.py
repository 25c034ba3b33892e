"""Autoscalers and what they scale: which engine, and what a scaler does when its query finds nothing."""

from interlock.infra.facts import Autoscaler, Bundle, Fact, Workload
from interlock.infra.rules.net_services import same_namespace
from interlock.infra.rules.reading.series import engine_series
from interlock.infra.values import plural


def target_of(scaler: Autoscaler, bundle: Bundle) -> Workload | None:
    """The engine workload that an autoscaler scales."""
    if not scaler.target.known:
        return None
    kind = scaler.target_kind.value if scaler.target_kind.known else "Deployment"
    named = _engines_by_name(bundle).get((str(kind), scaler.target.get()), ())
    return next((each for each in named if same_namespace(scaler.origin.namespace, each.origin.namespace)), None)


def _engines_by_name(bundle: Bundle) -> dict[tuple[str, str], list[Workload]]:
    """The engines of a set by kind and name: every rule about autoscalers asks for each of them."""
    found: dict[tuple[str, str], list[Workload]] | None = bundle.memo.get(_engines_by_name)
    if found is None:
        found = bundle.memo[_engines_by_name] = {}
        for workload in bundle.workloads:
            if workload.engine.name == "vllm":
                found.setdefault((workload.origin.kind, workload.origin.name), []).append(workload)
    return found


def readers(workload: Workload, bundle: Bundle) -> list[Autoscaler]:
    """The autoscalers of a workload that read the engine's own series."""
    return [
        scaler
        for scaler in bundle.autoscalers
        if target_of(scaler, bundle) is workload and any(engine_series(str(name.value or "")) for _, name, _ in scaler.metrics)
    ]


def without_metric(scaler: Autoscaler) -> str:
    """What a scaler does for good when its query finds no series."""
    name = f"{scaler.origin.kind} {scaler.origin.name}"
    if scaler.origin.kind not in ("ScaledObject", "ScaledJob"):
        return f"{name} never gets its metric and leaves the count as it is"
    if scaler.options.get("ignoreNullValues", Fact()).default("true").value == "true":
        least = scaler.min_replicas.default(0)
        held = f"stays at {plural(least.get(), 'replica')}" if least.known else "stays at its minimum"
        return f"{name} reads 0 and {held}, whatever the load"
    return f"{name} gets an error instead of a number and leaves the count as it is"


def end_effect(workload: Workload, bundle: Bundle) -> str:
    """What becomes of a workload whose metrics nobody gets; empty where nothing scales it on them."""
    found = [without_metric(scaler) for scaler in readers(workload, bundle)]
    return f": {'; '.join(found)}" if found else ""
