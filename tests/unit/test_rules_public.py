"""What stands in manifests that projects publish and people run: none of it is refused, each by its mechanism."""

import pytest

from tests.unit.test_rules_traps import Manifest, args, found, pod, put, server, service, worst


def ray(image: str = "vllm/vllm-openai:v0.10.2") -> Manifest:
    """A cluster whose containers have no command: KubeRay starts Ray in them."""
    box = {"name": "ray", "image": image, "resources": {"limits": {"nvidia.com/gpu": "1", "cpu": "8", "memory": "32Gi"}}}
    template = {"spec": {"containers": [box]}}
    groups = [{"groupName": "small", "replicas": 1, "minReplicas": 1, "maxReplicas": 1, "rayStartParams": {}, "template": template}]
    spec = {"rayVersion": "2.32.0", "headGroupSpec": {"rayStartParams": {"dashboard-host": "0.0.0.0"}, "template": template}}
    return {"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": {"name": "vllm"}, "spec": {**spec, "workerGroupSpecs": groups}}


def test_a_ray_cluster_of_the_engines_image_needs_no_model() -> None:
    assert worst("ARG-008", ray()) == "none"


def test_stages_of_vllm_omni_are_not_judged_by_vllms_own_arguments() -> None:
    omni = server(
        put("image", value="vllm/vllm-omni:v0.20.0"),
        put("command", value=["vllm", "serve", "Qwen/Qwen2.5-Omni-7B", "--omni", "--served-model-name", "omni"]),
        put("resources", value={"limits": {"nvidia.com/gpu": "2"}}),
    )
    assert not {each.code for each in found(omni)} & {"ARG-001", "GPU-001"}
    assert worst("ARG-001", server(args("--omnia"))) == "error"


def test_a_second_port_of_a_service_that_leads_nowhere_is_no_refusal() -> None:
    two = service()
    two["spec"]["ports"] = [{"name": "serve", "port": 8000, "targetPort": 8000}, {"name": "http", "port": 8080, "targetPort": 8080}]
    assert worst("NET-002", server(), two) == "warning"
    two["spec"]["ports"][1]["name"] = "metrics"
    assert worst("NET-002", server(), two) == "error"
    two["spec"]["ports"] = [{"name": "http", "port": 80, "targetPort": 8080}]
    assert worst("NET-002", server(), two) == "error"


def llm_service(**variables: str) -> Manifest:
    env = [{"name": name, "value": value} for name, value in variables.items()]
    template = {"containers": [{"name": "main", "image": "vllm/vllm-openai:v0.30.0", "env": env}]}
    spec = {"model": {"uri": "hf://Qwen/Qwen3-8B", "name": "Qwen/Qwen3-8B"}, "template": template}
    return {"apiVersion": "serving.kserve.io/v1alpha1", "kind": "LLMInferenceService", "metadata": {"name": "chat"}, "spec": spec}


def test_variables_that_an_operators_own_command_reads_are_no_slips() -> None:
    assert worst("ARG-007", llm_service(VLLM_ADDITIONAL_ARGS="--max-model-len 8192", VLLM_API_SERVER_COUNT="4")) == "none"
    assert worst("ARG-007", llm_service(VLLM_USE_V1="1")) == "warning"


def test_directives_of_a_patch_are_no_fields() -> None:
    patched = server()
    pod(patched)["containers"][0]["ports"] = [{"$patch": "replace"}, {"name": "http", "containerPort": 8000}]
    assert not [each for each in found(patched) if "$patch" in each.summary]


@pytest.mark.parametrize(
    ("image", "level"),
    [
        ("vllm/vllm-openai:v0.11.0", "warning"),
        ("mirror.acme.io/vllm/vllm-openai:v0.11.0", "warning"),
        ("aibrix/vllm-openai:v0.10.2-aibrix-0.5.2-nixl-0.7.1", "none"),
        ("lmcache/vllm-openai:v0.3.9", "none"),
    ],
)
def test_only_the_projects_own_images_are_known_to_lack_a_connectors_library(image: str, level: str) -> None:
    transfer = '--kv-transfer-config={"kv_connector": "NixlConnector", "kv_role": "kv_both"}'
    assert worst("ARG-023", server(put("image", value=image), args(transfer))) == level


def test_a_route_that_cuts_only_long_answers_is_warned_of() -> None:
    def route(seconds: str) -> Manifest:
        rule = {"backendRefs": [{"name": "chat", "port": 80}], "timeouts": {"request": seconds}}
        spec = {"parentRefs": [{"name": "public"}], "rules": [rule]}
        meta = {"name": "chat", "namespace": "models"}
        return {"apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute", "metadata": meta, "spec": spec}

    assert [worst("NET-006", server(), service(), route(text)) for text in ("30s", "120s", "600s")] == ["error", "warning", "none"]


def test_a_variable_that_an_operator_hands_to_a_shell_may_hold_others() -> None:
    assert worst("DOC-006", llm_service(VLLM_ADDITIONAL_ARGS='--kv-events-config \'{"endpoint": "tcp://${POD_IP}:5557"}\'')) == "none"
    assert worst("DOC-006", llm_service(HF_HOME="${CACHE}/hub")) == "warning"


def test_values_of_a_chart_may_hold_templates_and_leave_the_tag_to_it() -> None:
    values: Manifest = {"server": {"image": "acme/vllm-openai", "tag": "", "name": "{{ .Release.Name }}", "args": ["--max-model-len=8192"]}}
    assert worst("DOC-006", values) == "none"
    assert worst("VER-001", values) == "info"
    values["server"].pop("tag")
    assert worst("VER-001", values) == "warning"


def test_a_claim_that_a_graph_names_is_used() -> None:
    claim: Manifest = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "models"},
        "spec": {"accessModes": ["ReadOnlyMany"]},
    }
    worker = {"componentType": "worker", "extraPodSpec": {"mainContainer": {"image": "nvcr.io/nvidia/ai-dynamo/vllm-runtime:0.7.0"}}}
    graph: Manifest = {
        "apiVersion": "nvidia.com/v1alpha1",
        "kind": "DynamoGraphDeployment",
        "metadata": {"name": "chat"},
        "spec": {"pvcs": [{"name": "models", "create": False}], "services": {"VllmDecodeWorker": worker}},
    }
    assert worst("STO-003", claim, graph) == "none"
    assert worst("STO-003", claim, server()) == "warning"


def grouped(**template: object) -> Manifest:
    """A LeaderWorkerSet with fields of v0.10."""
    made = server()["spec"]["template"]
    spec = {"replicas": 2, "leaderWorkerTemplate": {"size": 1, "workerTemplate": made, **template}}
    return {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": {"name": "chat", "namespace": "models"},
        "spec": spec,
    }


def test_claims_and_policies_of_newer_groups_are_known() -> None:
    claims = [{"metadata": {"name": "weights"}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "50Gi"}}}}]
    group = grouped(
        volumeClaimTemplates=claims, restartPolicy="RecreateGroupAfterStart", persistentVolumeClaimRetentionPolicy={"whenDeleted": "Retain"}
    )
    group["spec"]["leaderWorkerTemplate"]["workerTemplate"]["spec"]["containers"][0]["volumeMounts"].append(
        {"name": "weights", "mountPath": "/models"}
    )
    assert not [each.summary for each in found(group) if each.code.startswith("DOC")]
    assert worst("DOC-002", grouped(restartPolicy="Always")) == "error"


def newer(**fields: object) -> Manifest:
    made = ray("vllm/vllm-openai:v0.33.0")
    made["spec"] |= {"rayVersion": "2.60.0", **fields}
    made["spec"]["workerGroupSpecs"][0]["template"]["spec"]["containers"][0]["command"] = ["vllm", "serve", "Qwen/Qwen3-8B"]
    return made


@pytest.mark.parametrize(
    ("fault", "fields"),
    [
        ("", {"networkPolicy": {"mode": "DenyAllIngress", "head": {"ingressRules": [{}]}}}),
        ("ray-policy-of-the-open-side", {"networkPolicy": {"mode": "DenyAllEgress", "head": {"ingressRules": [{}]}}}),
        ("", {"gcsFaultToleranceOptions": {"backend": "rocksdb", "storage": {"claimName": "gcs"}}}),
        ("ray-embedded-store-beside-redis", {"gcsFaultToleranceOptions": {"backend": "rocksdb", "redisAddress": "redis:6379"}}),
        ("ray-embedded-store-claim", {"gcsFaultToleranceOptions": {"backend": "rocksdb", "storage": {"claimName": "gcs", "size": "1Gi"}}}),
        ("ray-redis-with-a-store", {"gcsFaultToleranceOptions": {"redisAddress": "redis:6379", "storage": {"size": "1Gi"}}}),
        ("", {"autoscalerOptions": {"version": "v2"}, "enableInTreeAutoscaling": True}),
        ("ray-scaler-command-by-hand", {"autoscalerOptions": {"env": [{"name": "KUBERAY_GEN_AUTOSCALER_START_CMD", "value": "1"}]}}),
    ],
)
def test_what_the_newest_kuberay_refuses_of_its_own_fields(fault: str, fields: Manifest) -> None:
    told = [each.fault for each in found(newer(**fields)) if each.code in ("DOC-002", "DOC-004")]
    assert told == ([fault] if fault else [])


@pytest.mark.parametrize(
    ("version", "told"), [("2.60.0", []), ("2.55.1", ["ray-priority-of-an-old-ray"]), ("2.9.0", ["ray-priority-of-an-old-ray"])]
)
def test_the_priority_of_a_worker_group_needs_a_newer_ray(version: str, told: list[str]) -> None:
    cluster = newer(rayVersion=version)
    cluster["spec"]["workerGroupSpecs"][0]["priority"] = 5
    assert [each.fault for each in found(cluster) if each.code in ("DOC-002", "DOC-004")] == told


def test_a_monitor_that_reaches_some_of_the_pods_that_it_selects_is_no_refusal() -> None:
    def named(name: str, port: str) -> Manifest:
        made = server(put("ports", value=[{"name": port, "containerPort": 8000}]))
        made["metadata"]["name"] = name
        made["spec"]["template"]["metadata"]["labels"]["model"] = "qwen"
        return made

    spec = {"selector": {"matchLabels": {"model": "qwen"}}, "podMetricsEndpoints": [{"port": "sidecar", "path": "/metrics"}]}
    meta = {"name": "engines", "namespace": "models"}
    monitor: Manifest = {"apiVersion": "monitoring.coreos.com/v1", "kind": "PodMonitor", "metadata": meta, "spec": spec}
    assert worst("OBS-003", monitor, named("decode", "sidecar"), named("prefill", "http")) == "warning"
    assert worst("OBS-003", monitor, named("prefill", "http")) == "error"
    assert worst("OBS-003", monitor, named("decode", "sidecar")) == "none"
