"""Faults that pass every layer in silence: each is told in two forms, and two neighbours of it are let be."""

import copy
import json
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import yaml

from interlock.infra.facts import Origin, Pool, known
from interlock.infra.rules.judge import judge
from tests.support import TODAY
from tests.unit.test_rules_traps import Manifest, args, bundle, cached, claim, env, found, pod, put, scaled, server, service, worst
from tools.findings.examples import examples

H100 = "NVIDIA-H100-80GB-HBM3"


def connected(model: str, name: str, *more: str, image: str = "v0.33.0", members: tuple[str, ...] = ()) -> Manifest:
    config: dict[str, Any] = {"kv_connector": name, "kv_role": "kv_both"}
    if members:
        config["kv_connector_extra_config"] = {"connectors": [{"kv_connector": each, "kv_role": "kv_both"} for each in members]}
    made = server(
        put("command", value=["vllm", "serve", model]),
        put("image", value=f"vllm/vllm-openai:{image}"),
        args("--max-model-len=32768", "--kv-transfer-config", json.dumps(config), *more),
    )
    pod(made)["nodeSelector"] = {"nvidia.com/gpu.product": H100}
    return made


GPT, NEXT = "openai/gpt-oss-20b", "Qwen/Qwen3-Next-80B-A3B-Instruct"


@pytest.mark.parametrize(
    ("level", "document"),
    [
        ("warning", connected(GPT, "LMCacheConnectorV1")),
        ("warning", connected(GPT, "MultiConnector", members=("NixlConnector", "FlexKVConnectorV1"))),
        ("warning", connected(GPT, "NixlConnector", image="v0.15.0")),
        ("warning", connected(GPT, "P2pNcclConnector", image="v0.22.0")),
        ("warning", connected(GPT, "MoRIIOConnector", image="v0.22.0")),
        ("none", connected(GPT, "NixlConnector", image="v0.22.0")),
        ("info", connected(GPT, "LMCacheMPConnector")),
        ("warning", connected(NEXT, "LMCacheMPConnector")),
        ("none", connected("Qwen/Qwen3-8B", "LMCacheMPConnector")),
        ("error", connected(NEXT, "LMCacheConnectorV1")),
        ("error", connected("Qwen/Qwen3-8B", "LMCacheConnectorV1", "--no-disable-hybrid-kv-cache-manager")),
        ("none", connected(GPT, "NixlConnector")),
        ("none", connected(GPT, "MultiConnector", members=("NixlConnector", "OffloadingConnector"))),
        ("none", connected("Qwen/Qwen3-8B", "LMCacheConnectorV1")),
        ("none", connected(GPT, "LMCacheConnectorV1", "--disable-hybrid-kv-cache-manager")),
        ("none", connected("org/unknown", "LMCacheConnectorV1")),
    ],
)
def test_a_connector_without_the_hybrid_manager_is_told_for_models_with_windows_or_states(level: str, document: Manifest) -> None:
    assert worst("MEM-016", document) == level


def test_the_planner_counts_the_windows_that_a_connector_costs() -> None:
    told = next(each for each in found(connected(GPT, "LMCacheConnectorV1")) if each.code == "MEM-016")
    assert "12 of 24 layers keep the whole context" in told.summary
    held = re.search(r"the KV pool holds ([\d.]+) instead of ([\d.]+) requests of 32768 tokens", told.summary)
    # Half of the layers keep the whole context instead of 128 tokens.
    assert held
    assert 0.7 < float(held[1]) / float(held[2]) < 0.8


def ray_service(*changes: Callable[[Manifest], None]) -> Manifest:
    made: Manifest = yaml.safe_load(examples()["RAY-009"].good)
    for change in changes:
        change(made)
    return made


def variables(values: dict[str, str], *, workers: bool = True) -> Callable[[Manifest], None]:
    def change(made: Manifest) -> None:
        cluster = made["spec"]["rayClusterConfig"]
        groups = [cluster["headGroupSpec"], *(cluster["workerGroupSpecs"] if workers else [])]
        for group in groups:
            group["template"]["spec"]["containers"][0]["env"] = [{"name": name, "value": value} for name, value in values.items()]

    return change


def application(change: Callable[[Manifest], None]) -> Callable[[Manifest], None]:
    def changed(made: Manifest) -> None:
        config = yaml.safe_load(made["spec"]["serveConfigV2"])
        change(config["applications"][0]["args"])
        made["spec"]["serveConfigV2"] = yaml.safe_dump(config)

    return changed


def second(arguments: Manifest) -> None:
    other = copy.deepcopy(arguments["llm_configs"][0])
    other["model_loading_config"]["model_id"] = "other"
    arguments["llm_configs"].append(other)


def adapters(arguments: Manifest) -> None:
    arguments["llm_configs"][0]["lora_config"] = {"dynamic_lora_loading_path": "s3://a/b"}


STREAMING = {"RAY_SERVE_LLM_ENABLE_DIRECT_STREAMING": "1", "RAY_SERVE_ENABLE_HA_PROXY": "1"}
BODIES = {"RAY_SERVE_ENABLE_HA_PROXY": "1", "RAY_SERVE_INGRESS_REQUEST_ROUTER_FORWARD_BODY": "1"}


@pytest.mark.parametrize(
    ("code", "level", "changes"),
    [
        ("RAY-018", "error", [variables(STREAMING), application(second)]),
        ("RAY-018", "error", [variables(STREAMING), application(adapters)]),
        ("RAY-018", "error", [variables(STREAMING), application(lambda each: each.update(ingress_cls_config={"ingress_cls": "a:B"}))]),
        ("RAY-018", "error", [variables({"RAY_SERVE_LLM_ENABLE_DIRECT_STREAMING": "1"})]),
        ("RAY-018", "warning", [variables(STREAMING, workers=False)]),
        ("RAY-018", "none", [application(second), application(adapters)]),
        ("RAY-018", "none", [variables(STREAMING)]),
        ("RAY-018", "none", [variables(STREAMING | BODIES), application(adapters)]),
        ("RAY-019", "warning", [variables(BODIES)]),
        ("RAY-019", "warning", [variables(BODIES | {"RAY_SERVE_HAPROXY_MAXCONN": "2048"})]),
        ("RAY-019", "none", [variables(BODIES | {"RAY_SERVE_HAPROXY_MAXCONN": "1000"})]),
        ("RAY-019", "none", [variables({"RAY_SERVE_ENABLE_HA_PROXY": "1"})]),
        ("RAY-019", "none", [variables(BODIES | {"RAY_SERVE_HAPROXY_MAXCONN": "many"})]),
        ("ROLL-021", "info", [variables({"RAY_SERVE_ENABLE_HA_PROXY": "1"})]),
    ],
)
def test_ray_serve_streams_directly_only_as_its_builder_and_its_proxy_can(code: str, level: str, changes: list[Any]) -> None:
    assert worst(code, ray_service(*changes)) == level


def upgraded(gateway: str, kind: str = "NewClusterWithIncrementalUpgrade") -> Callable[[Manifest], None]:
    options = {"maxSurgePercent": 50, "stepSizePercent": 10, "intervalSeconds": 30, "gatewayClassName": gateway}

    def change(made: Manifest) -> None:
        made["spec"]["upgradeStrategy"] = {"type": kind, "clusterUpgradeOptions": options}

    return change


@pytest.mark.parametrize(("gateway", "level"), [("envoy-gateway", "warning"), ("kgateway", "warning"), ("istio", "none"), ("own", "none")])
def test_the_route_of_an_incremental_upgrade_has_the_limit_of_its_gateway(gateway: str, level: str) -> None:
    assert worst("RAY-020", ray_service(upgraded(gateway))) == level
    assert worst("RAY-020", ray_service(upgraded(gateway, "NewCluster"))) == "none"


def endpoints(port: int | str = 8000, **picker: str) -> Manifest:
    spec = {"selector": {"matchLabels": {"app": "chat"}}, "targetPorts": [{"number": port}], "endpointPickerRef": {"name": "p", **picker}}
    api = "inference.networking.k8s.io/v1"
    return {"apiVersion": api, "kind": "InferencePool", "metadata": {"name": "chat", "namespace": "models"}, "spec": spec}


def beside(made: Manifest) -> None:
    pod(made)["containers"].append({"name": "proxy", "image": "example.com/sidecar:1.0", "ports": [{"containerPort": 8080}]})


@pytest.mark.parametrize(
    ("code", "level", "documents"),
    [
        ("NET-015", "error", [server(), endpoints(8080)]),
        ("NET-015", "error", [server(args("--max-model-len=16384", "--port=9000")), endpoints()]),
        ("NET-015", "none", [server(), endpoints()]),
        ("NET-015", "none", [server(beside), endpoints(8080)]),
        ("NET-015", "none", [server(), endpoints("{{ .port }}")]),
        ("NET-016", "warning", [server(args("--max-model-len=16384", "--ssl-certfile=/tls/a")), endpoints()]),
        ("NET-016", "warning", [server(args("--max-model-len=16384", "-dp=2")), endpoints()]),
        ("NET-016", "none", [server(args("--max-model-len=16384", "-dp=2"))]),
        ("NET-016", "none", [server(args("--max-model-len=16384", "-dp=2", "--data-parallel-external-lb")), endpoints()]),
    ],
)
def test_a_picker_reaches_the_port_and_the_metrics_of_its_engines(code: str, level: str, documents: list[Manifest]) -> None:
    assert worst(code, *documents) == level


def test_what_a_closed_and_an_open_picker_do_is_said() -> None:
    closed, opened = (found(server(), endpoints(8080, **mode)) for mode in ({}, {"failureMode": "FailOpen"}))
    assert any("failureMode FailClose every request is refused" in each.summary for each in closed)
    assert any("requests go to any pod" in each.summary for each in opened)


def device_class(name: str, resource: str = "nvidia.com/gpu") -> Manifest:
    spec = {"extendedResourceName": resource} if resource else {}
    return {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": name}, "spec": spec}


PLUGIN: Manifest = {
    "apiVersion": "apps/v1",
    "kind": "DaemonSet",
    "metadata": {"name": "plugin", "namespace": "kube-system"},
    "spec": {
        "selector": {"matchLabels": {"name": "plugin"}},
        "template": {
            "metadata": {"labels": {"name": "plugin"}},
            "spec": {"containers": [{"name": "plugin", "image": "nvcr.io/nvidia/k8s-device-plugin:v0.20.0"}]},
        },
    },
}


@pytest.mark.parametrize(
    ("level", "documents"),
    [
        ("warning", [PLUGIN, device_class("gpu")]),
        ("warning", [device_class("gpu"), device_class("other")]),
        ("none", [PLUGIN, device_class("gpu", "")]),
        ("none", [PLUGIN, device_class("gpu", "example.com/gpu")]),
        ("none", [device_class("gpu"), device_class("other", "example.com/gpu")]),
    ],
)
def test_cards_are_handed_out_by_the_plugin_or_by_one_class(level: str, documents: list[Manifest]) -> None:
    assert worst("GPU-026", *documents) == level


def replicas(count: int, surge: int, labels: dict[str, str] | None = None) -> Callable[[Manifest], None]:
    def change(made: Manifest) -> None:
        term = {"labelSelector": {"matchLabels": labels or {"app": "chat"}}, "topologyKey": "kubernetes.io/hostname"}
        pod(made)["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
        made["spec"]["replicas"] = count
        made["spec"]["strategy"] = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": surge, "maxUnavailable": 1 - surge}}

    return change


@pytest.mark.parametrize(
    ("change", "nodes", "level"),
    [
        (replicas(2, 1), 2, "error"),
        (replicas(3, 0), 2, "error"),
        (replicas(2, 1), 3, "none"),
        (replicas(2, 0), 2, "none"),
        (replicas(2, 1, {"app": "web"}), 1, "none"),
        (replicas(2, 1), None, "info"),
    ],
)
def test_pods_that_may_not_meet_have_nodes_for_all_of_them(change: Callable[[Manifest], None], nodes: int | None, level: str) -> None:
    read = bundle(server(change))
    workloads = tuple(replace(each, pool=known("p")) for each in read.workloads)
    pools = (Pool(Origin(kind="Pool"), "p", gpus_per_node=known(8), nodes=known(nodes)),) if nodes else ()
    told = [each.severity.value for each in judge(replace(read, workloads=workloads, pools=pools), today=TODAY) if each.code == "ROLL-024"]
    assert told == ([] if level == "none" else [level])


def gang(made: Manifest) -> None:
    pod(made)["schedulingGroup"] = {"podGroupName": "chat"}


def version(api: str, kind: str) -> Manifest:
    return {"apiVersion": api, "kind": kind, "metadata": {"name": "chat", "namespace": "models"}, "spec": {}}


@pytest.mark.parametrize(
    ("documents", "said"),
    [
        ([server(gang)], "erases schedulingGroup unless the feature gate GenericWorkload is on"),
        ([server(), version("scheduling.k8s.io/v1alpha2", "PodGroup")], "has no such version, and serves v1beta1 only with a feature gate"),
        ([server(), version("scheduling.k8s.io/v1beta1", "Workload")], "serves it only with a feature gate"),
        ([server(), version("resource.k8s.io/v1beta1", "DeviceClass")], "serves it only with a feature gate"),
        ([server(), version("autoscaling/v2beta2", "HorizontalPodAutoscaler")], ""),
        ([server(), version("autoscaling/v2", "HorizontalPodAutoscaler")], ""),
        ([server(), version("scheduling.k8s.io/v1", "PriorityClass")], ""),
        ([server(), version("scheduling.volcano.sh/v1beta1", "PodGroup")], ""),
        ([version("policy/v1beta1", "PodDisruptionBudget")], ""),
        ([server(), version("networking.k8s.io/v1beta1", "ServiceCIDR")], "is gone since Kubernetes 1.37"),
        ([server(), version("networking.k8s.io/v1beta1", "IPAddress")], "is gone since Kubernetes 1.37"),
        ([server(), version("storage.k8s.io/v1beta1", "VolumeAttributesClass")], "is gone since Kubernetes 1.37"),
        ([server(), version("networking.k8s.io/v1", "ServiceCIDR"), version("storage.k8s.io/v1", "VolumeAttributesClass")], ""),
    ],
)
def test_what_the_api_server_drops_or_does_not_serve_is_told(documents: list[Manifest], said: str) -> None:
    told = [each.summary for each in found(*documents) if each.code == "DOC-010"]
    assert all(said in each for each in told) if said else told == []
    assert bool(told) == bool(said)


@pytest.mark.parametrize(
    ("api", "kind", "level"),
    [
        ("autoscaling/v2beta2", "HorizontalPodAutoscaler", "error"),
        ("networking.k8s.io/v1beta1", "Ingress", "error"),
        ("scheduling.k8s.io/v1beta1", "PriorityClass", "error"),
        ("autoscaling/v2", "HorizontalPodAutoscaler", "none"),
        ("networking.k8s.io/v1beta1", "ServiceCIDR", "none"),
    ],
)
def test_a_version_that_no_supported_kubernetes_has_is_an_error(api: str, kind: str, level: str) -> None:
    gone = [each.severity.value for each in found(server(), version(api, kind)) if "exists in no supported Kubernetes" in each.summary]
    assert gone == ([] if level == "none" else [level])


def quota(hard: str) -> Manifest:
    made = version("v1", "ResourceQuota")
    return {**made, "spec": {"hard": {"requests.nvidia.com/gpu": hard}}}


@pytest.mark.parametrize(("most", "hard", "level"), [(8, "4", "warning"), (5, "4", "warning"), (4, "4", "none"), (8, "{{ .x }}", "none")])
def test_a_scaler_is_told_where_the_quota_stops_it(most: int, hard: str, level: str) -> None:
    assert worst("SCALE-017", server(), scaled(1, most), quota(hard)) == level


def monitor(port: str) -> Manifest:
    spec = {"selector": {"matchLabels": {"app": "chat"}}, "podMetricsEndpoints": [{"port": port}]}
    return {"apiVersion": "monitoring.coreos.com/v1", "kind": "PodMonitor", "metadata": {"name": "m", "namespace": "models"}, "spec": spec}


def silent(made: Manifest) -> Manifest:
    made["spec"]["triggers"][0]["metadata"].pop("ignoreNullValues")
    return made


@pytest.mark.parametrize(
    ("code", "documents", "effect"),
    [
        (
            "OBS-003",
            [server(), monitor("8000"), silent(scaled(1, 4))],
            "ScaledObject chat reads 0 and stays at 1 replica, whatever the load",
        ),
        ("OBS-003", [server(), monitor("modelserver"), scaled(1, 4)], "gets an error instead of a number and leaves the count as it is"),
        ("OBS-001", [server(), silent(scaled(2, 4, "sum(vllm:gpu_cache_usage_perc)"))], "reads 0 and stays at 2 replicas"),
        ("OBS-004", [server(args("--disable-log-stats")), silent(scaled(1, 4))], "reads 0 and stays at 1 replica"),
        ("OBS-003", [server(), monitor("8000"), scaled(1, 4, "sum(up)")], ""),
        ("OBS-003", [server(), monitor("8000")], ""),
    ],
)
def test_a_broken_edge_between_metric_and_scaler_is_told_by_its_end_effect(code: str, documents: list[Manifest], effect: str) -> None:
    told = [each.summary for each in found(*documents, service()) if each.code == code]
    assert told
    assert all(effect in each for each in told)
    assert effect or not any("ScaledObject" in each for each in told)


def test_variables_of_no_ray_cluster_stream_nothing() -> None:
    assert worst("RAY-018", server(env(**STREAMING))) == "none"


def routed(name: str, backend: str, host: str = "llm.example.com", to: Manifest | None = None, **match: Any) -> Manifest:
    rule = {"matches": [{"path": {"value": "/v1"}, **match}], "backendRefs": [{"name": backend, "port": 80, **(to or {})}]}
    spec = {"parentRefs": [{"name": "public"}], "hostnames": [host], "rules": [rule]}
    api = "gateway.networking.k8s.io/v1"
    return {"apiVersion": api, "kind": "HTTPRoute", "metadata": {"name": name, "namespace": "models"}, "spec": spec}


def entered(name: str, backend: str, **notes: str) -> Manifest:
    path = {"path": "/v1", "pathType": "Prefix", "backend": {"service": {"name": backend, "port": {"number": 80}}}}
    spec = {"ingressClassName": "nginx", "rules": [{"host": "llm.example.com", "http": {"paths": [path]}}]}
    meta = {"name": name, "namespace": "models", "annotations": {f"nginx.ingress.kubernetes.io/{key}": text for key, text in notes.items()}}
    return {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": meta, "spec": spec}


@pytest.mark.parametrize(
    ("routes", "level"),
    [
        ([routed("a", "chat"), routed("b", "chat-2")], "warning"),
        ([entered("a", "chat"), entered("b", "chat-2")], "warning"),
        ([routed("a", "chat"), routed("b", "chat-2", "other.example.com")], "none"),
        ([routed("a", "chat"), routed("b", "chat-2", headers=[{"name": "model", "value": "b"}])], "none"),
        ([entered("a", "chat"), entered("b", "chat-2", canary="true")], "none"),
        ([routed("a", "chat"), routed("b", "web")], "none"),
        ([routed("a", "chat"), routed("b", "chat")], "none"),
        ([routed("a", "chat"), routed("b", "chat", to={"namespace": "models", "kind": "Service"})], "none"),
        ([routed("a", "chat"), routed("b", "chat", to={"kind": "InferencePool", "group": "inference.networking.k8s.io"})], "warning"),
        ([routed("a", "chat"), entered("b", "chat-2")], "none"),
    ],
)
def test_two_routes_of_one_host_and_path_to_two_engines_are_told(routes: list[Manifest], level: str) -> None:
    pool = {"selector": {"matchLabels": {"app": "chat"}}, "targetPorts": [{"number": 8000}], "endpointPickerRef": {"name": "picker"}}
    picked = {**version("inference.networking.k8s.io/v1", "InferencePool"), "spec": pool}
    assert worst("NET-017", server(), service(), service("chat-2"), picked, *routes) == level


def kept_for(namespace: str) -> list[Manifest]:
    """A claim of an engine that may run on one node only, and a volume of that node that is kept for a claim of that name."""
    reference = {"claimRef": {"name": "cache", **({"namespace": namespace} if namespace else {})}}
    terms = [{"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": ["node-a"]}]}]
    disk = {"storageClassName": "disks", "hostPath": {"path": "/data"}, "nodeAffinity": {"required": {"nodeSelectorTerms": terms}}}
    volume = {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "disk"}, "spec": {**disk, **reference}}

    def chosen(made: Manifest) -> None:
        pod(made)["nodeSelector"] = {"kubernetes.io/hostname": "node-b"}

    return [server(cached, chosen), claim("ReadWriteOnce"), volume]


@pytest.mark.parametrize(("namespace", "level"), [("models", "error"), ("", "error"), ("elsewhere", "none")])
def test_a_volume_is_kept_for_the_claim_of_its_own_namespace(namespace: str, level: str) -> None:
    assert worst("STO-009", *kept_for(namespace)) == level


@pytest.mark.parametrize(
    ("model", "level"),
    [
        ("hf://Qwen/Qwen2.5-7B-Instruct", "error"),
        ("oss://bucket/model", "error"),
        ("https://huggingface.co/Qwen/Qwen2.5-7B-Instruct", "error"),
        ("models--Qwen--Qwen2.5-7B-Instruct", "warning"),
        ("s3://bucket/model", "none"),
        ("az://bucket/model", "none"),
        ("/models/a--b", "none"),
        ("./models/..a", "none"),
        ("{{ .model }}", "none"),
    ],
)
def test_a_model_is_named_so_that_the_engine_can_load_it(model: str, level: str) -> None:
    assert worst("STO-011", server(put("command", value=["vllm", "serve", model]))) == level
    if level == "error":
        loader = args("--max-model-len=4096", "--load-format=mine")
        assert worst("STO-011", server(put("command", value=["vllm", "serve", model]), loader)) == "none"
