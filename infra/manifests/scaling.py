"""Autoscalers: KEDA ScaledObject by default, HorizontalPodAutoscaler with a metrics adapter supported."""

from typing import Any

from interlock.infra.config.monitoring import PrometheusAuth, PrometheusConfig
from interlock.infra.config.scaling import AutoscaleConfig, ScalerKind
from interlock.infra.manifests.common import Manifest, server_manifest
from interlock.infra.manifests.monitoring import adapter_rules
from interlock.infra.manifests.placed import put
from interlock.infra.naming import joined
from interlock.infra.plan.scaling import PlannedScaling, PlannedSignal, Target
from interlock.infra.plan.types import ClusterPlan, PlannedServer

PAUSED = "autoscaling.keda.sh/paused"
FAILURES = 3
"""Queries without an answer after which the fallback holds."""
_WAKES_ONLY = "1000000"
"""Threshold of what starts the first replica: however large the value, it asks for no second one."""
_SECRET_KEYS: dict[PrometheusAuth, dict[str, str]] = {
    PrometheusAuth.BEARER: {"bearerToken": "token"},
    PrometheusAuth.BASIC: {"username": "username", "password": "password"},
    PrometheusAuth.TLS: {"cert": "tls.crt", "key": "tls.key"},
}
"""Parameter of KEDA's scaler to key of the Secret (pkg/scalers/authentication of 2.20)."""


def scaler_objects(plan: ClusterPlan, server: PlannedServer, scale: AutoscaleConfig, planned: PlannedScaling) -> list[Manifest]:
    """The autoscaler of one server, with what it needs to ask."""
    if scale.kind is ScalerKind.HPA:
        return [*adapter_rules(plan, server), pod_autoscaler(plan, server, scale, planned)]
    return [*trigger_authentication(plan, server, planned.prometheus), scaled_object(plan, server, scale, planned)]


def behavior(scale: AutoscaleConfig, planned: PlannedScaling) -> dict[str, Any]:
    """Up at once, at most double in a start-up time (new replicas help no sooner); down one at a time after a quiet spell."""
    period, still = put(planned.period, "autoscale", "scale_up"), {"selectPolicy": put("Disabled", "autoscale.paused")}
    up = [{"type": "Percent", "value": 100, "periodSeconds": period}, {"type": "Pods", "value": 2, "periodSeconds": period}]
    quiet = put(planned.quiet, "autoscale.scale_down_seconds", "scale_down")
    halted = still if scale.paused and scale.kind is ScalerKind.HPA else {}
    return {
        "scaleUp": {"stabilizationWindowSeconds": 0, "selectPolicy": "Max", "policies": up, **halted},
        "scaleDown": {
            "stabilizationWindowSeconds": quiet,
            "policies": [{"type": "Pods", "value": 1, "periodSeconds": 60}],
            **halted,
        },
    }


def target(server: PlannedServer) -> dict[str, object]:
    """What is scaled: whole replicas, also where one is a group of pods."""
    version, kind = server.workload
    return {"apiVersion": version, "kind": kind, "name": put(server.name, "name")}


def scaled_object(plan: ClusterPlan, server: PlannedServer, scale: AutoscaleConfig, planned: PlannedScaling) -> Manifest:
    """A ScaledObject that asks Prometheus; without an answer the replicas stay, or become the fallback's."""
    fewest = put(scale.min_replicas, "autoscale.min_replicas")
    rest = scale.fallback_replicas or max(scale.min_replicas, 1)
    spec = {
        "scaleTargetRef": target(server),
        "minReplicaCount": fewest,
        "maxReplicaCount": put(scale.max_replicas, "autoscale.max_replicas"),
        **({} if scale.min_replicas else {"cooldownPeriod": put(planned.quiet, "autoscale.scale_down_seconds", "scale_down")}),
        "fallback": {
            "failureThreshold": FAILURES,
            "replicas": put(rest, "autoscale.fallback_replicas" if scale.fallback_replicas else "autoscale.min_replicas"),
            "behavior": "currentReplicasIfHigher",
        },
        "advanced": {"horizontalPodAutoscalerConfig": {"behavior": behavior(scale, planned)}},
        "triggers": [*(_trigger(server, each, planned) for each in planned.signals), *_wakes(server, scale, planned), *_hours(scale)],
    }
    made = server_manifest(plan, server, "keda.sh/v1alpha1", "ScaledObject", spec=spec)
    if scale.paused:
        made["metadata"]["annotations"] = {PAUSED: put("true", "autoscale.paused")}
    return made


def _trigger(server: PlannedServer, signal: PlannedSignal, planned: PlannedScaling) -> dict[str, Any]:
    return {
        "type": "prometheus",
        "name": signal.signal.value.replace("_", "-"),
        "metricType": signal.kind.value,
        "metadata": {
            **_asked(planned.prometheus, put(signal.query, "served_name", "query")),
            "threshold": put(f"{signal.target:g}", signal.source, signal.why),
        },
        **_known_by(server, planned.prometheus),
    }


def _asked(prometheus: PrometheusConfig, query: Any) -> dict[str, Any]:
    """Where and what a trigger asks; an empty answer is an error and never no load."""
    asked = {"serverAddress": put(prometheus.url, "monitoring.prometheus.url"), "query": query, "ignoreNullValues": "false"}
    if prometheus.auth:
        asked["authModes"] = put(prometheus.auth.value, "monitoring.prometheus.auth")
    if prometheus.headers:
        stated = ",".join(f"{name}={value}" for name, value in prometheus.headers.items())
        asked["customHeaders"] = put(stated, "monitoring.prometheus.headers")
    return asked


def _known_by(server: PlannedServer, prometheus: PrometheusConfig) -> dict[str, Any]:
    return {"authenticationRef": {"name": _authentication(server)}} if prometheus.auth else {}


def _authentication(server: PlannedServer) -> str:
    return joined(server.name, "prometheus")


def trigger_authentication(plan: ClusterPlan, server: PlannedServer, prometheus: PrometheusConfig) -> list[Manifest]:
    """Which keys of existing Secrets the scaler shows to Prometheus; none where that asks for nothing."""
    if prometheus.auth is None or prometheus.secret is None:
        return []
    secret = put(prometheus.secret, "monitoring.prometheus.secret")
    shown = [{"parameter": name, "name": secret, "key": key} for name, key in _SECRET_KEYS[prometheus.auth].items()]
    if prometheus.ca_secret:
        shown.append({"parameter": "ca", "name": put(prometheus.ca_secret, "monitoring.prometheus.ca_secret"), "key": "ca.crt"})
    made = server_manifest(plan, server, "keda.sh/v1alpha1", "TriggerAuthentication", spec={"secretTargetRef": shown})
    made["metadata"]["name"] = put(_authentication(server), "name")
    return [made]


def _wakes(server: PlannedServer, scale: AutoscaleConfig, planned: PlannedScaling) -> list[dict[str, Any]]:
    if scale.wake is None:
        return []
    metadata = {
        **_asked(planned.prometheus, put(scale.wake.query, "autoscale.wake.query")),
        "threshold": _WAKES_ONLY,
        "activationThreshold": put(f"{scale.wake.above:g}", "autoscale.wake.above"),
    }
    return [
        {
            "type": "prometheus",
            "name": "wake",
            "metricType": Target.EACH.value,
            "metadata": metadata,
            **_known_by(server, planned.prometheus),
        }
    ]


def _hours(scale: AutoscaleConfig) -> list[dict[str, Any]]:
    return [
        {
            "type": "cron",
            "name": f"schedule-{at}",
            "metadata": {
                "timezone": put(each.timezone, f"autoscale.schedule[{at}].timezone"),
                "start": put(each.start, f"autoscale.schedule[{at}].start"),
                "end": put(each.end, f"autoscale.schedule[{at}].end"),
                "desiredReplicas": put(str(each.replicas), f"autoscale.schedule[{at}].replicas"),
            },
        }
        for at, each in enumerate(scale.schedule)
    ]


def pod_autoscaler(plan: ClusterPlan, server: PlannedServer, scale: AutoscaleConfig, planned: PlannedScaling) -> Manifest:
    """An autoscaling/v2 HorizontalPodAutoscaler on Pods metrics, which an adapter makes of the engines' series."""
    spec = {
        "scaleTargetRef": target(server),
        "minReplicas": put(scale.min_replicas, "autoscale.min_replicas"),
        "maxReplicas": put(scale.max_replicas, "autoscale.max_replicas"),
        "metrics": [_pods_metric(scale, each) for each in planned.signals],
        "behavior": behavior(scale, planned),
    }
    return server_manifest(plan, server, "autoscaling/v2", "HorizontalPodAutoscaler", spec=spec)


def _pods_metric(scale: AutoscaleConfig, signal: PlannedSignal) -> dict[str, Any]:
    # A quantity of the API has no exponent; thousandths are exact for what is stated with up to three places.
    value = f"{signal.target:.0f}" if float(signal.target).is_integer() else f"{round(signal.target * 1000)}m"
    name = put(signal.metric, "autoscale.metric") if scale.metric else put(signal.metric, "autoscale.kind", "query")
    average = put(value, signal.source, signal.why)
    return {"type": "Pods", "pods": {"metric": {"name": name}, "target": {"type": "AverageValue", "averageValue": average}}}
