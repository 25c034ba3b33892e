"""Autoscalers on queue depth: KEDA ScaledObject by default, HorizontalPodAutoscaler with a metrics adapter supported."""

from interlock.infra.config.scaling import AutoscaleConfig, ScalerKind
from interlock.infra.manifests.common import Manifest, labels, manifest
from interlock.infra.plan.types import ClusterPlan, PlannedServer


def scaler_objects(plan: ClusterPlan, server: PlannedServer, scale: AutoscaleConfig) -> list[Manifest]:
    """The autoscaler of one server."""
    return [scaled_object(plan, server, scale) if scale.kind is ScalerKind.KEDA else pod_autoscaler(plan, server, scale)]


def behavior(server: PlannedServer, scale: AutoscaleConfig) -> dict[str, object]:
    """Up at once, one replica per start-up time; down one at a time after a quiet spell."""
    period = min(1800, max(60, int(server.times.load)))  # the API server refuses periods above 1800 s
    return {
        "scaleUp": {"stabilizationWindowSeconds": 0, "policies": [{"type": "Pods", "value": 1, "periodSeconds": period}]},
        "scaleDown": {
            "stabilizationWindowSeconds": min(3600, scale.scale_down_seconds),
            "policies": [{"type": "Pods", "value": 1, "periodSeconds": 60}],
        },
    }


def scaled_object(plan: ClusterPlan, server: PlannedServer, scale: AutoscaleConfig) -> Manifest:
    """A ScaledObject that reads the queue from Prometheus; with no sample the replicas stay as they are."""
    query = f'sum(vllm:num_requests_waiting{{namespace="{server.namespace}",model_name="{server.args.served_model_name}"}})'
    trigger = {
        "type": "prometheus",
        "metricType": "AverageValue",
        "metadata": {
            "serverAddress": scale.prometheus,
            "query": query,
            "threshold": str(scale.waiting_per_replica),
            "ignoreNullValues": "false",
        },
    }
    spec = {
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": server.name},
        "minReplicaCount": scale.min_replicas,
        "maxReplicaCount": scale.max_replicas,
        "fallback": {"failureThreshold": 3, "replicas": scale.min_replicas, "behavior": "currentReplicasIfHigher"},
        "advanced": {"horizontalPodAutoscalerConfig": {"behavior": behavior(server, scale)}},
        "triggers": [trigger],
    }
    return manifest("keda.sh/v1alpha1", "ScaledObject", server.name, server.namespace, labels(plan.stack, server.name), spec=spec)


def pod_autoscaler(plan: ClusterPlan, server: PlannedServer, scale: AutoscaleConfig) -> Manifest:
    """An autoscaling/v2 HorizontalPodAutoscaler on a Pods metric."""
    metric = {
        "type": "Pods",
        "pods": {
            "metric": {"name": scale.metric},
            "target": {"type": "AverageValue", "averageValue": str(scale.waiting_per_replica)},
        },
    }
    spec = {
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": server.name},
        "minReplicas": scale.min_replicas,
        "maxReplicas": scale.max_replicas,
        "metrics": [metric],
        "behavior": behavior(server, scale),
    }
    return manifest("autoscaling/v2", "HorizontalPodAutoscaler", server.name, server.namespace, labels(plan.stack, server.name), spec=spec)
