"""What KServe's webhook refuses of an InferenceService is told; what it accepts is not."""

from typing import Any

import pytest

from tests.unit.test_rules_traps import Manifest, found, inference_service

KEDA = {"serving.kserve.io/deploymentMode": "Standard", "serving.kserve.io/autoscalerClass": "keda"}
HPA = KEDA | {"serving.kserve.io/autoscalerClass": "hpa"}
KNATIVE = {"serving.kserve.io/deploymentMode": "Knative"}
NONE = {"serving.kserve.io/autoscalerClass": "none"}
QUERY = {"metric": {"query": "sum(vllm:num_requests_waiting)"}, "target": {"type": "Value", "value": "4"}}


def service(notes: dict[str, str] | None = None, name: str = "chat", model: dict[str, Any] | None = None, **predictor: Any) -> Manifest:
    made = inference_service(**predictor)
    made["metadata"] = {"name": name, "annotations": notes or {}}
    made["spec"]["predictor"]["model"] |= model or {}
    return made


def scaled(*metrics: dict[str, Any]) -> dict[str, Any]:
    return {"autoScaling": {"metrics": list(metrics)}}


WORKERS: dict[str, Any] = {"workerSpec": {"pipelineParallelSize": 2}}
CLAIM: dict[str, Any] = {"storageUri": "pvc://models/qwen"}


@pytest.mark.parametrize(
    ("fault", "document"),
    [
        ("kserve-name", service(name="1chat")),
        ("kserve-autoscaler-class", service({"serving.kserve.io/autoscalerClass": "kpa"})),
        ("kserve-several-worker-containers", service(NONE, model=CLAIM, workerSpec={"containers": [{"name": "a"}, {"name": "b"}]})),
        (
            "kserve-worker-sizes-in-variables",
            service(NONE, model={**CLAIM, "env": [{"name": "TENSOR_PARALLEL_SIZE", "value": "2"}]}, **WORKERS),
        ),
        ("kserve-workers-without-storage", service(NONE, **WORKERS)),
        ("kserve-workers-storage", service(NONE, model={"storageUri": "hf://Qwen/Qwen3-8B"}, **WORKERS)),
        ("kserve-workers-scaled", service(model=CLAIM, **WORKERS)),
        ("kserve-worker-sizes", service(NONE, model=CLAIM, workerSpec={"pipelineParallelSize": 0})),
        ("kserve-concurrency", service(containerConcurrency=-1)),
        ("kserve-replicas-below-zero", service(minReplicas=-1)),
        ("kserve-replicas", service(minReplicas=3, maxReplicas=2)),
        ("kserve-two-storages", service(model=CLAIM, storageUris=[{"uri": "s3://a/b", "mountPath": "/mnt/models"}])),
        ("kserve-storage-empty", service(storageUris=[{"uri": "", "mountPath": "/mnt/models"}])),
        ("kserve-storage-folder", service(storageUris=[{"uri": "s3://a/b", "mountPath": "/mnt/../etc"}])),
        ("kserve-rate-target", service(KNATIVE, scaleMetric="rps", scaleTarget=0)),
        ("kserve-hpa-metric", service(HPA, scaleMetric="concurrency")),
        ("kserve-hpa-target", service(HPA, scaleTarget=120)),
        ("kserve-hpa-source", service(HPA, **scaled({"type": "External", "external": QUERY}))),
        ("kserve-keda-metric", service(KEDA, scaleMetric="cpu")),
        ("kserve-metric-without-part", service(KEDA, **scaled({"type": "External"}))),
        ("kserve-keda-type", service(KEDA, **scaled({"type": "Pods"}))),
        ("kserve-keda-query", service(KEDA, **scaled({"type": "External", "external": {**QUERY, "metric": {"backend": "prometheus"}}}))),
        ("kserve-keda-threshold", service(KEDA, **scaled({"type": "External", "external": {**QUERY, "target": {"type": "Value"}}}))),
        (
            "kserve-keda-processor",
            service(KEDA, **scaled({"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Value", "value": "1"}}})),
        ),
        (
            "kserve-keda-memory",
            service(KEDA, **scaled({"type": "Resource", "resource": {"name": "memory", "target": {"type": "Value", "value": "1"}}})),
        ),
        ("kserve-keda-resource", service(KEDA, **scaled({"type": "Resource", "resource": {"name": "nvidia.com/gpu"}}))),
        ("kserve-keda-target", service(KEDA, **scaled({"type": "External", "external": {**QUERY, "target": {"type": "AverageValue"}}}))),
        (
            "kserve-keda-share",
            service(
                KEDA,
                **scaled({"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 0}}}),
            ),
        ),
    ],
)
def test_what_the_webhook_refuses_is_told(fault: str, document: Manifest) -> None:
    assert fault in {each.fault for each in found(document) if each.code == "DOC-002"}


@pytest.mark.parametrize(
    "document",
    [
        service(),
        service(minReplicas=3, maxReplicas=0),
        service(minReplicas=0, maxReplicas=4, containerConcurrency=0, scaleMetric="concurrency", scaleTarget=120),
        service(NONE, model=CLAIM, **WORKERS),
        service(NONE, model={"storageUri": "oci://registry.example.com/model:1"}, workerSpec={"tensorParallelSize": 1}),
        service(KEDA, minReplicas=1, maxReplicas=4, **scaled({"type": "External", "external": QUERY})),
        service(HPA, scaleMetric="cpu", scaleTarget=80),
        service(model={"storageUri": "s3://a/b", "storage": {"key": "a", "parameters": {"type": "s3"}}}),
        service(model={"storageUri": "gs://a/b", "storage": {"key": "a"}}),
        service(model={"storage": {"parameters": {"type": "gs"}}}),
        service(KEDA | NONE, scaleMetric="rps", scaleTarget=0),
        service(storageUris=[{"uri": "s3://a/b", "mountPath": "/mnt/models/a"}]),
        service({"serving.kserve.io/autoscalerClass": "{{ .class }}"}, name="{{ .name }}"),
    ],
)
def test_what_the_webhook_accepts_is_let_be(document: Manifest) -> None:
    assert [each.text() for each in found(document) if each.fault.startswith("kserve-")] == []


def test_the_old_name_of_a_plain_deployment_is_warned_of_since_one_release_reads_only_the_new_one() -> None:
    old = HPA | {"serving.kserve.io/deploymentMode": "RawDeployment"}
    levels = [{each.severity.value for each in found(service(notes, scaleTarget=120)) if each.code == "DOC-002"} for notes in (old, HPA)]
    assert levels == [{"warning"}, {"error"}]
