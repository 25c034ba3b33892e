"""The objects around a case's workload: controller, claim, Service, routes, scalers, budget."""

import json
from collections.abc import Mapping
from typing import Any

from tools.cases.manifest import LABELS, Manifest, cached, pod, port, world
from tools.cases.values import duration, first, mapping, nothing, number
from tools.cases.watched import one_of

META = {"name": "engine", "namespace": "models", "labels": LABELS}
LENGTHS = ("time_to_header_s", "generation_seconds", "ttft_s", "longest_answer_s", "answer_seconds", "generation_s")


def pods_of(case: Mapping[str, Any]) -> int:
    """Pods of one replica: as stated, else one per node that the world needs."""
    k8s, gpu = mapping(case.get("k8s")), mapping(case.get("gpu"))
    stated = number(k8s.get("pods"))
    if stated and not number(k8s.get("time_slicing_replicas")):
        return int(stated)
    each, nodes = number(gpu.get("per_node")), number(gpu.get("nodes"))
    gpus = number(k8s.get("nvidia.com/gpu"))
    if each and nodes and nodes > 1 and world(case) > each and not gpus:
        return int(min(nodes, -(-world(case) // each)))
    return 1


def documents(case: Mapping[str, Any]) -> list[Manifest]:
    k8s = mapping(case.get("k8s"))
    found = [controller(case), *([claim(k8s)] if cached(k8s) else []), service(case)]
    found += routes(k8s) + scalers(k8s) + budgets(k8s) + watches(k8s)
    if one_of(k8s, "karpenter", "true"):
        gpu = {"key": "karpenter.k8s.aws/instance-gpu-count", "operator": "Exists"}
        spec = {"template": {"spec": {"requirements": [gpu]}}}
        found.append({"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": "gpu"}, "spec": spec})
    return found


def controller(case: Mapping[str, Any]) -> Manifest:
    k8s, pods = mapping(case.get("k8s")), pods_of(case)
    template = {"metadata": {"labels": LABELS}, "spec": pod(case, pods)}
    replicas = int(number(first(k8s, "replicas", "tenants_on_gpu")) or 1)
    if one_of(k8s, "operator", "lws", "leaderworkerset") or pods > 1:
        groups = {"size": pods, "leaderTemplate": template, "workerTemplate": template}
        spec: Manifest = {"replicas": replicas, "leaderWorkerTemplate": groups}
        return {"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet", "metadata": META, "spec": spec}
    spec = {"replicas": replicas, "selector": {"matchLabels": LABELS}, "template": template, "progressDeadlineSeconds": 7200}
    spec["strategy"] = strategy(k8s)
    kind = str(k8s.get("kind") or "Deployment")
    return {
        "apiVersion": "apps/v1",
        "kind": kind if kind in ("Deployment", "StatefulSet") else "Deployment",
        "metadata": META,
        "spec": spec,
    }


def strategy(k8s: Mapping[str, Any]) -> Manifest:
    stated = k8s.get("strategy")
    if "strategy" not in k8s:
        return {"type": "Recreate"}
    moves = mapping(stated)
    if moves:
        kind = moves.get("type") or "RollingUpdate"
        return {"type": kind, "rollingUpdate": {key: moves[key] for key in ("maxSurge", "maxUnavailable") if key in moves}}
    return {"type": "Recreate"} if str(stated).lower() == "recreate" else {}


def claim(k8s: Mapping[str, Any]) -> Manifest:
    stated = mapping(k8s.get("pvc"))
    mode = stated.get("accessMode") or stated.get("accessModes") or "ReadWriteMany"
    spec = {
        "accessModes": mode if isinstance(mode, list) else [mode],
        "resources": {"requests": {"storage": str(stated.get("size") or "4Ti")}},
    }
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "cache", "namespace": "models"}, "spec": spec}


def service(case: Mapping[str, Any]) -> Manifest:
    k8s = mapping(case.get("k8s"))
    name = str(k8s.get("service_name") or "engine")
    outside = int(number(k8s.get("port")) or port(case))
    spec: Manifest = {"selector": LABELS, "ports": [{"name": "http", "port": outside, "targetPort": "http"}]}
    beside = str(k8s.get("namespace") or "same")
    space = "models" if beside == "same" else beside
    if k8s.get("service_type"):
        spec["type"] = k8s["service_type"]
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name, "namespace": space, "labels": LABELS}, "spec": spec}


_CLASSES = {"nginx": "nginx.ingress.kubernetes.io/", "alb": "alb.ingress.kubernetes.io/"}
_LONG = {"nginx": {"proxy-read-timeout": "3600"}, "alb": {"load-balancer-attributes": "idle_timeout.timeout_seconds=3600"}}


def routes(k8s: Mapping[str, Any]) -> list[Manifest]:
    found = []
    name = str(k8s.get("service_name") or "engine")
    stated = k8s.get("ingress")
    if stated:
        kind = str(stated if isinstance(stated, str) else mapping(stated).get("class") or "nginx").split()[0].lower()
        prefix = _CLASSES.get(kind, "")
        given = dict(mapping(k8s.get("annotations"))) | dict(mapping(mapping(stated).get("annotations")))
        asked = any(key in k8s for key in LENGTHS) or any("timeout" in key or "attributes" in key for key in given) or not given
        notes = {key if "/" in key else prefix + key: str(value) for key, value in given.items() if not nothing(value)}
        if not asked:
            notes |= {prefix + key: value for key, value in _LONG.get(kind, {}).items()}
        backend = {"service": {"name": name, "port": {"name": "http"}}}
        rules = [{"http": {"paths": [{"path": "/v1", "pathType": "Prefix", "backend": backend}]}}]
        meta = {"name": "engine", "namespace": "models", "annotations": notes}
        found.append(
            {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": meta, "spec": {"ingressClassName": kind, "rules": rules}}
        )
    if "HTTPRoute" in k8s:
        limits = mapping(mapping(k8s["HTTPRoute"]).get("timeouts"))
        rule: Manifest = {"backendRefs": [{"name": name, "port": 8000}], **({"timeouts": dict(limits)} if limits else {})}
        gateway = str(k8s.get("gateway") or "gateway").lower()
        found.append({"kind": "Gateway", "metadata": {"name": "gateway", "namespace": "models"}, "spec": {"gatewayClassName": gateway}})
        meta = {"name": "engine", "namespace": "models"}
        spec = {"parentRefs": [{"name": "gateway"}], "rules": [rule]}
        found.append({"apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute", "metadata": meta, "spec": spec})
    return found


def scalers(k8s: Mapping[str, Any]) -> list[Manifest]:
    found = []
    target = {"kind": "Deployment" if k8s.get("kind") is None else str(k8s["kind"]), "name": "engine"}
    meta = {"name": "engine", "namespace": "models"}
    query = first(k8s, "keda_query", "query", "metric_query", "promql", "prometheus_query")
    if query or "KEDA" in str(k8s.get("scaler") or ""):
        data = {
            "serverAddress": "http://prometheus:9090",
            "query": str(query or "sum(vllm:num_requests_waiting)"),
            "threshold": "4",
            "ignoreNullValues": "false",
        }
        if "ignoreNullValues" in k8s:
            data["ignoreNullValues"] = "true" if "true" in str(k8s["ignoreNullValues"]).lower() else "false"
        spec: Manifest = {"scaleTargetRef": target, "triggers": [{"type": "prometheus", "metadata": data}]}
        spec["minReplicaCount"] = int(number(k8s.get("minReplicaCount")) if k8s.get("minReplicaCount") is not None else 1)  # type: ignore[arg-type]
        spec["maxReplicaCount"] = int(number(k8s.get("maxReplicaCount")) or 2)
        found.append({"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject", "metadata": meta, "spec": spec})
    hpa = k8s.get("hpa") or k8s.get("hpa_metric")
    if hpa:
        metric = str(mapping(hpa).get("metric") or (hpa if isinstance(hpa, str) else "cpu"))
        resource = metric in ("cpu", "memory")
        source = {"type": "Resource", "resource": {"name": metric}} if resource else {"type": "Pods", "pods": {"metric": {"name": metric}}}
        spec = {"scaleTargetRef": target, "maxReplicas": int(number(mapping(hpa).get("max")) or 2), "metrics": [source]}
        found.append({"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": meta, "spec": spec})
    return found


def watches(k8s: Mapping[str, Any]) -> list[Manifest]:
    """A dashboard of the series that a case says Prometheus holds."""
    series = k8s.get("series")
    if not series:
        return []
    panels = json.dumps({"title": "vllm", "panels": [{"targets": [{"expr": str(series)}]}]})
    meta = {"name": "dashboard", "namespace": "models"}
    return [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"engine.json": panels}}]


def budgets(k8s: Mapping[str, Any]) -> list[Manifest]:
    stated = mapping(k8s.get("pdb"))
    if not stated:
        return []
    limits = {key: stated[key] for key in ("minAvailable", "maxUnavailable") if key in stated}
    spec = {"selector": {"matchLabels": LABELS}, **limits}
    return [{"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "engine", "namespace": "models"}, "spec": spec}]


def lengths(k8s: Mapping[str, Any]) -> float | None:
    """The longest answer (or first byte) that the case speaks of, in seconds."""
    found = [each for name in LENGTHS if (each := duration(k8s.get(name))) is not None]
    return max(found) if found else None
