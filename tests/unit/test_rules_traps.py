"""What looks like a fault and is none: inputs that each error rule must let pass, or may only remark on."""

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from interlock.cli.reading import load_text
from interlock.infra.facts import Bundle
from interlock.infra.recognise import Document, recognise
from interlock.infra.rules.findings import Finding, Severity
from interlock.infra.rules.judge import RULES, judge
from tests.support import TODAY

Manifest = dict[str, Any]
Change = Callable[[Manifest], None]

SERVER: Manifest = yaml.safe_load("""
apiVersion: apps/v1
kind: Deployment
metadata: {name: chat, namespace: models, labels: {app: chat}}
spec:
  replicas: 1
  strategy: {type: Recreate}
  selector: {matchLabels: {app: chat}}
  template:
    metadata: {labels: {app: chat}}
    spec:
      enableServiceLinks: false
      containers:
      - name: vllm
        image: vllm/vllm-openai:v0.33.0
        command: [vllm, serve, Qwen/Qwen2.5-7B-Instruct]
        args: [--max-model-len=16384]
        ports: [{name: http, containerPort: 8000}]
        resources: {limits: {nvidia.com/gpu: "1", memory: 32Gi}}
        startupProbe: {httpGet: {path: /health, port: http}, failureThreshold: 60}
        readinessProbe: {httpGet: {path: /health, port: http}}
        livenessProbe: {httpGet: {path: /health, port: http}, failureThreshold: 6}
        volumeMounts: [{name: shm, mountPath: /dev/shm}]
      volumes: [{name: shm, emptyDir: {medium: Memory}}]
""")
SERVICE: Manifest = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": "chat", "namespace": "models"},
    "spec": {"selector": {"app": "chat"}, "ports": [{"port": 80, "targetPort": 8000}]},
}


def server(*changes: Change) -> Manifest:
    made: Manifest = copy.deepcopy(SERVER)
    for change in changes:
        change(made)
    return made


def pod(made: Manifest) -> Manifest:
    spec: Manifest = made["spec"]["template"]["spec"]
    return spec


def box(made: Manifest) -> Manifest:
    first: Manifest = pod(made)["containers"][0]
    return first


def bundle(*documents: Manifest) -> Bundle:
    return recognise([Document(each, "a.yaml", index) for index, each in enumerate(documents)], parse=load_text)


def found(*documents: Manifest) -> tuple[Finding, ...]:
    return judge(bundle(*documents), today=TODAY)


def worst(code: str, *documents: Manifest) -> str:
    """``none``, ``info``, ``warning`` or ``error``: the severest finding of one rule."""
    levels = [finding.severity for finding in found(*documents) if finding.code == code]
    return max(levels, key=lambda level: level.rank).value if levels else "none"


def put(*path: str | int, value: Any) -> Change:
    """Sets a field of the engine's container."""

    def change(made: Manifest) -> None:
        at: Any = box(made)
        for key in path[:-1]:
            at = at.setdefault(key, {}) if isinstance(at, dict) else at[key]
        at[path[-1]] = value

    return change


def args(*words: str) -> Change:
    return put("args", value=list(words))


def env(**values: str) -> Change:
    return put("env", value=[{"name": name, "value": value} for name, value in values.items()])


def drop(*names: str) -> Change:
    def change(made: Manifest) -> None:
        for name in names:
            box(made).pop(name)

    return change


def gpus(count: str, name: str = "nvidia.com/gpu") -> Change:
    return put("resources", value={"limits": {name: count, "memory": "64Gi"}})


def no_shm(made: Manifest) -> None:
    box(made)["volumeMounts"], pod(made)["volumes"] = [], []


def service(name: str = "chat", **spec: Any) -> Manifest:
    made = copy.deepcopy(SERVICE)
    made["metadata"]["name"] = name
    made["spec"].update(spec)
    return made


def ingress(kind: str, **notes: str) -> Manifest:
    backend = {"service": {"name": "chat", "port": {"number": 80}}}
    rules = [{"http": {"paths": [{"path": "/v1", "pathType": "Prefix", "backend": backend}]}}]
    meta = {
        "name": "chat",
        "namespace": "models",
        "annotations": {key.replace("__", "/").replace("_", "-"): text for key, text in notes.items()},
    }
    return {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": meta, "spec": {"ingressClassName": kind, "rules": rules}}


def claim(mode: str) -> Manifest:
    spec = {"accessModes": [mode], "resources": {"requests": {"storage": "100Gi"}}}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "cache", "namespace": "models"}, "spec": spec}


def cached(made: Manifest) -> None:
    pod(made)["volumes"].append({"name": "cache", "persistentVolumeClaim": {"claimName": "cache"}})
    box(made)["volumeMounts"].append({"name": "cache", "mountPath": "/root/.cache/huggingface"})


def budget(**limits: Any) -> Manifest:
    spec = {"selector": {"matchLabels": {"app": "chat"}}, **limits}
    return {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "chat", "namespace": "models"}, "spec": spec}


def inference_service(**predictor: Any) -> Manifest:
    words = ["--model_id=Qwen/Qwen2.5-7B-Instruct", "--model_name=chat", "--task=text_generation", "--backend=vllm", "-tp=2"]
    model = {"modelFormat": {"name": "huggingface"}, "args": words, "resources": {"limits": {"nvidia.com/gpu": "2"}}}
    spec = {"predictor": {"model": model, **predictor}}
    return {"apiVersion": "serving.kserve.io/v1beta1", "kind": "InferenceService", "metadata": {"name": "chat"}, "spec": spec}


def scaled(lowest: int, highest: int, query: str = "sum(vllm:num_requests_waiting)") -> Manifest:
    trigger = {
        "type": "prometheus",
        "metadata": {"serverAddress": "http://p", "query": query, "threshold": "4", "ignoreNullValues": "false"},
    }
    spec = {"scaleTargetRef": {"name": "chat"}, "minReplicaCount": lowest, "maxReplicaCount": highest, "triggers": [trigger]}
    return {"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject", "metadata": {"name": "chat", "namespace": "models"}, "spec": spec}


def test_a_server_in_order_has_no_findings() -> None:
    assert found(server(), service()) == ()


DIGEST = "@sha256:" + "ab" * 32


def noted(name: str, value: str) -> Manifest:
    made = ingress("nginx")
    made["metadata"]["annotations"] = {
        "nginx.ingress.kubernetes.io/proxy-read-timeout": "600",
        f"nginx.ingress.kubernetes.io/{name}": value,
    }
    return made


def secret(**data: str) -> Manifest:
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "db", "namespace": "models"}, "stringData": data}


def second_engine(made: Manifest) -> None:
    other = copy.deepcopy(box(made)) | {"name": "embed", "args": ["--port=8001"], "ports": [{"containerPort": 8001}]}
    pod(made)["containers"].append({key: other[key] for key in ("name", "image", "command", "args", "ports")})


_SCALING = '{"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768}'
YARN = f'{{"max_position_embeddings": 131072, "rope_scaling": {_SCALING}}}'

GREEDY = [
    ("an annotation with timeout in its name", "NET-007", [server(), service(), noted("proxy-next-upstream-timeout", "0")]),
    (
        "a host name in a Secret",
        "SEC-003",
        [secret(host="my-prod-db01.cluster-abc.us-east-1.rds.amazonaws.com", username="app_user_2024_production1")],
    ),
    ("a Service of the second engine", "NET-002", [server(second_engine), service(ports=[{"port": 80, "targetPort": 8001}])]),
    ("a key of the documentation", "SEC-002", [server(env(AWS_ACCESS_KEY="AKIAIOSFODNN7EXAMPLE"))]),
    (
        "a parser of a plug-in",
        "ARG-003",
        [server(put("image", value="vllm/vllm-openai:v0.6.3"), args("--enable-auto-tool-choice", "--tool-call-parser=mine"))],
    ),
    ("a digest pins any tag", "VER-001", [server(put("image", value="vllm/vllm-openai:latest" + DIGEST))]),
    (
        "a nightly of one commit is pinned",
        "VER-001",
        [server(put("image", value="vllm/vllm-openai:nightly-dee37d89115db4c94a820a79a78a7828e141c910"))],
    ),
    (
        "a version of a private registry is pinned",
        "VER-001",
        [server(put("image", value="registry.example.com:5000/ml/serving:v0.11.0-rc1"))],
    ),
    ("a main branch build with its version", "VER-001", [server(put("image", value="rocm/vllm-dev:main-v0.11.2-20251210"))]),
    ("readiness alone kills nobody", "ROLL-001", [server(drop("startupProbe", "livenessProbe"))]),
    ("a startup probe covers a short liveness", "ROLL-001", [server(put("livenessProbe", "failureThreshold", value=1))]),
    (
        "a small model is ready in two minutes",
        "ROLL-001",
        [server(put("command", value=["vllm", "serve", "Qwen/Qwen2.5-0.5B-Instruct"]), put("startupProbe", "failureThreshold", value=13))],
    ),
    (
        "a CPU build needs no GPU",
        "GPU-007",
        [
            server(
                put("image", value="public.ecr.aws/q9t5s3a7/vllm-cpu-release-repo:v0.10.2"),
                put("resources", value={"limits": {"cpu": "8"}}),
            )
        ],
    ),
    ("a device claim is an accelerator", "GPU-007", [server(put("resources", value={"claims": [{"name": "gpu"}]}))]),
    ("data parallel counts", "GPU-001", [server(gpus("4"), args("--max-model-len=16384", "-tp", "2", "-dp", "2"))]),
    ("pipeline parallel counts", "GPU-001", [server(gpus("4"), args("--max-model-len=16384", "-tp=2", "--pipeline_parallel_size=2"))]),
    (
        "a sidecar's GPU is not the engine's",
        "GPU-001",
        [
            server(
                lambda made: pod(made)["containers"].append(
                    {"name": "embed", "image": "other:1.0", "resources": {"limits": {"nvidia.com/gpu": "1"}}}
                )
            )
        ],
    ),
    ("service links are off", "NET-001", [server(), service("vllm")]),
    (
        "the port is set by hand",
        "NET-001",
        [server(lambda made: pod(made).pop("enableServiceLinks"), env(VLLM_PORT="8000")), service("vllm")],
    ),
    ("the first internal port is a number", "NET-013", [server(env(VLLM_PORT="29500"))]),
    ("KServe's server has flags of its own", "ARG-001", [inference_service()]),
    ("a runtime elsewhere may mount shared memory", "MEM-010", [inference_service()]),
    ("a maximum of zero is none for KServe", "DOC-002", [inference_service(minReplicas=3, maxReplicas=0)]),
    ("another name does not clash", "NET-001", [server(lambda made: pod(made).pop("enableServiceLinks")), service("llm-gateway")]),
    (
        "a Service in another namespace injects nothing",
        "NET-001",
        [server(lambda made: pod(made).pop("enableServiceLinks")), {**service("vllm"), "metadata": {"name": "vllm", "namespace": "other"}}],
    ),
    (
        "the host's shared memory is enough",
        "MEM-010",
        [server(gpus("2"), args("-tp=2"), no_shm, lambda made: pod(made).update(hostIPC=True))],
    ),
    ("one replica may have a claim for one node", "STO-001", [server(cached), claim("ReadWriteOnce")]),
    (
        "replicas may share a claim for many",
        "STO-001",
        [server(cached, lambda made: made["spec"].update(replicas=3)), claim("ReadWriteMany")],
    ),
    ("Traefik has no limit", "NET-006", [server(), service(), ingress("traefik")]),
    (
        "ten minutes are enough",
        "NET-006",
        [
            server(),
            service(),
            ingress("nginx", nginx_ingress_kubernetes_io__x="1")
            | {
                "metadata": {
                    "name": "chat",
                    "namespace": "models",
                    "annotations": {"nginx.ingress.kubernetes.io/proxy-read-timeout": "600"},
                }
            },
        ],
    ),
    (
        "a route to something else",
        "NET-006",
        [
            server(),
            service(),
            {
                **ingress("nginx"),
                "spec": {
                    "ingressClassName": "nginx",
                    "rules": [
                        {
                            "http": {
                                "paths": [
                                    {"path": "/", "pathType": "Prefix", "backend": {"service": {"name": "web", "port": {"number": 80}}}}
                                ]
                            }
                        }
                    ],
                },
            },
        ],
    ),
    ("two replicas may lose one", "ROLL-004", [server(lambda made: made["spec"].update(replicas=2)), budget(minAvailable=1)]),
    ("half of two is one", "ROLL-004", [server(lambda made: made["spec"].update(replicas=2)), budget(minAvailable="50%")]),
    ("an autoscaler may have more", "ROLL-004", [server(), budget(minAvailable=1), scaled(1, 4)]),
    ("a model that the hub does not gate", "STO-006", [server()]),
    ("the key is the word EMPTY", "SEC-001", [server(args("--api-key=EMPTY"))]),
    (
        "a key from a Secret",
        "SEC-002",
        [server(put("env", value=[{"name": "HF_TOKEN", "valueFrom": {"secretKeyRef": {"name": "hub", "key": "token"}}}]))],
    ),
    (
        "a number is no token",
        "SEC-002",
        [server(env(MAX_TOKENS="4096", TOKENIZERS_PARALLELISM="false", HF_HUB_TOKEN_PATH="/var/run/token"))],
    ),
    (
        "a sidecar stands on the port",
        "NET-003",
        [
            server(
                put("readinessProbe", "httpGet", "port", value=9000),
                lambda made: pod(made)["containers"].append({"name": "proxy", "image": "envoy:1.0", "ports": [{"containerPort": 9000}]}),
            )
        ],
    ),
    (
        "a Service of several ports with the right one",
        "NET-002",
        [server(), service(ports=[{"name": "http", "port": 80, "targetPort": 8000}, {"name": "zmq", "port": 5557}])],
    ),
    ("a named port", "NET-002", [server(), service(ports=[{"port": 80, "targetPort": "http"}])]),
    (
        "a marlin flag reads AWQ",
        "ARG-012",
        [server(put("command", value=["vllm", "serve", "Qwen/Qwen2.5-7B-Instruct-AWQ"]), args("--quantization=awq_marlin"))],
    ),
    ("fp8 is made while loading", "ARG-012", [server(args("--quantization=fp8"))]),
    ("a model in a variable", "ARG-008", [server(put("command", value=["vllm", "serve", "$(MODEL)"]), env(MODEL="x"))]),
    ("a model in a config file", "ARG-008", [server(put("command", value=["vllm", "serve"]), args("--config=/etc/vllm/config.yaml"))]),
    ("an abbreviated flag", "ARG-001", [server(args("--max-num-seq=16"))]),
    (
        "a flag that its old version had",
        "ARG-001",
        [server(put("image", value="vllm/vllm-openai:v0.8.5"), args("--swap-space=4", "--disable-log-requests"))],
    ),
    ("a length in words", "ARG-003", [server(args("--max-model-len=16k", "--kv-cache-dtype=fp8"))]),
    ("the model's own length", "MEM-004", [server(args("--max-model-len=32768"))]),
    (
        "a length beyond with rope scaling",
        "MEM-004",
        [server(args("--max-model-len=65536", f"--hf-overrides={YARN}"))],
    ),
    ("an unknown GPU decides nothing", "MEM-001", [server(put("command", value=["vllm", "serve", "meta-llama/Llama-3.1-405B-Instruct"]))]),
    ("a fine card for the model", "MEM-002", [server(lambda made: pod(made).update(nodeSelector={"nvidia.com/gpu.product": "NVIDIA-L4"}))]),
    (
        "memory at half of the weights loads",
        "MEM-012",
        [server(put("resources", value={"limits": {"nvidia.com/gpu": "1", "memory": "16Gi"}}))],
    ),
    ("heads that divide", "GPU-002", [server(gpus("4"), args("-tp=4"))]),
    (
        "KV heads that are replicated",
        "GPU-002",
        [server(gpus("8"), put("command", value=["vllm", "serve", "Qwen/Qwen2.5-3B-Instruct"]), args("-tp=8"))],
    ),
    (
        "widths that a publisher padded",
        "GPU-023",
        [server(gpus("4"), put("command", value=["vllm", "serve", "Qwen/Qwen2.5-72B-Instruct-AWQ"]), args("-tp=4"))],
    ),
    (
        "a T4 with half precision",
        "GPU-013",
        [
            server(
                args("--dtype=half", "--max-model-len=4096"),
                lambda made: pod(made).update(nodeSelector={"nvidia.com/gpu.product": "Tesla-T4"}),
            )
        ],
    ),
    ("root needs no home", "SEC-008", [server(put("securityContext", value={"runAsUser": 0}))]),
    ("a home of its own", "SEC-008", [server(put("securityContext", value={"runAsUser": 1000}), env(HOME="/tmp"))]),
    (
        "zero replicas are woken by the gateway",
        "SCALE-006",
        [server(), scaled(0, 4, "sum(envoy_cluster_upstream_rq_active) + sum(vllm:num_requests_waiting)")],
    ),
    ("a metric that a recording rule makes", "OBS-001", [server(), scaled(1, 4, "sum(rate(vllm:request_success_total[5m]))")]),
    (
        "a grace period that is long enough",
        "ROLL-010",
        [
            server(
                args("--shutdown-timeout=45"),
                put("lifecycle", value={"preStop": {"sleep": {"seconds": 15}}}),
                lambda made: pod(made).update(terminationGracePeriodSeconds=75),
            )
        ],
    ),
    ("the engine listens on all addresses", "NET-005", [server(args("--host=0.0.0.0"))]),
]


@pytest.mark.parametrize(("name", "code", "documents"), GREEDY, ids=[row[0].replace(" ", "-") for row in GREEDY])
def test_what_is_no_fault_passes(name: str, code: str, documents: list[Manifest]) -> None:
    assert worst(code, *documents) == "none", name


SOFT = [
    (
        "a variant may be made for more",
        "MEM-004",
        "info",
        [server(put("command", value=["vllm", "serve", "Qwen/Qwen3-4B-Instruct-2603"]), args("--max-model-len=131072"))],
    ),
    ("a filled-in image cannot be judged", "VER-001", "info", [server(put("image", value="{{ .Values.image }}"))]),
    ("one rank without shared memory is advice", "MEM-010", "info", [server(no_shm)]),
    (
        "sizes from a variable cannot be compared",
        "GPU-001",
        "info",
        [server(gpus("4"), put("command", value=["sh", "-c", "vllm serve m --tensor-parallel-size $TP_SIZE"]), drop("args"))],
    ),
    ("more GPUs than ranks are waste", "GPU-001", "warning", [server(gpus("4"), args("-tp=2"))]),
    ("shares of a card are no count", "GPU-001", "info", [server(gpus("2", "nvidia.com/gpu.shared"))]),
    (
        "a private build may know the flag",
        "ARG-001",
        "warning",
        [server(put("image", value="registry.example.com/vllm:v0.33.0"), args("--our-own-flag=1"))],
    ),
    ("unknown spare GPUs are a remark", "ROLL-003", "info", [server(lambda made: made["spec"].pop("strategy"))]),
    (
        "a chosen surge without known GPUs is a risk",
        "ROLL-003",
        "warning",
        [server(lambda made: made["spec"].update(strategy={"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}))],
    ),
    (
        "bfloat16 falls back on new versions",
        "GPU-013",
        "info",
        [server(args("--max-model-len=4096"), lambda made: pod(made).update(nodeSelector={"nvidia.com/gpu.product": "Tesla-T4"}))],
    ),
    (
        "a headless Service injects nothing today",
        "NET-001",
        "warning",
        [server(lambda made: pod(made).pop("enableServiceLinks")), service("vllm", clusterIP="None")],
    ),
    (
        "an unserved path before readiness only delays",
        "NET-004",
        "warning",
        [server(put("readinessProbe", "httpGet", "path", value="/ready"))],
    ),
]


@pytest.mark.parametrize(("name", "code", "level", "documents"), SOFT, ids=[row[0].replace(" ", "-") for row in SOFT])
def test_what_cannot_be_decided_is_no_error(name: str, code: str, level: str, documents: list[Manifest]) -> None:
    assert worst(code, *documents) == level, name


def test_pods_of_a_group_count_together() -> None:
    template = {"metadata": {"labels": {"app": "chat"}}, "spec": pod(server(gpus("8"), args("-tp=8", "-pp=2")))}
    worker = copy.deepcopy(template)
    worker["spec"]["containers"][0]["command"] = ["sh", "-c", "ray start --address=$(LWS_LEADER_ADDRESS):6379 --block"]
    groups = {"size": 2, "leaderTemplate": template, "workerTemplate": worker}
    lws = {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": {"name": "chat"},
        "spec": {"leaderWorkerTemplate": groups},
    }
    assert worst("GPU-001", lws) == "none"


def test_other_engines_are_not_judged() -> None:
    other = server(
        put("image", value="lmsysorg/sglang:latest"), put("command", value=["python3", "-m", "sglang.launch_server", "--model-path", "x"])
    )
    assert [finding.code for finding in found(other) if finding.severity is Severity.ERROR] == []


@pytest.mark.parametrize(
    ("word", "level"),
    [
        ("--max-model-len=8192.0", "error"),
        ("--max-num-seqs=1.28e+02", "error"),
        ("--max-model-len=16k", "none"),
        ("--max-model-len=1.5k", "none"),
        ("--gpu-memory-utilization=0.9", "none"),
    ],
)
def test_an_integer_that_arrives_as_a_float_is_refused(word: str, level: str) -> None:
    assert worst("ARG-003", server(put("args", value=[word]))) == level


GATED_MODEL = put("command", value=["vllm", "serve", "meta-llama/Llama-3.1-8B-Instruct"])


@pytest.mark.parametrize(
    ("variables", "level"),
    [
        ({}, "error"),
        ({"HF_ENDPOINT": "https://huggingface.co/"}, "error"),
        ({"VLLM_USE_MODELSCOPE": "false"}, "error"),
        ({"HF_ENDPOINT": "http://mirror.internal"}, "warning"),
        ({"VLLM_USE_MODELSCOPE": "true"}, "none"),
    ],
)
def test_no_token_is_demanded_for_a_model_from_elsewhere(variables: dict[str, str], level: str) -> None:
    assert worst("STO-006", server(GATED_MODEL, env(**variables))) == level


def disk(node: str, **spec: Any) -> Manifest:
    asked = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}]}]}
    made = {"storageClassName": "local", "local": {"path": "/ssd"}, "nodeAffinity": {"required": asked}, "accessModes": ["ReadWriteOnce"]}
    return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "disk-a"}, "spec": made | spec}


@pytest.mark.parametrize(
    ("of_disk", "of_claim", "level"),
    [
        ({}, {}, "none"),
        ({}, {"volumeName": "disk-a"}, "error"),
        ({"claimRef": {"name": "cache", "namespace": "models"}}, {}, "error"),
        ({}, {"volumeName": "disk-b"}, "none"),
    ],
)
def test_a_volume_of_the_same_class_is_not_yet_the_volume_of_a_claim(of_disk: Manifest, of_claim: Manifest, level: str) -> None:
    claimed = claim("ReadWriteOnce")
    claimed["spec"].update(storageClassName="local", **of_claim)
    on_b = server(
        lambda made: pod(made).update(nodeSelector={"kubernetes.io/hostname": "node-b"}),
        lambda made: pod(made)["volumes"].append({"name": "cache", "persistentVolumeClaim": {"claimName": "cache"}}),
    )
    assert worst("STO-009", on_b, claimed, disk("node-a", **of_disk)) == level


@pytest.mark.parametrize(("stated", "codes"), [(None, {"RAY-017"}), ("0", {"RAY-017"}), ("8", {"RAY-003"})])
def test_a_group_that_is_told_of_gpus_offers_them_to_ray(stated: str | None, codes: set[str]) -> None:
    text = (Path(__file__).parents[1] / "data" / "review" / "ray-own-application-with-user-config.yaml").read_text("utf-8")
    (service_,) = yaml.safe_load_all(text)
    if stated is not None:
        service_["spec"]["rayClusterConfig"]["workerGroupSpecs"][0]["rayStartParams"]["num-gpus"] = stated
    assert {each.code for each in found(service_)} & {"RAY-003", "RAY-017"} == codes


DASHBOARD: Manifest = {
    "apiVersion": "networking.k8s.io/v1",
    "kind": "Ingress",
    "metadata": {"name": "grafana", "namespace": "monitoring", "annotations": {"nginx.ingress.kubernetes.io/proxy-read-timeout": "7200"}},
    "spec": {
        "ingressClassName": "nginx",
        "rules": [
            {"http": {"paths": [{"path": "/", "pathType": "Prefix", "backend": {"service": {"name": "grafana", "port": {"number": 80}}}}]}}
        ],
    },
}


@pytest.mark.parametrize(
    ("route", "level"), [(DASHBOARD, "none"), (ingress("nginx", **{"nginx.ingress.kubernetes.io__proxy-read-timeout": "7200"}), "warning")]
)
def test_a_drain_is_measured_by_the_routes_of_engines_only(route: Manifest, level: str) -> None:
    proxy = {"apiVersion": "gateway.envoyproxy.io/v1alpha1", "kind": "EnvoyProxy", "metadata": {"name": "proxy", "namespace": "edge"}}
    proxy["spec"] = {"shutdown": {"drainTimeout": "15m"}}
    told = [each for each in found(server(args("--shutdown-timeout=60")), SERVICE, proxy, route) if each.code == "ROLL-021"]
    assert (told[0].severity.value if told else "none") == level
    longer = proxy | {"spec": {"shutdown": {"drainTimeout": "30s"}}}
    waits = [each.summary for each in found(server(args("--shutdown-timeout=60")), SERVICE, longer) if each.code == "ROLL-021"]
    assert "the engine waits 60 s" in waits[0]


@pytest.mark.parametrize("code", ["ROLL-010", "ROLL-012"])
def test_what_a_rule_demands_speaks_of_the_supervisor_as_its_findings_do(code: str) -> None:
    demand = next(each.demand for each in RULES if each.code == code)
    assert [word for word in ("shutdown timeout", "supervisor", "drain") if word not in demand] == []


def test_kserves_model_id_is_the_model() -> None:
    (workload,) = bundle(inference_service()).workloads
    assert workload.engine.model.value == "Qwen/Qwen2.5-7B-Instruct"


@pytest.mark.parametrize(
    ("code", "path", "documents"),
    [
        ("DOC-002", "spec.predictor.minReplicas", [inference_service(minReplicas=3, maxReplicas=1)]),
        ("SCALE-005", "spec.minReplicaCount", [server(), scaled(3, 1)]),
        ("NET-013", "spec.template.spec.containers[0].env[0].value", [server(env(VLLM_PORT="tcp://10.0.0.1:80"))]),
        ("ARG-003", "spec.template.spec.containers[0].args[0]", [server(args("--kv-cache-dtype=fp9"))]),
    ],
)
def test_what_is_certainly_refused_is_an_error_where_it_stands(code: str, path: str, documents: list[Manifest]) -> None:
    assert (code, path) in [(each.code, each.path) for each in found(*documents) if each.severity is Severity.ERROR]
