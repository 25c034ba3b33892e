"""What a person patches into a pod and what contradicts the plan in it: told at the patch's own path."""

from typing import Any

import pytest

from interlock.infra.config.load import load
from interlock.infra.errors import ConfigError
from interlock.infra.preview import preview
from interlock.infra.rules.findings import Finding
from tests.support import TODAY

PATCH = "servers[0].extra.pod_patch."
POOL = {"name": "p", "gpu": "h100", "nodes": 1, "gpus_per_node": 4}


def findings(patch: dict[str, Any], pool: dict[str, Any] | None = None, **extra: Any) -> list[Finding]:
    server = {"name": "s", "model": {"id": "Qwen/Qwen3-14B"}, "pool": "p", "gpus": 1, "extra": {"pod_patch": patch, **extra}}
    data = {"target": {"local": "d"}, "namespace": "n", "pools": [POOL | (pool or {})], "servers": [server]}
    return list(preview(load(data), "dev", today=TODAY).findings)


def engine(**fields: Any) -> dict[str, Any]:
    return {"containers": [{"name": "engine", **fields}]}


HARDENED = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}, "runAsNonRoot": True, "runAsUser": 1000}
SIDECAR = {"containers": [{"name": "side", "image": "x/y:1", "securityContext": HARDENED, "resources": {"limits": {"nvidia.com/gpu": 1}}}]}


@pytest.mark.parametrize(
    ("patch", "code", "path"),
    [
        ({"nodeSelector": {"interlock.dev/pool": "other"}}, "GPU-025", 'nodeSelector["interlock.dev/pool"]'),
        ({"nodeSelector": {"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB"}}, "GPU-025", 'nodeSelector["nvidia.com/gpu.product"]'),
        ({"nodeSelector": {"interlock.dev/pool": None}}, "GPU-025", 'nodeSelector["interlock.dev/pool"]'),
        ({"nodeSelector": None}, "GPU-025", "nodeSelector"),
        ({"tolerations": []}, "GPU-025", "tolerations"),
        ({"tolerations": [{"key": "spot", "operator": "Exists"}]}, "GPU-025", "tolerations"),
        ({"tolerations": None}, "GPU-025", "tolerations"),
        ({"hostIPC": True}, "SEC-011", "hostIPC"),
        ({"hostNetwork": True}, "SEC-011", "hostNetwork"),
        ({"restartPolicy": "Never"}, "DOC-002", "restartPolicy"),
        (engine(image="nginx:1.29"), "VER-006", "containers[0].image"),
        (engine(image="ghcr.io/huggingface/text-generation-inference:3.3"), "VER-006", "containers[0].image"),
        (engine(command=["sleep", "infinity"]), "DOC-009", "containers[0].command"),
        (engine(args=["sleep", "infinity"]), "DOC-009", "containers[0].args"),
        (SIDECAR, "GPU-001", 'containers[0].resources.limits["nvidia.com/gpu"]'),
        (engine(env={"A": "b"}), "DOC-002", "containers[0].env"),
        ({"initContainers": {"name": "x"}}, "DOC-002", "initContainers"),
    ],
)
def test_a_patch_that_contradicts_the_plan_is_an_error_at_its_own_path(patch: dict[str, Any], code: str, path: str) -> None:
    told = [(each.code, each.severity.value, each.path) for each in findings(patch)]
    assert told == [(code, "error", PATCH + path)]


@pytest.mark.parametrize(
    "patch",
    [
        {},
        {"nodeSelector": {"topology.kubernetes.io/zone": "a"}},
        {"nodeSelector": {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"}},
        {"tolerations": [{"operator": "Exists"}]},
        {"tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}, {"key": "spot", "operator": "Exists"}]},
        {"hostIPC": False, "restartPolicy": "Always"},
        {"schedulerName": "volcano", "priorityClassName": None},
        engine(imagePullPolicy="Always"),
    ],
)
def test_a_patch_beside_the_plan_is_let_be(patch: dict[str, Any]) -> None:
    assert findings(patch) == []


def test_every_taint_of_the_pool_must_stay_tolerated() -> None:
    pool = {"taints": ["nvidia.com/gpu", "team"]}
    (finding,) = findings({"tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}]}, pool)
    assert "tainted with team, which" in finding.summary
    assert findings({}, pool, tolerations=[{"key": "more", "operator": "Exists"}]) == []


@pytest.mark.parametrize("words", [["--model", "x/y"], ["--model=x/y"]])
def test_a_second_model_among_the_arguments_is_refused(words: list[str]) -> None:
    (finding,) = findings({}, args=words)
    assert (finding.code, finding.severity.value, finding.path) == ("ARG-005", "error", "servers[0].extra.args[0]")


@pytest.mark.parametrize("supervised", [True, False])
@pytest.mark.parametrize(("drain", "refused"), [(5, True), (599, True), (600, False)])
def test_a_drain_below_the_longest_answer_is_refused_at_its_field(supervised: bool, drain: int, refused: bool) -> None:
    server = {"name": "s", "model": {"id": "Qwen/Qwen3-14B"}, "pool": "p", "gpus": 1}
    server |= {"rollout": {"drain_seconds": drain}, "runtime": {"supervised": supervised}}
    data = {"target": {"local": "d"}, "namespace": "n", "pools": [POOL], "servers": [server]}
    told = [(each.code, each.severity.value, each.path) for each in preview(load(data), "dev", today=TODAY).findings]
    assert told == ([("ROLL-012", "error", "servers[0].rollout.drain_seconds")] if refused else [])


def test_a_directive_of_kubectl_is_refused_in_a_patch() -> None:
    with pytest.raises(ConfigError, match=r"containers\[0\]\.\$patch: \$patch is kubectl's"):
        findings(engine(**{"$patch": "delete"}))


def test_the_fix_of_another_port_is_at_what_changed_it() -> None:
    moved = {each.code: each.remedy for each in findings({}, args=["--port", "9000"])}
    assert moved["NET-003"] == "remove --port from extra.args"
    (asked,) = findings(engine(readinessProbe={"httpGet": {"path": "/health", "port": 9999}}))
    assert asked.remedy == "set it to 8000"


def test_a_server_on_several_nodes_that_starts_no_engine_any_more_is_refused() -> None:
    data = {
        "target": {"local": "d"},
        "namespace": "n",
        "pools": [POOL | {"nodes": 2, "gpus_per_node": 8}],
        "servers": [{"name": "s", "model": {"id": "deepseek-ai/DeepSeek-V3"}, "pool": "p", "gpus": 16, "nodes": 2}],
    }
    data["servers"][0]["extra"] = {"pod_patch": engine(command=["sleep", "infinity"])}  # type: ignore[index]
    told = [(each.code, each.path) for each in preview(load(data), "dev", today=TODAY).findings]
    assert told == [("DOC-009", f"{PATCH}containers[0].command")]
