"""The manifest of a case: a workload that is in order, changed by what the case states."""

import json
from collections.abc import Mapping
from typing import Any

from interlock.infra.catalog.hub import TOKENS
from interlock.infra.catalog.versions import since
from interlock.infra.values import Version
from tools.cases.values import duration, first, mapping, nothing, number, size
from tools.cases.watched import one_of, read_if

Manifest = dict[str, Any]
LABELS = {"app": "engine"}
MODEL = "org/model"
DIGEST = "sha256:" + "0123456789abcdef" * 4
GPU_KEYS = ("nvidia.com/", "amd.com/", "gpu.intel.com/", "habana.ai/")


def version_of(case: Mapping[str, Any]) -> str | None:
    """A release number, also of ``>=0.18`` or ``0.6.x``; None for a date or nothing."""
    text = str(mapping(case.get("vllm")).get("version") or "").strip(">=~< ").replace(".x", ".0")
    return text if Version.parse(text) and not text.startswith("20") else None


def image(case: Mapping[str, Any]) -> str:
    stated = mapping(case.get("k8s")).get("image")
    if isinstance(stated, str):
        return stated
    version = version_of(case)
    # Ray left vLLM's own image in 0.18.
    if mapping(case.get("ray")) and version and (Version.parse(version) or Version(0, 0)) >= Version(0, 18):
        return f"rayproject/ray-llm@{DIGEST}"
    return f"vllm/vllm-openai:v{version}@{DIGEST}" if version else f"vllm/vllm-openai@{DIGEST}"


LENGTH = "LENGTH"
"""A variable whose value nobody can read: the length, for versions that cannot be told to take what fits."""


def _before_auto(case: Mapping[str, Any]) -> bool:
    version = Version.parse(version_of(case) or "")
    return version is not None and not since("auto_length", version)


def arguments(case: Mapping[str, Any]) -> list[str]:
    flags = dict(mapping(mapping(case.get("vllm")).get("flags")))
    model = str(flags.pop("model", "") or mapping(case.get("model")).get("name") or MODEL)
    words = ["vllm", "serve", model.replace(" ", "-") if not model.startswith("/") else model]
    if "max_model_len" not in flags and not mapping(case.get("model")).get("max_position"):
        flags["max_model_len"] = (f"$({LENGTH})" if _before_auto(case) else "auto") if "vllm" in case else None
    words += _speculative(flags.pop("speculative", None), case)
    for name, value in flags.items():
        option = "--" + name.replace("_", "-")
        if value is True:
            words.append(option)
        elif value is False:
            words.append("--no-" + option[2:])
        elif value is not None:
            words.append(f"{option}={json.dumps(value) if isinstance(value, dict | list) else value}")
    words += [str(word) for word in mapping(case.get("vllm")).get("args") or []]
    if mapping(case.get("k8s")).get("args_contains_secret") is True:
        words.append("--api-key=hunter2-plain-key")
    return words


def _speculative(stated: Any, case: Mapping[str, Any]) -> list[str]:
    draft = mapping(stated)
    if not draft:
        return []
    tokens, ranks = draft.get("tokens"), draft.get("draft_tp")
    key = Version.parse(version_of(case) or "")
    if key and key < Version(0, 9):
        words = [f"--speculative-model={draft.get('draft')}"]
        words += [f"--num-speculative-tokens={tokens}"] if tokens else []
        return words + ([f"--speculative-draft-tensor-parallel-size={ranks}"] if ranks else [])
    config = {"model": draft.get("draft"), "num_speculative_tokens": tokens, "draft_tensor_parallel_size": ranks}
    return ["--speculative-config=" + json.dumps({k: v for k, v in config.items() if v is not None})]


def world(case: Mapping[str, Any]) -> int:
    flags = mapping(mapping(case.get("vllm")).get("flags"))
    sizes = [number(flags.get(name)) or 1 for name in ("tensor_parallel_size", "pipeline_parallel_size", "data_parallel_size")]
    return int(sizes[0] * sizes[1] * sizes[2])


def accelerators(case: Mapping[str, Any], pods: int) -> dict[str, str]:
    k8s = mapping(case.get("k8s"))
    stated = {key: str(k8s[key]) for key in k8s if key.startswith(GPU_KEYS) and k8s[key] is not None}
    if stated:
        return stated
    slices = str(mapping(case.get("gpu")).get("type") or "")
    each = str(max(1, -(-world(case) // pods)))
    profile = next((word for word in slices.replace(",", " ").split() if "g." in word and word.endswith("gb")), None)
    if "MIG" in slices:
        return {f"nvidia.com/mig-{profile or '3g.20gb'}": each}
    return {"nvidia.com/gpu": each}


def container(case: Mapping[str, Any], pods: int) -> Manifest:
    k8s = mapping(case.get("k8s"))
    limits: dict[str, str] = accelerators(case, pods)
    requests: dict[str, str] = {}
    for name in ("cpu", "memory"):
        if k8s.get(name) is not None:
            requests[name] = str(k8s[name])
    if k8s.get("ephemeral_request"):
        requests["ephemeral-storage"] = str(k8s["ephemeral_request"])
    limit = read_if(k8s, "memory_limit", size)
    if limit:
        limits["memory"] = str(limit)
    built: Manifest = {
        "name": "engine",
        "image": image(case),
        "command": arguments(case),
        "env": environment(case, pods > 1),
        "ports": [{"name": "http", "containerPort": port(case)}],
        "resources": {"limits": limits, "requests": requests},
        "volumeMounts": [{"name": "cache", "mountPath": "/root/.cache/huggingface"}] if cached(k8s) else [],
        "securityContext": security(k8s),
        **probes(k8s, port(case)),
    }
    for path in k8s.get("emptyDirs") or []:
        built["volumeMounts"].append({"name": _volume(path), "mountPath": path})
    if local_folder(case):
        built["volumeMounts"].append({"name": "local", "mountPath": local_folder(case)})
    if k8s.get("hostPath"):
        built["volumeMounts"].append({"name": "weights", "mountPath": "/models"})
    if k8s.get("tmp_writable"):
        built["volumeMounts"].append({"name": "tmp", "mountPath": "/tmp"})
    if "shm_volume" not in k8s or mapping(k8s["shm_volume"]):
        built["volumeMounts"].append({"name": "shm", "mountPath": "/dev/shm"})
    wait = duration(first(k8s, "preStop_sleep", "preStop", "pre_stop"))
    if wait is not None:
        built["lifecycle"] = {"preStop": {"sleep": {"seconds": int(wait)}}}
    return built


def local_folder(case: Mapping[str, Any]) -> str:
    """The first folder of a model's path: the case speaks of a model that lies there."""
    model = str(mapping(mapping(case.get("vllm")).get("flags")).get("model") or "")
    held = mapping(case.get("k8s")).get("hostPath") is not None
    return "/" + model.split("/")[1] if model.startswith("/") and model.count("/") > 1 and not held else ""


def _volume(path: str) -> str:
    return "dir" + path.replace("/", "-").replace(".", "")


def port(case: Mapping[str, Any]) -> int:
    return int(number(mapping(mapping(case.get("vllm")).get("flags")).get("port")) or 8000)


def stated_env(k8s: Mapping[str, Any]) -> dict[str, Any]:
    """The variables; a sentence in place of a token says what no manifest can, so it is not read."""

    def variables(value: Any) -> dict[str, Any] | None:
        found = dict(mapping(value))
        return found if all(" " not in str(found.get(name)) for name in TOKENS) else None

    return read_if(k8s, "env", variables) or {}


def environment(case: Mapping[str, Any], spread: bool) -> list[Manifest]:
    k8s = mapping(case.get("k8s"))
    stated = stated_env(k8s)
    for name in ("HOME", "HF_HOME"):
        if name in k8s:
            stated[name] = k8s[name]
    found: list[Manifest] = []
    for name, value in stated.items():
        if nothing(value) and value != "":
            continue
        if isinstance(value, str) and "secretKeyRef" in value:
            found.append({"name": name, "valueFrom": {"secretKeyRef": {"name": "keys", "key": name}}})
        else:
            found.append({"name": name, "value": str(value)})
    if one_of(k8s, "network", "none") and "HF_HUB_OFFLINE" not in stated:
        found.append({"name": "HF_HUB_OFFLINE", "value": "1"})
    if spread and "network" not in k8s and not any(name.startswith("NCCL_") for name in stated):
        found.append({"name": "NCCL_SOCKET_IFNAME", "value": "eth0"})
    if "vllm" in case and _before_auto(case):
        found.append({"name": LENGTH, "valueFrom": {"configMapKeyRef": {"name": "lengths", "key": "length"}}})
    if "HF_TOKEN" not in stated:
        found.append({"name": "HF_TOKEN", "valueFrom": {"secretKeyRef": {"name": "hub", "key": "token"}}})
    return found


def security(k8s: Mapping[str, Any]) -> Manifest:
    names = ("runAsNonRoot", "runAsUser", "readOnlyRootFilesystem", "privileged")
    return {name: k8s[name] for name in names if k8s.get(name) is not None}


_FIELDS = {
    "initialDelaySeconds": ("initialDelaySeconds", "initial_delay", "initialDelay"),
    "periodSeconds": ("periodSeconds", "period"),
    "failureThreshold": ("failureThreshold", "failures", "failure_threshold"),
    "timeoutSeconds": ("timeoutSeconds", "timeout"),
}


def probes(k8s: Mapping[str, Any], number_of_port: int) -> Manifest:
    found: Manifest = {}
    stated = {kind: k8s[kind] for kind in ("startup", "readiness", "liveness") if kind in k8s}
    stated |= {kind: k8s[f"{kind}Probe"] for kind in ("startup", "readiness", "liveness") if f"{kind}Probe" in k8s}
    for kind, value in stated.items():
        if nothing(value):
            continue
        found[f"{kind}Probe"] = probe(value, number_of_port, k8s.get("server_has_path") is not False)
    if "startup" not in stated and ("liveness" not in stated or k8s.get("server_has_path") is False):
        found["startupProbe"] = {**probe({}, number_of_port, True), "periodSeconds": 10, "failureThreshold": 360}
    if "readiness" not in stated:
        found["readinessProbe"] = probe({}, number_of_port, True)
    if "liveness" not in stated:
        found["livenessProbe"] = {**probe({}, number_of_port, True), "failureThreshold": 6}
    return found


def probe(value: Any, number_of_port: int, served: bool) -> Manifest:
    if isinstance(value, str) and value.startswith("tcp:"):
        return {"tcpSocket": {"port": int(number(value) or number_of_port)}}
    fields = mapping(value)
    path = str(fields.get("path") or "/health") if served else "/not-served"
    built: Manifest = {"httpGet": {"path": path, "port": int(number(fields.get("port")) or number_of_port)}}
    for name, spellings in _FIELDS.items():
        seconds = number(first(fields, *spellings))
        if seconds is not None:
            built[name] = int(seconds)
    if isinstance(value, str) and "initialDelay" in value:
        built["initialDelaySeconds"] = int(number(value) or 30)
    return built


def pod(case: Mapping[str, Any], pods: int) -> Manifest:
    k8s = mapping(case.get("k8s"))
    spec_extra: Manifest = {}
    volumes: list[Manifest] = [cache_volume(k8s)] if cached(k8s) else []
    volumes += [{"name": _volume(path), "emptyDir": {}} for path in k8s.get("emptyDirs") or []]
    volumes += [{"name": "tmp", "emptyDir": {}}] if k8s.get("tmp_writable") else []
    volumes += [{"name": "local", "persistentVolumeClaim": {"claimName": "local"}}] if local_folder(case) else []
    folder = k8s.get("hostPath")
    volumes += [{"name": "weights", "hostPath": {"path": str(folder)}}] if folder else []
    if k8s.get("hostIPC") is not None:
        spec_extra["hostIPC"] = bool(k8s["hostIPC"])
    shm = mapping(k8s.get("shm_volume"))
    if "shm_volume" not in k8s or shm:
        volumes.append({"name": "shm", "emptyDir": {"medium": "Memory", **shm}})
    spec: Manifest = {"containers": [container(case, pods)], "volumes": volumes, **spec_extra}
    spec["enableServiceLinks"] = bool(k8s.get("enableServiceLinks"))
    if "service_name" in k8s and "enableServiceLinks" not in k8s:
        spec["enableServiceLinks"] = True
    grace = number(first(k8s, "terminationGracePeriodSeconds", "grace"))
    spec["terminationGracePeriodSeconds"] = int(grace) if grace is not None else 60
    if not nothing(k8s.get("runtimeClassName")):
        spec["runtimeClassName"] = str(k8s["runtimeClassName"])
    return spec


def cached(k8s: Mapping[str, Any]) -> bool:
    """Whether a volume holds the model cache: as stated; yes where nothing speaks of it."""
    offline = any("OFFLINE" in name for name in stated_env(k8s))
    disk, path = "node_disk_gb" in k8s, "cache_path" in k8s
    elsewhere = disk or path
    return not nothing(k8s["pvc"]) if "pvc" in k8s else not (offline or elsewhere)


def cache_volume(k8s: Mapping[str, Any]) -> Manifest:
    held = k8s.get("pvc")
    room = read_if(k8s, "model_cache_size", size)
    if nothing(held) and room:
        return {"name": "cache", "emptyDir": {"sizeLimit": str(room)}}
    return {"name": "cache", "persistentVolumeClaim": {"claimName": "cache"}}
