"""What scales and protects workloads: HorizontalPodAutoscaler, ScaledObject, PodDisruptionBudget."""

from collections.abc import Iterator

from interlock.infra.facts import Autoscaler, Budget, Fact, known
from interlock.infra.recognise.context import Context
from interlock.infra.recognise.document import Document, Node, origin

_OPTIONS = ("ignoreNullValues", "activationThreshold", "threshold", "serverAddress", "metricType", "timeout")
_SPEC_OPTIONS = ("pollingInterval", "cooldownPeriod", "idleReplicaCount", "initialCooldownPeriod")
_WINDOW = "stabilizationWindowSeconds"

Metric = tuple[str, Fact[str], str]


def read_hpa(root: Node, document: Document, context: Context) -> Iterator[Autoscaler]:
    """A HorizontalPodAutoscaler of any API version."""
    spec = root["spec"]
    metrics = [_hpa_metric(metric) for metric in spec["metrics"].items()]
    cpu = spec["targetCPUUtilizationPercentage"]
    if cpu:
        metrics.append(("Resource", known("cpu", cpu.path), cpu.path))
    yield Autoscaler(
        origin(root, document),
        spec.at("scaleTargetRef", "kind").text(),
        spec.at("scaleTargetRef", "name").text(),
        spec["minReplicas"].integer(),
        spec["maxReplicas"].integer(),
        tuple(metrics),
        _window(spec["behavior"]),
    )


def _window(behavior: Node) -> dict[str, Fact[str]]:
    """How long a scaler waits before it scales down, where that is stated."""
    stated = behavior["scaleDown"][_WINDOW]
    return {_WINDOW: stated.text()} if stated else {}


def _hpa_metric(node: Node) -> Metric:
    kind = node["type"].string()
    source = node[kind[:1].lower() + kind[1:]]
    name = source["metric"]["name"] if source["metric"] else source.first("name", "metricName")
    return kind, name.text(), name.path


def read_scaled_object(root: Node, document: Document, context: Context) -> Iterator[Autoscaler]:
    """A KEDA ScaledObject (or ScaledJob)."""
    spec = root["spec"]
    options: dict[str, Fact[str]] = {name: spec[name].text() for name in _SPEC_OPTIONS if spec[name]}
    options |= _window(spec.at("advanced", "horizontalPodAutoscalerConfig", "behavior"))
    modifiers = spec.at("advanced", "scalingModifiers")
    if spec["fallback"].mapping and modifiers["formula"]:
        options["fallbackTarget"] = modifiers["target"].text()
    metrics: list[Metric] = []
    types: dict[str, Fact[str]] = {}
    for trigger in spec["triggers"].items():
        metadata = trigger["metadata"]
        kind = trigger["type"].string()
        options |= {name: metadata[name].text() for name in _OPTIONS if metadata[name]}
        if kind in ("cpu", "memory"):
            metrics.append(("Resource", known(kind, trigger["type"].path), trigger["type"].path))
        else:
            query = metadata.first("query", "metricName", "url", "value")
            metrics.append((kind, query.text(raw="$" in query.string()), query.path))
            types[query.path] = trigger["metricType"].text()
    yield Autoscaler(
        origin(root, document),
        spec.at("scaleTargetRef", "kind").text().default("Deployment"),
        spec.at("scaleTargetRef", "name").text(),
        spec["minReplicaCount"].integer(),
        spec["maxReplicaCount"].integer(),
        tuple(metrics),
        options,
        types,
    )


def read_budget(root: Node, document: Document, context: Context) -> Iterator[Budget]:
    """A PodDisruptionBudget."""
    spec = root["spec"]
    yield Budget(
        origin(root, document), spec.at("selector", "matchLabels").texts(), spec["minAvailable"].text(), spec["maxUnavailable"].text()
    )
