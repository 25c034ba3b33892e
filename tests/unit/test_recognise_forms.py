"""Every form in which an engine is described becomes the same facts."""

from pathlib import Path

import pytest
import yaml

from interlock.cli.reading import load_text
from interlock.infra.facts import Bundle, Role, Workload
from interlock.infra.recognise import Document, recognise

MANIFESTS = Path(__file__).parents[1] / "data" / "manifests"


def bundle(name: str) -> Bundle:
    documents = yaml.safe_load_all((MANIFESTS / f"{name}.yaml").read_text())
    return recognise([Document(data, name, index) for index, data in enumerate(documents)], parse=load_text)


def only(name: str) -> Workload:
    (workload,) = bundle(name).workloads
    return workload


def gpus(workload: Workload) -> list[tuple[str, int | None, str | None]]:
    """Role, count and GPUs of each pod with a GPU."""
    found = []
    for pod in workload.pods:
        for container in pod.engines():
            limit = next((fact.value for key, fact in container.limits.items() if "gpu" in key), None)
            found.append((pod.role, pod.count.value, limit))
    return found


@pytest.mark.parametrize(
    ("name", "model", "tp", "form"),
    [
        ("deployment", "Qwen/Qwen2.5-7B-Instruct", 2, "container"),
        ("shell", "meta-llama/Llama-3.1-70B-Instruct", 4, "shell"),
        ("one-string", "/models/mistral-7b", 2, "container"),
        ("script-in-configmap", "google/gemma-2-9b-it", 2, "container"),
        ("config-file", "Qwen/Qwen3-8B", 2, "container"),
        ("dra", "Qwen/Qwen3-14B", 2, "container"),
        ("lws", "meta-llama/Llama-3.1-405B-Instruct-FP8", 8, "lws"),
        ("rayservice", "Qwen/Qwen2.5-7B-Instruct", 2, "ray-serve"),
        ("rayservice-own-app", "meta-llama/Meta-Llama-3-8B-Instruct", 2, "ray-serve"),
        ("ray-fleet", "Qwen/Qwen2.5-Coder-7B-Instruct", 2, "ray"),
        ("kubeai", "neuralmagic/Meta-Llama-3.1-8B-Instruct-FP8", 2, "kubeai"),
        ("production-stack", "meta-llama/Llama-3.1-8B-Instruct", 2, "chart-values"),
        ("production-stack-ray", "distilbert/distilgpt2", 1, "chart-values"),
        ("vllmruntime", "meta-llama/Llama-3.1-8B-Instruct", 2, "production-stack"),
        ("llm-d", "Qwen/Qwen3-32B", 2, "chart-values"),
    ],
)
def test_model_and_tensor_parallel_size_are_found_in_every_form(name: str, model: str, tp: int, form: str) -> None:
    workload = only(name)
    assert (workload.engine.model.value, workload.engine.tensor_parallel.value, workload.origin.form) == (model, tp, form)
    assert workload.engine.name == "vllm"


def test_a_leader_and_its_workers_are_one_replica() -> None:
    workload = only("lws")
    assert gpus(workload) == [("leader", 1, "8"), ("worker", 1, "8")]
    assert workload.engine.container == "leader"
    assert any(problem.kind == "ray-start" for problem in workload.engine.problems)


def test_the_nodes_of_a_ray_cluster_are_one_replica() -> None:
    assert gpus(only("rayservice")) == [("gpu", 1, "4")]
    assert gpus(only("ray-fleet")) == [("head", 1, "1"), ("small-group", 1, "1")]


def test_ray_serve_deployments_carry_what_rays_rules_need() -> None:
    ray = only("rayservice").ray
    assert ray is not None
    (deployment,) = ray.deployments
    assert (deployment.llm, deployment.target_ongoing_requests.value, deployment.autoscaling) == (True, 64, True)
    own = only("rayservice-own-app").ray
    assert own is not None
    assert own.deployments[0].num_gpus.value == 0.5


def test_an_inference_service_takes_arguments_of_its_runtime_and_the_model_of_its_storage() -> None:
    workloads = {workload.origin.name: workload for workload in bundle("kserve").workloads}
    granite = workloads["granite"]
    assert granite.engine.model.value == "quay.io/models/granite-3.1-8b-instruct:1.0"
    assert (granite.engine.tensor_parallel.value, granite.engine.port.value) == (2, 8080)
    assert granite.autoscaled
    assert workloads["hf-llama"].engine.model.value == "meta-llama/Meta-Llama-3-8B-Instruct"
    assert "gpus" in workloads["vllm-runtime"].operator_adds


def test_what_is_no_llm_is_named_with_the_reason() -> None:
    assert [item.origin.name for item in bundle("kserve").not_judged] == ["iris"]
    assert {item.why for item in bundle("others").not_judged} == {"sglang is not vLLM: skipped", "tgi is not vLLM: skipped"}
    assert bundle("others").workloads == ()


def test_an_llm_inference_service_has_a_decode_and_a_prefill_side() -> None:
    decode, prefill = bundle("llmisvc").workloads
    assert (decode.engine.data_parallel.value, decode.engine.data_parallel_local.value) == (16, 8)
    assert gpus(decode) == [("leader", 1, "8"), ("worker", 1, "8")]
    assert (prefill.engine.tensor_parallel.value, prefill.origin.path) == (4, "spec.prefill")
    assert decode.engine.flag("gpu-memory-utilization").value == "0.95"


def test_dynamo_workers_are_engines_and_the_frontend_is_not() -> None:
    workloads = bundle("dynamo").workloads
    assert [workload.origin.path for workload in workloads] == ["spec.services.VllmDecodeWorker", "spec.services.VllmPrefillWorker"]
    assert gpus(workloads[0]) == [("", None, "2")]
    assert workloads[0].engine.flag("is-decode-worker").absent


def test_fields_of_the_stack_become_flags_at_their_own_places() -> None:
    flags = {flag.name: flag for flag in only("vllmruntime").engine.flags}
    assert {"enable-lora", "max-model-len", "max-loras", "disable-log-requests"} <= set(flags)
    assert flags["max-loras"].path == "spec.vllmConfig.maxLoras"
    assert "tool-call-parser" not in flags
    assert gpus(only("production-stack-ray")) == [("head", 1, "1"), ("worker", 1, "1")]


def test_values_inside_a_helm_release_are_read() -> None:
    workload = only("helmrelease")
    assert workload.engine.version.value == "0.11.0"
    assert workload.origin.kind == "HelmRelease"
    assert not workload.engine.complete


def test_sidecars_and_init_containers_are_no_engines() -> None:
    roles = {container.name: container.role for container in only("deployment").pods[0].containers}
    assert roles == {"engine": Role.ENGINE, "logs": Role.SIDECAR, "wait": Role.INIT}


def test_an_expanded_secret_is_unknown_and_says_where_it_comes_from() -> None:
    flag = only("one-string").engine.flag("api-key")
    assert flag.unknown
    assert "$KEY" in flag.why


def test_the_vendor_is_that_of_the_accelerator_when_the_image_does_not_say() -> None:
    assert only("one-string").vendor.value == "amd"
    assert only("deployment").vendor.value == "nvidia"


def test_the_gpu_comes_from_node_labels_profiles_and_accelerator_types() -> None:
    assert only("deployment").gpu.value == "H100 80GB SXM"
    assert only("kubeai").gpu.value == "L4"
    assert only("rayservice").gpu.value == "A10"


@pytest.mark.parametrize(
    "image", ["lmcache/lmstack-router:v1", "ghcr.io/llm-d/llm-d-inference-sim:v0.3", "vllm/vllm-router:v1", "nginx:1.27"]
)
def test_what_only_stands_beside_an_engine_is_none(image: str) -> None:
    pod = {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": image}]}}
    assert recognise([Document(pod)]).workloads == ()


def test_a_patch_without_an_image_is_not_judged() -> None:
    container = {"name": "c", "args": ["--model", "m", "--max-model-len", "1", "--tensor-parallel-size", "2"]}
    patch = {"kind": "Deployment", "apiVersion": "apps/v1", "spec": {"template": {"spec": {"containers": [container]}}}}
    found = recognise([Document(patch)])
    assert found.workloads == ()
    assert "patch" in found.not_judged[0].why


def test_the_items_of_a_list_keep_their_paths() -> None:
    pod = {"kind": "Pod", "spec": {"containers": [{"name": "c", "image": "vllm/vllm-openai:v0.11.0", "args": ["--model=m"]}]}}
    (workload,) = recognise([Document({"kind": "List", "items": [{"kind": "Namespace"}, pod]})]).workloads
    assert workload.pods[0].containers[0].path == "items[1].spec.containers[0]"


@pytest.mark.parametrize(
    ("command", "args", "kind"),
    [
        (None, ["serve", "m"], "broken-arg"),
        (None, ["vllm", "serve", "m"], "broken-arg"),
        (["--model", "m"], None, "entrypoint-replaced"),
        (["sh", "-c"], ["vllm serve", "m", "--port", "1"], "broken-arg"),
    ],
)
def test_commands_that_do_not_start_what_they_seem_to_are_named(command: list[str] | None, args: list[str] | None, kind: str) -> None:
    container = {"name": "c", "image": "vllm/vllm-openai:v0.11.0", "command": command, "args": args}
    (workload,) = recognise([Document({"kind": "Pod", "spec": {"containers": [container]}})]).workloads
    assert kind in {problem.kind for problem in workload.engine.problems}
    assert workload.engine.model.value == "m"


@pytest.mark.parametrize(
    ("image", "version"),
    [
        ("vllm/vllm-openai:v0.8.5.post1", "0.8.5.post1"),
        ("registry.example.com/mirror/vllm/vllm-openai:v0.11.0-x86_64", "0.11.0"),
        ("rocm/vllm:rocm6.3.1_vllm_0.8.5_20250521", "0.8.5"),
        ("ghcr.io/llm-d/llm-d-cuda:v0.3.0", None),
        ("quay.io/modh/vllm:rhoai-2.20-cuda", None),
        ("vllm/vllm-openai@sha256:abc", None),
    ],
)
def test_the_version_is_taken_only_from_tags_that_are_vllm_versions(image: str, version: str | None) -> None:
    (workload,) = recognise(
        [Document({"kind": "Pod", "spec": {"containers": [{"name": "c", "image": image, "args": ["--model=m"]}]}})]
    ).workloads
    assert workload.engine.version.value == version


@pytest.mark.parametrize(("text", "problems"), [("$MODEL", 1), ("${MODEL}", 1), ("$(MODEL)", 0), ("${ELSEWHERE}", 0)])
def test_a_shell_variable_without_a_shell_is_a_mistake_only_where_the_container_has_it(text: str, problems: int) -> None:
    container = {"name": "c", "image": "vllm/vllm-openai:v0.11.0", "args": ["--model", text], "env": [{"name": "MODEL", "value": "m"}]}
    (workload,) = recognise([Document({"kind": "Pod", "spec": {"containers": [container]}})]).workloads
    assert len(workload.engine.problems) == problems
    assert workload.engine.model.known == (text == "$(MODEL)")


def test_kustomizes_own_image_tag_is_the_one_that_runs() -> None:
    pod = {"kind": "Pod", "spec": {"containers": [{"name": "c", "image": "vllm/vllm-openai", "args": ["--model=m"]}]}}
    kustomization = {"resources": ["pod.yaml"], "images": [{"name": "vllm/vllm-openai", "newTag": "v0.11.0"}]}
    (workload,) = recognise([Document(pod), Document(kustomization)]).workloads
    assert workload.pods[0].containers[0].image.value == "vllm/vllm-openai:v0.11.0"
    assert workload.engine.version.value == "0.11.0"


def test_a_compose_file_is_named_and_not_judged() -> None:
    found = recognise([Document({"services": {"llm": {"image": "vllm/vllm-openai:latest", "command": "--model m"}}})])
    assert found.workloads == ()
    assert "compose" in found.not_judged[0].why


def test_values_with_a_kind_of_their_own_are_values() -> None:
    probe = {"httpGet": {"path": "/health", "port": "http"}, "initialDelaySeconds": 15}
    values = {"kind": "Deployment", "image": {"repository": "vllm/vllm-openai", "tag": ""}, "livenessProbe": probe}
    (workload,) = recognise([Document({"vllm": values}), Document({})]).workloads
    assert (workload.origin.kind, workload.origin.path) == ("Values", "vllm")
    assert "probes" not in workload.operator_adds
    assert workload.pods[0].containers[0].image.unknown
