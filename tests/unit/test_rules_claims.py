"""Claims of widely read articles that are wrong today: a configuration that follows one is told so."""

import copy
import json
from typing import Any

import pytest
import yaml

from interlock.cli.reading import load_text
from interlock.infra.recognise import Document, recognise
from interlock.infra.rules.judge import judge
from tests.support import TODAY
from tools.cases.facts import bundle_of
from tools.findings.examples import examples

SERVER: dict[str, Any] = next(iter(yaml.safe_load_all(examples()["GPU-001"].good)))


def server(args: list[str], gpu: str = "", image: str = "", **env: str) -> dict[str, Any]:
    made = copy.deepcopy(SERVER)
    spec = made["spec"]["template"]["spec"]
    box = spec["containers"][0]
    box["args"] = ["--max-model-len=8192", *args]
    box["env"] = [{"name": name, "value": value} for name, value in env.items()]
    box["image"] = image or box["image"]
    if gpu:
        spec["nodeSelector"] = {"nvidia.com/gpu.product": gpu}
    return made


def alert(expression: str) -> dict[str, Any]:
    rules = [{"alert": "A", "expr": expression}]
    groups = [{"name": "g", "rules": rules}]
    return {"apiVersion": "monitoring.coreos.com/v1", "kind": "PrometheusRule", "metadata": {"name": "a"}, "spec": {"groups": groups}}


def codes(*documents: dict[str, Any]) -> set[str]:
    bundle = recognise([Document(each, "a.yaml", index) for index, each in enumerate(documents)], parse=load_text)
    return {finding.code for finding in judge(bundle, today=TODAY)}


CLAIMS = [
    ("VLLM_TENSOR_PARALLEL_SIZE is read", "ARG-007", server([], VLLM_TENSOR_PARALLEL_SIZE="2")),
    ("--scheduler-policy", "ARG-001", server(["--scheduler-policy=priority"])),
    ("--draft-model", "ARG-001", server(["--draft-model=x"])),
    ("--lora-dirs", "ARG-001", server(["--lora-dirs=/loras"])),
    ("--enable-metrics must be added", "ARG-001", server(["--enable-metrics"])),
    ("--block-size for small cards", "ARG-017", server(["--block-size=32"])),
    ("--cpu-offload-gb for long prompts", "ARG-017", server(["--cpu-offload-gb=4"])),
    ("bitsandbytes in production", "ARG-017", server(["--quantization=bitsandbytes"], image="vllm/vllm-openai:v0.10.2")),
    ("hard spread over nodes", "ROLL-024", examples()["ROLL-024"]),
    ("AWQ on V100 with today's engine", "GPU-015", server(["--dtype=half"], gpu="Tesla-V100-SXM2-32GB")),
    ("python -m vllm.entrypoints", "ARG-009", examples()["ARG-009"]),
    ("latest in production", "VER-001", server([], image="vllm/vllm-openai:latest")),
    ("TP 8 for a model of 28 heads", "GPU-002", server(["-tp=8"])),
    ("TP 7, which divides the heads but not the KV heads", "GPU-002", server(["-tp=7"])),
    ("a part of a GPU", "GPU-005", examples()["GPU-005"]),
    ("requests 1 and limits 2", "GPU-006", examples()["GPU-006"]),
    ("num_gpus equals TP in ray.serve.llm", "RAY-002", examples()["RAY-002"]),
    ("vllm:gpu_cache_usage_perc", "OBS-001", alert("vllm:gpu_cache_usage_perc > 0.9")),
    ("vllm:gpu_cache_usage_ratio", "OBS-001", alert("vllm:gpu_cache_usage_ratio > 0.9")),
    ("vllm:batch_size", "OBS-001", alert("vllm:batch_size > 8")),
    ("vllm:all_reduce_time_ms", "OBS-001", alert("vllm:all_reduce_time_ms > 8")),
    ("ray:actor_num_pending_tasks", "OBS-002", alert("ray:actor_num_pending_tasks > 8")),
    ("container_gpu_memory_used_bytes", "OBS-002", alert("container_gpu_memory_used_bytes > 8")),
    ("nginx with its default timeout", "NET-006", examples()["NET-006"]),
    ("a pod metric through the adapter", "SCALE-009", examples()["SCALE-009"]),
    ("maxSurge 1 without a spare GPU", "ROLL-003", examples()["ROLL-003"]),
    ("--api-key protects every route", "NET-010", examples()["NET-010"]),
    ("--shutdown-timeout with several API servers", "ROLL-013", examples()["ROLL-013"]),
]


@pytest.mark.parametrize(("claim", "code", "given"), CLAIMS, ids=[row[0].replace(" ", "-") for row in CLAIMS])
def test_a_configuration_that_follows_a_wrong_claim_is_told_so(claim: str, code: str, given: Any) -> None:
    if isinstance(given, dict):
        found = codes(given)
    elif given.form == "case":
        made = bundle_of(json.loads(given.bad))
        assert made is not None
        found = {finding.code for finding in judge(made, today=TODAY)}
    else:
        found = codes(*(each for each in yaml.safe_load_all(given.bad) if each))
    assert code in found, claim


def test_a_parallel_size_need_not_be_a_power_of_two() -> None:
    shape = {"name": "six", "num_layers": 12, "q_heads": 12, "kv_heads": 12, "head_dim": 64}
    bundle = bundle_of({"model": shape, "vllm": {"flags": {"tensor_parallel_size": 6}}})
    assert bundle is not None
    assert "GPU-002" not in {finding.code for finding in judge(bundle, today=TODAY)}


@pytest.mark.parametrize(("name", "told"), [("ssd-local-path", False), ("efs-sc", False), ("gp3", True)])
def test_a_claim_is_too_small_only_where_its_class_keeps_to_the_size(name: str, told: bool) -> None:
    documents = [each for each in yaml.safe_load_all(examples()["STO-004"].bad) if each]
    for each in documents:
        if each["kind"] == "PersistentVolumeClaim":
            each["spec"]["storageClassName"] = name
    assert ("STO-004" in codes(*documents)) == told


@pytest.mark.parametrize(
    ("scope", "told"),
    [
        ({}, True),
        ({"scopes": ["Terminating"]}, False),
        ({"scopeSelector": {"matchExpressions": [{"scopeName": "PriorityClass", "operator": "In", "values": ["high"]}]}}, False),
    ],
)
def test_a_quota_counts_every_pod_only_without_a_scope(scope: dict[str, Any], told: bool) -> None:
    documents = [each for each in yaml.safe_load_all(examples()["SCALE-008"].bad) if each]
    for each in documents:
        if each["kind"] == "ResourceQuota":
            each["spec"] |= scope
    assert ("SCALE-008" in codes(*documents)) == told
