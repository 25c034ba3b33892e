"""What tells Prometheus of a server's pods, and an adapter of the series that autoscalers read."""

import json
from collections.abc import Mapping
from typing import Any

from interlock.infra.config.monitoring import ScrapeKind
from interlock.infra.config.scaling import ScalerKind
from interlock.infra.manifests.common import MANAGED_BY, Manifest, manifest, selector, server_manifest
from interlock.infra.manifests.placed import put
from interlock.infra.naming import joined, label
from interlock.infra.plan.types import ClusterPlan, PlannedServer

METRICS = "/metrics"
COPIED = (label("stack"), label("server"), label("pool"))
"""Labels of the pods that their series carry too (``interlock_dev_server``): queries find a server by them."""


def scrape_objects(plan: ClusterPlan, server: PlannedServer, chosen: Mapping[str, Any]) -> list[Manifest]:
    """The monitor of a server; none where annotations or somebody else's configuration do. ``chosen``: what singles out the pods that
    take requests: only they answer /metrics."""
    made = {ScrapeKind.POD_MONITOR: pod_monitor, ScrapeKind.SERVICE_MONITOR: service_monitor}.get(server.scrape.kind)
    return [made(plan, server, chosen)] if made else []


def pod_monitor(plan: ClusterPlan, server: PlannedServer, chosen: Mapping[str, Any]) -> Manifest:
    """A PodMonitor: it finds the pods of replicas on several nodes too, which no Service lists one by one."""
    pods = {"matchLabels": {**selector(plan.stack, server.name), **chosen}}
    return _monitor(plan, server, "PodMonitor", {"selector": pods, "podMetricsEndpoints": [_endpoint(server)]})


def service_monitor(plan: ClusterPlan, server: PlannedServer, chosen: Mapping[str, Any]) -> Manifest:
    """A ServiceMonitor, which finds the pods by the server's Service."""
    del chosen  # the Service's own business
    services = {"matchLabels": selector(plan.stack, server.name)}
    return _monitor(plan, server, "ServiceMonitor", {"selector": services, "endpoints": [_endpoint(server)]})


def _endpoint(server: PlannedServer) -> dict[str, Any]:
    return {"port": "http", "path": METRICS, "interval": put(f"{server.scrape.interval}s", "monitoring.interval_seconds")}


def _monitor(plan: ClusterPlan, server: PlannedServer, kind: str, spec: dict[str, Any]) -> Manifest:
    made = server_manifest(plan, server, "monitoring.coreos.com/v1", kind, spec={**spec, "podTargetLabels": list(COPIED)})
    made["metadata"]["labels"] |= {key: put(value, "monitoring.labels") for key, value in server.scrape.labels.items()}
    return made


def scrape_annotations(server: PlannedServer) -> dict[str, Any]:
    """What the usual scrape configuration of Kubernetes pods looks for; empty for other ways."""
    if server.scrape.kind is not ScrapeKind.ANNOTATIONS:
        return {}
    stated = {"scrape": "true", "port": str(server.args.port), "path": METRICS}
    return {f"prometheus.io/{key}": put(value, "monitoring.scrape") for key, value in stated.items()}


def adapter_rules(plan: ClusterPlan, server: PlannedServer) -> list[Manifest]:
    """The rules by which prometheus-adapter exports what the plan's HorizontalPodAutoscalers read, beside the first of them.

    It reads one configuration for all, which the release's own values name (``rules.existing``), so that the rules are not of one server.
    """
    scaled = [each for each in plan.servers if _by_adapter(each)]
    if not scaled or scaled[0].name != server.name:
        return []
    series = dict.fromkeys((each.series, each.metric) for of in scaled for each in (of.scaling.signals if of.scaling else ()))
    text = json.dumps({"rules": [rule(*each) for each in series]}, indent=2) + "\n"
    names = {"app.kubernetes.io/managed-by": MANAGED_BY, label("stack"): plan.stack}
    made = manifest("v1", "ConfigMap", put(joined(server.name, "adapter-rules"), "name"), None, names)
    made["metadata"]["namespace"] = put(server.namespace, "namespace")
    return [{**made, "data": {"config.yaml": put(text, "autoscale", "query")}}]


def _by_adapter(server: PlannedServer) -> bool:
    scale = server.config.autoscale
    return bool(scale and scale.kind is ScalerKind.HPA and not scale.metric)


def rule(series: str, metric: str) -> dict[str, Any]:
    """One rule of prometheus-adapter (docs/config.md): the series of each pod under the name that an autoscaler asks for.

    An engine with several ranks has a series for each, so a pod's are added; shares of a cache are averaged.
    """
    together = "avg" if series.endswith("_perc") else "sum"
    owners = {name: {"resource": name} for name in ("namespace", "pod")}
    return {
        "seriesQuery": f'{series}{{namespace!="",pod!=""}}',
        "resources": {"overrides": owners},
        "name": {"as": metric},
        "metricsQuery": f"{together}(<<.Series>>{{<<.LabelMatchers>>}}) by (<<.GroupBy>>)",
    }
