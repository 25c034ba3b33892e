"""The plan and the pack say the same of the same contradiction: code, severity, arithmetic and fix."""

from collections.abc import Callable
from typing import Any

import pytest

from interlock.infra.config import load
from interlock.infra.manifests.render import render
from interlock.infra.preview import preview
from interlock.infra.rules.findings import Severity
from tests.support import TODAY

CONTAINER = "engine"
GPU = "nvidia.com/gpu"
CHANGES: dict[str, tuple[str, dict[str, Any]]] = {
    "GPUs against TP": ("GPU-001", {"gpus": 2, "engine": {"tensor_parallel_size": 4, "max_model_len": 8192}}),
    "heads": ("GPU-002", {"gpus": 3, "engine": {"tensor_parallel_size": 3, "max_model_len": 8192}}),
    "the image latest": ("VER-001", {"image": {"reference": "vllm/vllm-openai:latest"}}),
    "requests against limits": (
        "GPU-006",
        {"extra": {"pod_patch": {"containers": [{"name": CONTAINER, "resources": {"requests": {GPU: "0"}}}]}}},
    ),
    "a fraction": (
        "GPU-005",
        {"extra": {"pod_patch": {"containers": [{"name": CONTAINER, "resources": {k: {GPU: "500m"} for k in ("requests", "limits")}}]}}},
    ),
}


@pytest.mark.parametrize(("code", "server"), CHANGES.values(), ids=CHANGES)
def test_the_pack_refuses_what_the_plan_refuses_in_the_same_words(code: str, server: dict[str, Any], make_pack: Callable[..., Any]) -> None:
    config = load(
        {
            "target": {"local": "dev"},
            "namespace": "team-a",
            "pools": [{"name": "h100", "gpu": "h100-80gb-sxm", "nodes": 2, "gpus_per_node": 8}],
            "servers": [
                {"name": "chat", "model": {"id": "Qwen/Qwen2.5-7B-Instruct"}, "pool": "h100", "engine": {"max_model_len": 8192}, **server}
            ],
        }
    )
    made = preview(config, "dev", today=TODAY)
    expected = [each for each in made.refused if each.code == code]
    assert expected
    (deployment,) = [each for each in render(config, made) if each["kind"] == "Deployment"]
    found = make_pack().resource("kubernetes:apps/v1:Deployment", "chat-deployment", deployment)
    for finding in expected:
        assert finding.severity is Severity.ERROR
        (said,) = [each.message for each in found if f"{code} error: " in each.message and finding.summary in each.message]
        fix = finding.remedy.replace("engine.tensor_parallel_size", "--tensor-parallel-size")  # the plan speaks of its own field
        assert f"  fix: {fix}" in said
