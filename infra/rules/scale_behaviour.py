"""How an autoscaler follows its metric: when it lets go, and whether the number it reads is the number that was meant."""

import re
from collections.abc import Iterable
from functools import partial

from interlock.infra.facts import Bundle, Fact
from interlock.infra.rules.findings import Severity
from interlock.infra.rules.reading.load import likely_start_seconds
from interlock.infra.rules.reading.scalers import target_of
from interlock.infra.rules.reading.units import number, together, units_of
from interlock.infra.rules.rule import Hit, Settings, put, rule
from interlock.infra.values import plural, seconds

_KEDA = ("https://keda.sh/docs/latest/reference/scaledobject-spec/",)
_HPA = ("https://kubernetes.io/docs/tasks/run-application/horizontal-pod-autoscale/",)


@rule(
    "SCALE-013",
    Severity.WARNING,
    demand="An engine is not stopped at the first quiet moment.",
    reason="It takes minutes to load again, and every request of that time waits or fails.",
    source="keda.sh documentation, 'ScaledObject specification' (cooldownPeriod); Kubernetes documentation, HPA (stabilization, 300 s)",
    remedy="Wait longer than a start takes before scaling down.",
    fault="scale-flapping",
    links=_KEDA,
    settings={"least_window_seconds": 60},
    of="bundle",
)
def flapping(bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    for scaler in bundle.autoscalers:
        workload = target_of(scaler, bundle)
        if workload is None:
            continue
        start = likely_start_seconds(workload)
        cooldown = scaler.options.get("cooldownPeriod", Fact()).map(seconds)
        to_zero = scaler.origin.kind == "ScaledObject" and scaler.min_replicas.default(0).value == 0
        if to_zero and cooldown.known and cooldown.get() < start:
            text = f"{cooldown.get():g} s without load stop the last replica, and the next request waits about {start:.0f} s for a new one"
            remedy = f"set cooldownPeriod to 300 or more (a start takes about {start:.0f} s), or minReplicaCount to 1"
            yield Hit(
                cooldown.path, text, remedy, f"{cooldown.get():g}", origin=scaler.origin, fixes=put(cooldown.path, max(300, round(start)))
            )
        window = scaler.options.get("stabilizationWindowSeconds", Fact()).map(seconds)
        if window.known and window.get() < float(settings["least_window_seconds"]):
            text = f"{window.get():g} s of stabilization: one quiet sample stops an engine that takes about {start:.0f} s to come back"
            remedy = "set stabilizationWindowSeconds to 300 (the default), or leave it out"
            yield Hit(window.path, text, remedy, f"{window.get():g}", origin=scaler.origin, fixes=put(window.path, 300))


# An aggregation over the pods whose result does not grow with their number.
_OF_ONE_POD = re.compile(r"\s*(avg|max|min|quantile)\s*(?:\((?!.*\)\s*by\b)|by\s*\(\s*\))", re.IGNORECASE)


@rule(
    "SCALE-014",
    Severity.WARNING,
    demand="A metric that is one pod's already is not divided by the pods again.",
    reason="With AverageValue (KEDA's default) the autoscaler divides the result by the replicas: the more run, the less load it sees.",
    source="keda.sh documentation, 'ScaledObject specification' (metricType); Kubernetes documentation, HPA (algorithm details)",
    remedy="Ask for the sum, or set metricType: Value.",
    fault="metric-divided-twice",
    links=_KEDA,
    of="bundle",
)
def divided_twice(bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    for scaler in bundle.autoscalers:
        if scaler.origin.kind != "ScaledObject" or target_of(scaler, bundle) is None:
            continue
        for source, query, path in scaler.metrics:
            kind = scaler.types.get(path, Fact()).default("AverageValue")
            found = _OF_ONE_POD.match(query.get()) if query.known and source == "prometheus" else None
            if found and kind.value == "AverageValue":
                text = f"{found[1]}(...) is one pod's number, and metricType AverageValue divides it by the replicas again"
                remedy = "ask for sum(...), or set metricType: Value on the trigger"
                place = kind.path or f"{path.removesuffix('.metadata.query')}.metricType"
                yield Hit(path, text, remedy, query.get()[:80], origin=scaler.origin, fixes=put(place, "Value"))


@rule(
    "SCALE-015",
    Severity.ERROR,
    demand="A custom metric of an autoscaler is one that the metrics adapter exports.",
    reason="The metrics API answers NotFound, so the autoscaler never scales; only its events say so.",
    source="kubernetes-sigs/prometheus-adapter docs/config.md (naming); Kubernetes documentation, HPA (custom metrics)",
    remedy="Use the name that a rule of the adapter exports.",
    fault="metric-not-exported",
    links=_HPA,
    of="bundle",
)
def exported(bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    rules = [query for query in bundle.queries if query.use == "adapter"]
    if not rules or any(not each.exports.known for each in rules):
        return
    names = sorted({each.exports.get() for each in rules})
    for scaler in bundle.autoscalers:
        for source, name, path in scaler.metrics:
            custom = scaler.origin.kind == "HorizontalPodAutoscaler" and source in ("Pods", "Object")
            if custom and name.known and name.get() not in names and target_of(scaler, bundle):
                text = f"the adapter of these documents exports {', '.join(names[:5])}, and no {name.get()}"
                remedy = f"use {names[0]}" if len(names) == 1 else "use one of these names, or add a rule to the adapter"
                fixes = put(path, names[0]) if len(names) == 1 else ()
                yield Hit(path or name.path, text, remedy, name.get(), origin=scaler.origin, fixes=fixes)


@rule(
    "SCALE-016",
    Severity.WARNING,
    demand="A fallback beside scalingModifiers has a whole target.",
    reason="KEDA reads the target as an integer above 0; any other is accepted, and the fallback is ignored with a line in its log.",
    source="kedacore/keda pkg/fallback/fallback.go HasValidFallback (2.20.2)",
    remedy="Write a whole number.",
    fault="fallback-void",
    links=_KEDA,
    of="bundle",
)
def void_fallback(bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    for scaler in bundle.autoscalers:
        target = scaler.options.get("fallbackTarget", Fact())
        if target.known and not re.fullmatch(r"[1-9]\d*", target.get().strip()) and target_of(scaler, bundle):
            text = f"the target {target.get()} is not a whole number above 0, so the fallback is ignored when the metric is lost"
            yield Hit(target.path, text, "choose a whole number, and scale the formula with it", target.get(), origin=scaler.origin)


@rule(
    "SCALE-017",
    Severity.WARNING,
    demand="A namespace's quota covers the most replicas that its autoscaler may ask for.",
    reason="The replicas beyond it are not admitted: the scaler asks for more, and nothing comes, just when the load is highest.",
    source="Kubernetes documentation, 'Resource Quotas'",
    remedy="Raise the quota, or lower the maximum.",
    fault="quota-below-maximum",
    links=("https://kubernetes.io/docs/concepts/policy/resource-quotas/",),
    of="bundle",
)
def quota_of_the_most(bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    for scaler in bundle.autoscalers if bundle.quotas else ():
        workload, most = target_of(scaler, bundle), scaler.max_replicas
        if workload is None or not most.known or len(workload.pods) != 1:
            continue
        for limit in bundle.quotas:
            near = limit.origin.namespace and limit.origin.namespace == workload.origin.namespace
            for name, fact in limit.hard.items() if near else ():
                resource, allowed = name.removeprefix("requests.").removeprefix("limits."), fact.map(number)
                each = together(workload.pods[0], partial(units_of, resource=resource))
                if allowed.known and each and most.get() * each > allowed.get() >= each:
                    fit = int(allowed.get() // each)
                    text = f"up to {plural(most.get(), 'replica')} with {each:g} {resource} each, and the namespace may use "
                    text += f"{allowed.get():g}: the scaler stops at {fit}"
                    raised, least = f"raise the quota to {most.get() * each:g}", scaler.min_replicas.default(1)
                    # A maximum below the minimum would be refused.
                    lowers = least.known and least.get() <= fit
                    remedy, fixes = (f"set the maximum to {fit}, or {raised}", put(most.path, fit)) if lowers else (raised, ())
                    yield Hit(most.path, text, remedy, str(most.get()), origin=scaler.origin, fixes=fixes)
