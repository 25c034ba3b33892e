"""Autoscalers on queue depth: KEDA ScaledObject by default, HorizontalPodAutoscaler with a metrics adapter supported."""

from interlock.infra.config.scaling import AutoscaleConfig, ScalerKind
from interlock.infra.manifests.common import Manifest, server_manifest
from interlock.infra.manifests.placed import put
from interlock.infra.plan.types import ClusterPlan, PlannedServer


def scaler_objects(plan: ClusterPlan, server: PlannedServer, scale: AutoscaleConfig) -> list[Manifest]:
    """The autoscaler of one server."""
    return [scaled_object(plan, server, scale) if scale.kind is ScalerKind.KEDA else pod_autoscaler(plan, server, scale)]


def behavior(server: PlannedServer, scale: AutoscaleConfig) -> dict[str, object]:
    """Up at once, one replica per start-up time; down one at a time after a quiet spell."""
    # The API server refuses periods above 1800 s.
    period = put(min(1800, max(60, int(server.times.scale_up))), "autoscale", "scale_up")
    return {
        "scaleUp": {
            "stabilizationWindowSeconds": 0,
            "policies": [{"type": "Pods", "value": 1, "periodSeconds": period}],
        },
        "scaleDown": {
            "stabilizationWindowSeconds": put(min(3600, scale.scale_down_seconds), "autoscale.scale_down_seconds"),
            "policies": [{"type": "Pods", "value": 1, "periodSeconds": 60}],
        },
    }


def target(server: PlannedServer) -> dict[str, object]:
    """What is scaled: whole replicas, also where one is a group of pods."""
    version, kind = server.workload
    return {"apiVersion": version, "kind": kind, "name": put(server.name, "name")}


def scaled_object(plan: ClusterPlan, server: PlannedServer, scale: AutoscaleConfig) -> Manifest:
    """A ScaledObject that reads the queue from Prometheus; with no sample the replicas stay as they are."""
    query = f'sum(vllm:num_requests_waiting{{namespace="{server.namespace}",model_name="{server.args.served_model_name}"}})'
    fewest = put(scale.min_replicas, "autoscale.min_replicas")
    trigger = {
        "type": "prometheus",
        "metricType": "AverageValue",
        "metadata": {
            "serverAddress": put(scale.prometheus, "autoscale.prometheus"),
            "query": put(query, "served_name", "query"),
            "threshold": put(str(scale.waiting_per_replica), "autoscale.waiting_per_replica"),
            "ignoreNullValues": "false",
        },
    }
    spec = {
        "scaleTargetRef": target(server),
        "minReplicaCount": fewest,
        "maxReplicaCount": put(scale.max_replicas, "autoscale.max_replicas"),
        "fallback": {
            "failureThreshold": 3,
            "replicas": fewest,
            "behavior": "currentReplicasIfHigher",
        },
        "advanced": {"horizontalPodAutoscalerConfig": {"behavior": behavior(server, scale)}},
        "triggers": [trigger],
    }
    return server_manifest(plan, server, "keda.sh/v1alpha1", "ScaledObject", spec=spec)


def pod_autoscaler(plan: ClusterPlan, server: PlannedServer, scale: AutoscaleConfig) -> Manifest:
    """An autoscaling/v2 HorizontalPodAutoscaler on a Pods metric."""
    metric = {
        "type": "Pods",
        "pods": {
            "metric": {"name": put(scale.metric, "autoscale.metric")},
            "target": {"type": "AverageValue", "averageValue": put(str(scale.waiting_per_replica), "autoscale.waiting_per_replica")},
        },
    }
    spec = {
        "scaleTargetRef": target(server),
        "minReplicas": put(scale.min_replicas, "autoscale.min_replicas"),
        "maxReplicas": put(scale.max_replicas, "autoscale.max_replicas"),
        "metrics": [metric],
        "behavior": behavior(server, scale),
    }
    return server_manifest(plan, server, "autoscaling/v2", "HorizontalPodAutoscaler", spec=spec)
