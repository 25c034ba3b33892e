"""What API servers, operators and Ray refuse, read from whole documents: custom resources, rows over fields, Ray's configuration."""

from typing import Any

import pytest
import yaml

from interlock.infra.facts import DocumentProblem
from interlock.infra.recognise import UNKNOWN, Document, recognise

POD = "{containers: [{name: vllm, image: 'vllm/vllm-openai:v0.33.0', args: [Qwen/Qwen3-8B], resources: {limits: {nvidia.com/gpu: 1}}}]}"
SERVICE = """
apiVersion: ray.io/v1
kind: RayService
metadata: {name: chat}
spec:
  serveConfigV2: |
    applications:
      - name: chat
        import_path: ray.serve.llm:build_openai_app
        args: {llm_configs: [{model_loading_config: {model_id: a, model_source: Qwen/Qwen3-8B}, accelerator_type: H100}]}
  rayClusterConfig:
    rayVersion: 2.60.0
    headGroupSpec:
      rayStartParams: {num-cpus: '0'}
      template: {spec: {containers: [{name: head, image: 'rayproject/ray-llm:2.60.0'}]}}
    workerGroupSpecs:
      - groupName: gpu
        rayStartParams: {}
        template: {spec: {containers: [{name: worker, image: 'rayproject/ray-llm:2.60.0', resources: {limits: {nvidia.com/gpu: 1}}}]}}
"""


def problems(*texts: str) -> list[DocumentProblem]:
    documents = [Document(data, "a.yaml", index) for index, data in enumerate(yaml.safe_load(text) for text in texts)]
    return list(recognise(documents, parse=yaml.safe_load).problems)


def faults(*texts: str) -> list[str]:
    return [problem.fault or problem.kind for problem in problems(*texts)]


def changed(old: str, new: str, text: str = SERVICE) -> str:
    assert old in text
    return text.replace(old, new)


def test_a_right_ray_service_has_no_problem() -> None:
    assert faults(SERVICE) == []


@pytest.mark.parametrize(
    ("old", "new", "fault", "place"),
    [
        ("num-cpus: '0'", "num-cpus: '0.5'", "ray-start-param", "num-cpus"),
        ("num-cpus: '0'", "num-cpu: '0'", "ray-start-param", "num-cpu"),
        ("num-cpus: '0'", "num-cpus: 0", "schema-broken", "num-cpus"),
        ("accelerator_type: H100", "accelerator_type: nvidia-h100", "ray-llm-config", "accelerator_type"),
        ("accelerator_type: H100", "engine_kwarg: {}", "ray-llm-config", "engine_kwarg"),
        ("model_id: a,", "model_id: a, accelerator_type: H100,", "ray-llm-config", "accelerator_type"),
        ("rayClusterConfig:", "rayClusterSpec:", "schema-typo", "rayClusterSpec"),
        (
            "rayVersion: 2.60.0",
            "rayVersion: 2.60.0\n    autoscalerOptions: {idleTimeoutSeconds: -1}",
            "ray-scaler-idle-timeout",
            "idleTimeoutSeconds",
        ),
    ],
)
def test_what_ray_or_its_operator_refuses_is_found_where_it_stands(old: str, new: str, fault: str, place: str) -> None:
    found = problems(changed(old, new))
    assert [(each.fault or each.kind) for each in found] == [fault]
    assert found[0].path.replace('["', ".").replace('"]', "").endswith(place)
    assert found[0].remedy


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("num-cpus: '0'", "log-color: 'false', block: 'true', num-gpus: '0'"),
        ("num-cpus: '0'", "num-cpus: $CPUS"),
        ("rayVersion: 2.60.0", "rayVersion: 2.99.0\n    someNewField: 1"),
        ("accelerator_type: H100", "accelerator_type: $GPU"),
        (
            "import_path: ray.serve.llm:build_openai_app",
            "import_path: ray.serve.llm:build_openai_app\n        deployments: [{name: a, ray_actor_options: {num_gpus: 0.5}}]",
        ),
    ],
)
def test_what_is_right_or_cannot_be_read_is_no_problem(old: str, new: str) -> None:
    assert faults(changed(old, new)) == []


def test_keys_of_a_newer_ray_are_not_judged() -> None:
    newer = changed("2.60.0", "2.99.0")
    assert faults(changed("accelerator_type: H100", "some_new_key: 1", newer)) == []


def test_fields_of_a_custom_resource_that_is_behind_are_told_as_near_misses_only() -> None:
    group = "apiVersion: leaderworkerset.x-k8s.io/v1\nkind: LeaderWorkerSet\nmetadata: {name: a}\nspec: {replicas: 1, SIZE}\n".replace(
        "SIZE", f"leaderWorkerTemplate: {{size: 1, workerTemplate: {{spec: {POD}}}}}"
    )
    assert faults(group) == []
    assert faults(group.replace("replicas: 1", "replica: 1")) == ["schema-typo"]
    assert faults(group.replace("replicas: 1", "someNewField: 1")) == []
    assert faults(group.replace("size: 1", "size: 1, restartPolicy: Sometimes")) != []


def test_a_patch_says_nothing_of_what_it_leaves_out() -> None:
    patch = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec: {template: {spec: {containers: [{name: vllm, args: [a]}]}}}"
    assert faults(patch) == []
    head = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\n"
    whole = f"{head}spec: {{selector: {{matchLabels: {{a: b}}}}, template: {{metadata: {{labels: {{a: b}}}}, spec: {POD}}}}}"
    assert faults(whole) == []
    assert faults(whole.replace("args: [", "livenessProbe: {periodSeconds: -1}, args: [")) != []
    assert faults(whole.replace("image: ", "images: ")) != []


def test_a_value_that_is_not_known_yet_fires_no_row() -> None:
    data: dict[str, Any] = yaml.safe_load(SERVICE)
    data["spec"]["rayClusterConfig"]["autoscalerOptions"] = {"idleTimeoutSeconds": UNKNOWN}
    data["spec"]["rayClusterConfig"]["headGroupSpec"]["rayStartParams"] = {"num-cpus": UNKNOWN}
    assert list(recognise([Document(data)], parse=yaml.safe_load).problems) == []
