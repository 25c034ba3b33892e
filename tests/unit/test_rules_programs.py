"""Endpoint pickers and sidecars of llm-d's router: what their version no longer reads is told, and what it reads is let be."""

import json
from typing import Any

import pytest

from tests.unit.test_rules_traps import Manifest, found

CONFIG: dict[str, Any] = {
    "apiVersion": "llm-d.ai/v1alpha1",
    "kind": "EndpointPickerConfig",
    "featureGates": ["flowControl"],
    "plugins": [{"type": "queue-scorer"}, {"type": "max-score-picker", "name": "best"}],
    "schedulingProfiles": [{"name": "default", "plugins": [{"pluginRef": "queue-scorer", "weight": 2}, {"pluginRef": "best"}]}],
    "flowControl": {"priorityBands": [{"priority": 1, "maxRequests": 50}]},
}


def program(image: str, *args: str, name: str = "picker", init: bool = False) -> Manifest:
    key = "initContainers" if init else "containers"
    box = {"name": "router", "image": image, "args": list(args)}
    spec = {"containers": [{"name": "other", "image": "busybox:1.36"}], key: [box]} if init else {key: [box]}
    template = {"metadata": {"labels": {"app": name}}, "spec": spec}
    selector = {"matchLabels": {"app": name}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": "models"},
        "spec": {"selector": selector, "template": template},
    }


def picker(*args: str, tag: str = "v0.10.0", **changed: Any) -> Manifest:
    config = json.dumps({**CONFIG, **changed})
    return program(f"ghcr.io/llm-d/llm-d-router-endpoint-picker:{tag}", "--pool-name", "chat", "--config-text", config, *args)


def sidecar(*args: str, tag: str = "v0.10.0", image: str = "llm-d-router-disagg-sidecar") -> Manifest:
    return program(f"ghcr.io/llm-d/{image}:{tag}", "--port=8000", *args, init=True)


def objective(group: str, kind: str = "InferenceObjective", pool: str = "chat", namespace: str = "models") -> Manifest:
    spec = {"priority": 1, "poolRef": {"name": pool}}
    return {"apiVersion": f"{group}/v1alpha2", "kind": kind, "metadata": {"name": group[:3], "namespace": namespace}, "spec": spec}


LEGACY, NOW = "inference.networking.x-k8s.io", "llm-d.ai"
AGENTS = [{"type": "queue-scorer"}, {"type": "agent-identity"}]


def told(code: str, *documents: Manifest) -> list[str]:
    return [each.severity.value for each in found(*documents) if each.code == code]


@pytest.mark.parametrize(
    ("document", "part"),
    [
        (picker("--model-server-metrics-port", "8000"), "is gone since 0.10.0"),
        (picker("--kv-cache-usage-percentage-metric=vllm:gpu_cache_usage_perc", tag="v0.9.0"), "cannot be used"),
        (picker(featureGates=["dataLayer"]), "the gate is not registered"),
        (picker(plugins=AGENTS), "needs --allow-experimental-plugins"),
        (picker("--allow-experimental-plugins=false", plugins=AGENTS), "needs --allow-experimental-plugins"),
        (picker(plugins=[*CONFIG["plugins"], {"type": "topology-extractor"}], tag="v0.9.0"), "no plugin of type topology-extractor"),
        (picker(plugins=[{"type": "queue-scorrer"}]), "no plugin of type queue-scorrer"),
        (picker(flowControl={"priorityBands": [{"priority": 1, "queue": "MaxMinHeap"}]}), "no key queue"),
        (picker(flowControl={"enableEviction": True}, tag="v0.9.0"), "no key enableEviction"),
        (sidecar("--connector=nixlv2"), "--connector is gone since 0.10.0"),
        (sidecar("--decoder-use-tls"), "--decoder-use-tls is gone"),
        (sidecar("--inference-pool-name", "chat", tag="v0.9.0"), "--inference-pool-name is gone since 0.9.0"),
    ],
)
def test_what_a_version_of_the_router_no_longer_reads_is_refused(document: Manifest, part: str) -> None:
    findings = [each for each in found(document) if each.code == "NET-018"]
    assert [each.severity.value for each in findings] == ["error"]
    assert part in findings[0].summary


@pytest.mark.parametrize(
    "document",
    [
        picker(),
        picker("--drain-timeout=60s", "--v=4"),
        picker("--model-server-metrics-port=8000", tag="v0.9.0", featureGates=["dataLayer"]),
        picker("--allow-experimental-plugins", plugins=AGENTS),
        picker("--allow-experimental-plugins=${EXPERIMENTAL}", plugins=AGENTS),
        picker(plugins=AGENTS, tag="v0.9.0"),
        picker(flowControl={"enableEviction": True}),
        sidecar("--kv-connector=nixlv2", "--enable-tls=decoder", "--vllm-port=8200"),
        sidecar("--connector=nixlv2", tag="v0.8.0", image="llm-d-routing-sidecar"),
        sidecar("--connector=nixlv2", tag="latest", image="llm-d-routing-sidecar"),
        program("registry.acme.io/llm-d-router-endpoint-picker-fork:v0.10.0", "--connector=nixlv2"),
        program("acme/proxy:v0.10.0", "--connector=nixlv2"),
    ],
)
def test_what_a_version_of_the_router_reads_is_let_be(document: Manifest) -> None:

    assert not told("NET-018", document)


def test_a_sidecar_of_a_group_and_of_an_inference_service_is_read() -> None:
    spec = sidecar("--connector=nixlv2")["spec"]["template"]
    group = {"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet", "metadata": {"name": "decode", "namespace": "models"}}
    assert told("NET-018", {**group, "spec": {"leaderWorkerTemplate": {"size": 2, "leaderTemplate": spec, "workerTemplate": spec}}})
    service = {
        "apiVersion": "serving.kserve.io/v1alpha1",
        "kind": "LLMInferenceService",
        "metadata": {"name": "chat", "namespace": "models"},
    }
    assert told("NET-018", {**service, "spec": {"model": {"uri": "hf://Qwen/Qwen3-8B"}, "template": spec["spec"]}})


def test_a_version_that_was_not_read_is_warned_of_alone() -> None:
    assert told("NET-018", sidecar("--connector=nixlv2", tag="v0.11.0")) == ["warning"]
    assert told("NET-018", sidecar("--connector=nixlv2", tag="main")) == ["warning"]


def test_objectives_of_the_group_that_the_picker_leaves_are_told() -> None:
    both = (objective(LEGACY), objective(NOW))
    assert told("NET-019", picker(), *both) == ["warning"]
    assert told("NET-019", picker(tag="main"), *both) == ["warning"]
    rewrites = (objective(LEGACY, "InferenceModelRewrite"), objective(NOW, "InferenceModelRewrite", pool="other"))
    assert told("NET-019", picker(), *rewrites) == ["warning"]
    older = program("ghcr.io/llm-d/llm-d-inference-scheduler:v0.6.0", "--pool-name=chat")
    assert told("NET-019", older, objective(NOW)) == ["warning"]


def test_objectives_that_are_read_are_let_be() -> None:
    assert not told("NET-019", picker(), objective(LEGACY))
    assert not told("NET-019", picker(), objective(NOW))
    assert not told("NET-019", picker(), objective(LEGACY, pool="other"), objective(NOW))
    assert not told("NET-019", picker(), objective(LEGACY), objective(NOW, "InferenceModelRewrite"))
    older = program("registry.k8s.io/gateway-api-inference-extension/epp:v1.5.0", "--pool-name=chat")
    assert not told("NET-019", older, objective(LEGACY), objective(NOW, pool="other"))
    assert not told("NET-019", objective(LEGACY), objective(NOW))
