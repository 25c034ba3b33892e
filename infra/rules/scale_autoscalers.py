"""Autoscaling and quota: what is measured, what wakes a service at zero, and whether the pool can give what is asked."""

import re
from collections.abc import Iterable

from interlock.infra.facts import Autoscaler, Bundle, Fact, Place
from interlock.infra.rules.findings import Severity
from interlock.infra.rules.reading.scalers import target_of
from interlock.infra.rules.reading.series import engine_series
from interlock.infra.rules.reading.units import counted, engine_containers, pod_count, pod_units, pool_text, where
from interlock.infra.rules.rule import Hit, Settings, drop, put, rule
from interlock.infra.values import plural

_KEDA = ("https://keda.sh/docs/latest/scalers/prometheus/",)
_HPA = ("https://kubernetes.io/docs/tasks/run-application/horizontal-pod-autoscale/",)


@rule(
    "SCALE-001",
    Severity.WARNING,
    demand="An engine on GPUs is scaled on its queue.",
    reason="CPU use of an engine hardly follows load (one busy loop per worker), so the workload never scales, or always does.",
    source="vLLM documentation, 'Metrics'; production experience in vllm-project/production-stack (KEDA tutorials)",
    remedy="Scale on vllm:num_requests_waiting.",
    fault="hpa-cpu",
    links=_KEDA,
    of="bundle",
)
def on_cpu(bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    for scaler in bundle.autoscalers:
        workload = target_of(scaler, bundle)
        on_gpu = workload and any(counted(container) for _, container in engine_containers(workload))
        for source, name, path in scaler.metrics if on_gpu else ():
            kind = source.lower()
            if kind in ("resource", "containerresource", "cpu", "memory") and name.value in ("cpu", "memory"):
                text = f"scaled on {name.value}: an engine's {name.value} says nothing about its queue"
                remedy = "scale on vllm:num_requests_waiting (KEDA prometheus trigger)"
                yield Hit(path or name.path, text, remedy, str(name.value), origin=scaler.origin)


@rule(
    "SCALE-002",
    Severity.ERROR,
    demand="One autoscaler per workload.",
    reason="A ScaledObject makes an HPA of its own; two HPAs on one target fight, and Kubernetes reports AmbiguousSelector.",
    source="keda.sh documentation, 'Scaling Deployments'; Kubernetes documentation, HPA conditions",
    remedy="Keep one of them.",
    links=_HPA,
    of="bundle",
)
def both_kinds(bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    by_target: dict[tuple[str, str], list[Autoscaler]] = {}
    for scaler in bundle.autoscalers:
        if scaler.target.known and target_of(scaler, bundle):
            by_target.setdefault((scaler.origin.namespace, scaler.target.get()), []).append(scaler)
    for (_, target), scalers in by_target.items():
        kinds = {scaler.origin.kind for scaler in scalers}
        names = {(scaler.origin.kind, scaler.origin.name, scaler.origin.file) for scaler in scalers}
        if len(names) > 1:
            first = next((scaler for scaler in scalers if scaler.origin.kind == "HorizontalPodAutoscaler"), scalers[0])
            both = "an HPA and by a ScaledObject (which makes an HPA of its own)" if len(kinds) > 1 else f"{len(names)} autoscalers"
            text = f"{target} is scaled by {both}: they undo each other"
            yield Hit(first.target.path or "spec.scaleTargetRef", text, "delete one of the two", target, origin=first.origin)


@rule(
    "SCALE-003",
    Severity.WARNING,
    demand="An autoscaled workload states no replicas of its own.",
    reason="Each apply resets the count and kills replicas in the middle of answers; each comes back minutes later.",
    source="Kubernetes documentation, 'Migrating Deployments and StatefulSets to horizontal autoscaling'",
    remedy="Leave spec.replicas out.",
    links=_HPA,
    of="bundle",
)
def replicas_stated(bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    for scaler in bundle.autoscalers:
        workload = target_of(scaler, bundle)
        # A count without a place is the kind's own default.
        if workload and workload.replicas.known and workload.replicas.path and not workload.autoscaled:
            count = workload.replicas.get()
            text = f"replicas {count} beside an autoscaler: every apply sets the count back and drops running replicas"
            path = where(workload, Place.REPLICAS, workload.replicas)
            yield Hit(path, text, "remove replicas", str(count), origin=workload.origin, fixes=drop(path))


@rule(
    "SCALE-004",
    Severity.ERROR,
    demand="The pool can hold the most replicas that the autoscaler may ask for.",
    reason="The last replicas stay Pending, just when the load is highest.",
    source="Kubernetes documentation, 'Horizontal Pod Autoscaling'",
    remedy="Lower the maximum or enlarge the pool.",
    fault="unschedulable",
    links=_HPA,
    of="bundle",
)
def ceiling(bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    for scaler in bundle.autoscalers:
        workload = target_of(scaler, bundle)
        pool = bundle.pool(workload) if workload else None
        if workload is None or pool is None or not scaler.max_replicas.known or not pool.gpus_per_node.known:
            continue
        nodes = pool.max_nodes if pool.max_nodes.known else pool.nodes
        each = [pod_units(workload, pod) for pod in workload.pods]
        if not nodes.known or len(each) != 1 or not each[0].known or each[0].get() < 1 or pod_count(workload.pods[0]).value != 1:
            continue
        fit = nodes.get() * (pool.gpus_per_node.get() // each[0].get())
        if scaler.max_replicas.get() > fit:
            sums = f"{plural(nodes.get(), 'node')} x floor({pool.gpus_per_node.get()} / {each[0].get()}) = {fit}"
            text = f"up to {plural(scaler.max_replicas.get(), 'replica')}, but {sums} fit"
            yield Hit(scaler.max_replicas.path, text, f"set the maximum to {fit}, or enlarge {pool_text(pool)}", origin=scaler.origin)


@rule(
    "SCALE-005",
    Severity.ERROR,
    demand="The autoscaler's minimum is not above its maximum.",
    reason="The API server refuses it.",
    source="Kubernetes API reference, HorizontalPodAutoscalerSpec",
    remedy="Raise the maximum.",
    links=_HPA,
    of="bundle",
)
def floor_and_ceiling(bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    for scaler in bundle.autoscalers:
        low, high = scaler.min_replicas, scaler.max_replicas
        if low.known and high.known and low.get() > high.get() and target_of(scaler, bundle):
            text = f"minimum {low.get()} is above maximum {high.get()}"
            yield Hit(
                low.path,
                text,
                f"set the maximum to at least {low.get()}",
                str(low.get()),
                origin=scaler.origin,
                fixes=put(high.path, low.get()),
            )


@rule(
    "SCALE-006",
    Severity.ERROR,
    demand="A service at zero replicas is woken by a metric that exists at zero.",
    reason="With no pod nothing exports the engine's metrics, so the query stays empty and the service stays at zero.",
    source="keda.sh documentation, 'Prometheus' scaler; vLLM serves its metrics from the engine's own pod",
    remedy="Keep one replica, or add a trigger that exists at zero.",
    links=_KEDA,
    of="bundle",
)
def wakes_from_zero(bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    for scaler in bundle.autoscalers:
        least = scaler.min_replicas.default(0)
        if scaler.origin.kind != "ScaledObject" or not least.known or least.get() > 0:
            continue
        queries = [name for source, name, _ in scaler.metrics if source.lower() == "prometheus"]
        only = queries and len(queries) == len(scaler.metrics) and all(query.known and _own_series_only(query.get()) for query in queries)
        if only and target_of(scaler, bundle):
            text = "at zero replicas nothing exports these metrics, so nothing wakes the service"
            remedy = "set minReplicaCount to 1, or add a trigger that exists at zero (gateway queue, HTTP add-on, cron)"
            path = scaler.min_replicas.path or "spec.minReplicaCount"
            yield Hit(path, text, remedy, "0", origin=scaler.origin, fixes=put(path, 1))


_AT_ZERO = ("vector(", "absent(", "envoy", "istio", "nginx", "gateway", "kube_", "http_requests", "inference_")


# An answer of 0 in place of none: it exists, but no activation threshold is below it.
_ZERO = re.compile(r"\bor\s+(on\s*\(\s*\)\s+)?vector\(\s*0\s*\)")


def _own_series_only(query: str) -> bool:
    told = _ZERO.sub("", query)
    return bool(engine_series(told)) and not any(word in told for word in _AT_ZERO)


@rule(
    "SCALE-007",
    Severity.WARNING,
    demand="An empty query result does not count as zero load.",
    reason="KEDA takes an empty result as no load and reports no error.",
    source="keda.sh documentation, 'Prometheus' scaler (ignoreNullValues); llm-d/llm-d#1981",
    remedy="Set ignoreNullValues to false, or alert on absent().",
    links=_KEDA,
    of="bundle",
)
def empty_results(bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    for scaler in bundle.autoscalers:
        prometheus = any(source.lower() == "prometheus" for source, _, _ in scaler.metrics)
        stated = scaler.options.get("ignoreNullValues", Fact())
        if prometheus and scaler.origin.kind in ("ScaledObject", "ScaledJob") and (stated.absent or stated.value == "true"):
            level = Severity.WARNING if stated.known else Severity.INFO
            text = "an empty query result counts as no load (ignoreNullValues is true by default): a renamed metric scales down"
            remedy = 'set ignoreNullValues: "false" on the trigger, or alert on an absent metric'
            fixes = put(stated.path, "false") if stated.known else ()
            yield Hit(stated.path or "spec.triggers", text, remedy, "true", severity=level, origin=scaler.origin, fixes=fixes)


@rule(
    "SCALE-009",
    Severity.INFO,
    demand="Custom metrics reach the autoscaler by a way that is maintained.",
    reason="prometheus-adapter is being deprecated.",
    source="kubernetes-sigs/prometheus-adapter README",
    remedy="Use a KEDA ScaledObject.",
    links=_KEDA,
    of="bundle",
)
def adapter(bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    for scaler in bundle.autoscalers:
        for source, name, path in scaler.metrics:
            if scaler.origin.kind == "HorizontalPodAutoscaler" and source.lower() in ("pods", "object") and target_of(scaler, bundle):
                text = "the HPA reads this metric through prometheus-adapter, which is being deprecated"
                yield Hit(
                    path or name.path,
                    text,
                    "use a KEDA ScaledObject with a prometheus trigger",
                    str(name.value or ""),
                    origin=scaler.origin,
                )
