"""The pack against messages as the engine sends them: a compliant Deployment, and one change for each contradiction."""

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest

DEPLOYMENT = "kubernetes:apps/v1:Deployment"
URN = f"urn:pulumi:dev::foreign::{DEPLOYMENT}::chat"
# How values that are not known yet, and secrets, go over the wire.
UNKNOWN_TEXT = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
UNKNOWN_NUMBER = "3eeb2bf0-c639-47a8-9e75-3b44932eb421"
UNKNOWN_LIST = "6a19a0b0-7e62-4c92-b797-7f8e31da9cc2"
UNKNOWN_OBJECT = "dd056dcd-154b-4c76-9bd3-c8f88648b5ff"
SECRET = {"4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270"}
Properties = dict[str, Any]
MakePack = Callable[..., Any]
Change = Callable[[Properties], object]

BASE: Properties = {
    "metadata": {"name": "chat", "namespace": "team-a"},
    "spec": {
        "replicas": 2.0,
        "progressDeadlineSeconds": 1500.0,
        "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0.0, "maxUnavailable": 1.0}},
        "selector": {"matchLabels": {"app": "chat"}},
        "template": {
            "metadata": {"labels": {"app": "chat"}},
            "spec": {
                "enableServiceLinks": False,
                "automountServiceAccountToken": False,
                "terminationGracePeriodSeconds": 640.0,
                "nodeSelector": {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"},
                "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}],
                "volumes": [{"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": "8Gi"}}],
                "containers": [
                    {
                        "name": "vllm",
                        "image": "vllm/vllm-openai:v0.33.0@sha256:" + "a" * 64,
                        "command": ["vllm", "serve"],
                        "args": [
                            "Qwen/Qwen2.5-7B-Instruct",
                            "--revision=a09a35458c702b33eeacc393d103063234e8bc28",
                            "--tensor-parallel-size=4",
                            "--max-model-len=8192",
                            "--shutdown-timeout=600",
                        ],
                        "env": [{"name": "VLLM_ENGINE_READY_TIMEOUT_S", "value": "1200"}],
                        "ports": [{"name": "http", "containerPort": 8000.0}],
                        "resources": {
                            "requests": {"cpu": "8", "memory": "48Gi", "nvidia.com/gpu": "4"},
                            "limits": {"memory": "48Gi", "nvidia.com/gpu": "4"},
                        },
                        "startupProbe": {
                            "httpGet": {"path": "/health", "port": "http"},
                            "periodSeconds": 10.0,
                            "failureThreshold": 120.0,
                            "timeoutSeconds": 5.0,
                        },
                        "readinessProbe": {"httpGet": {"path": "/health", "port": "http"}, "timeoutSeconds": 5.0},
                        "livenessProbe": {
                            "httpGet": {"path": "/health", "port": "http"},
                            "timeoutSeconds": 5.0,
                            "failureThreshold": 6.0,
                            "terminationGracePeriodSeconds": 30.0,
                        },
                        "lifecycle": {"preStop": {"sleep": {"seconds": 15.0}}},
                        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
                        "volumeMounts": [{"name": "shm", "mountPath": "/dev/shm"}],
                    }
                ],
                "securityContext": {"runAsNonRoot": True, "runAsUser": 2000.0, "seccompProfile": {"type": "RuntimeDefault"}},
            },
        },
    },
}


def container(properties: Properties) -> dict[str, Any]:
    found: dict[str, Any] = properties["spec"]["template"]["spec"]["containers"][0]
    return found


def changed(change: Change) -> Properties:
    made = deepcopy(BASE)
    change(made)
    return made


def gpus(limit: Any, request: Any = None) -> Callable[[Properties], None]:
    def change(properties: Properties) -> None:
        resources = container(properties)["resources"]
        resources["limits"]["nvidia.com/gpu"] = limit
        resources["requests"]["nvidia.com/gpu"] = limit if request is None else request

    return change


def arguments(*more: str) -> Callable[[Properties], None]:
    return lambda properties: container(properties)["args"].extend(more)


MUTATIONS = {
    "fewer GPUs than TP": (gpus("2"), "GPU-001", "TP 4"),
    "heads that TP does not divide": (lambda each: (arguments("--tensor-parallel-size=3")(each), gpus("3")(each)), "GPU-002", "28"),
    "requests that differ from limits": (gpus("4", "2"), "GPU-006", "2"),
    "a fraction of a GPU": (gpus("500m"), "GPU-005", "0.5"),
    "an argument that went with an older engine": (arguments("--swap-space=4"), "ARG-001", "swap-space"),
}


def test_a_compliant_deployment_passes(make_pack: MakePack) -> None:
    pack = make_pack()
    assert pack.resource(DEPLOYMENT, "chat", BASE) == []
    assert [found for found in pack.stack([(DEPLOYMENT, "chat", BASE)]) if found.level == "mandatory"] == []


@pytest.mark.parametrize(("change", "code", "word"), MUTATIONS.values(), ids=MUTATIONS)
def test_a_contradiction_is_refused_on_the_resource_itself(make_pack: MakePack, change: Change, code: str, word: str) -> None:
    found = make_pack().resource(DEPLOYMENT, "chat", changed(change))
    assert [(each.policy, each.level, each.urn) for each in found] == [("contradictions", "mandatory", URN)]
    assert f"{code} error: " in found[0].message
    assert word in found[0].message
    assert "  fix: " in found[0].message


def test_what_the_resource_was_refused_for_is_not_said_again_for_the_stack(make_pack: MakePack) -> None:
    pack = make_pack()
    broken = changed(gpus("2"))
    assert len(pack.resource(DEPLOYMENT, "chat", broken)) == 1
    assert [each for each in pack.stack([(DEPLOYMENT, "chat", broken)]) if each.level == "mandatory"] == []


def test_the_stack_is_judged_when_a_resource_was_not_seen_before(make_pack: MakePack) -> None:
    found = make_pack().stack([(DEPLOYMENT, "chat", changed(gpus("2")))])
    assert [(each.policy, each.urn) for each in found if "GPU-001" in each.message] == [("contradictions-across", URN)]


def test_the_stack_is_judged_by_what_was_asked_for_and_not_by_what_came_back(make_pack: MakePack) -> None:
    pack = make_pack()
    pack.resource(DEPLOYMENT, "chat", BASE)
    assert [each for each in pack.stack([(DEPLOYMENT, "chat", changed(gpus("2")))]) if each.level == "mandatory"] == []


def test_a_rule_is_made_advisory_by_the_config(make_pack: MakePack) -> None:
    pack = make_pack({"rules": {"GPU-001": "advisory"}})
    assert pack.resource(DEPLOYMENT, "chat", changed(gpus("2"))) == []
    found = [each for each in pack.stack([(DEPLOYMENT, "chat", changed(gpus("2")))]) if "GPU-001" in each.message]
    assert [(each.policy, each.level) for each in found] == [("advice", "advisory")]


def test_a_rule_is_disabled_by_the_config(make_pack: MakePack) -> None:
    pack = make_pack({"rules": {"GPU-001": "disabled"}})
    assert pack.resource(DEPLOYMENT, "chat", changed(gpus("2"))) == []
    assert [each for each in pack.stack([(DEPLOYMENT, "chat", changed(gpus("2")))]) if "GPU-001" in each.message] == []


def test_a_waiver_of_the_config_is_honoured_and_shown(make_pack: MakePack) -> None:
    pack = make_pack({"waivers": [{"code": "GPU-001", "path": "Deployment/chat", "reason": "tried on purpose", "expires": "2099-01-01"}]})
    broken = changed(gpus("2"))
    assert pack.resource(DEPLOYMENT, "chat", broken) == []
    found = [each for each in pack.stack([(DEPLOYMENT, "chat", broken)]) if "GPU-001" in each.message]
    assert [(each.policy, each.level) for each in found] == [("advice", "advisory")]
    assert "waived until 2099-01-01: tried on purpose" in found[0].message


def test_an_expired_waiver_counts_as_absent_and_says_so(make_pack: MakePack) -> None:
    broken = changed(gpus("2"))
    broken["metadata"]["annotations"] = {"interlock.dev/waive": "GPU-001: tried on purpose; expires 2020-01-01"}
    (found,) = make_pack().resource(DEPLOYMENT, "chat", broken)
    assert found.level == "mandatory"
    assert "a waiver for this expired on 2020-01-01" in found.message


def test_a_waiver_as_annotation_is_honoured(make_pack: MakePack) -> None:
    broken = changed(gpus("2"))
    broken["metadata"]["annotations"] = {"interlock.dev/waive": "GPU-001: tried on purpose"}
    assert make_pack().resource(DEPLOYMENT, "chat", broken) == []


UNKNOWNS: dict[str, Change] = {
    "arguments": lambda each: container(each).update(args=UNKNOWN_LIST),
    "one argument": lambda each: container(each)["args"].__setitem__(2, UNKNOWN_TEXT),
    "image": lambda each: container(each).update(image=UNKNOWN_TEXT),
    "GPU limit": lambda each: container(each)["resources"]["limits"].update({"nvidia.com/gpu": UNKNOWN_NUMBER}),
    "resources": lambda each: container(each).update(resources=UNKNOWN_OBJECT),
    "replicas": lambda each: each["spec"].update(replicas=UNKNOWN_NUMBER),
    "pod spec": lambda each: each["spec"]["template"].update(spec=UNKNOWN_OBJECT),
    "spec": lambda each: each.update(spec=UNKNOWN_OBJECT),
    "name": lambda each: each["metadata"].update(name=UNKNOWN_TEXT),
}


@pytest.mark.parametrize("hide", UNKNOWNS.values(), ids=UNKNOWNS)
def test_a_value_that_preview_cannot_know_refuses_nothing(make_pack: MakePack, hide: Change) -> None:
    pack = make_pack()
    assert pack.resource(DEPLOYMENT, "chat", changed(hide)) == []
    assert [each for each in pack.stack([(DEPLOYMENT, "chat", changed(hide))]) if each.level == "mandatory"] == []


def test_a_contradiction_beside_an_unknown_value_is_still_refused(make_pack: MakePack) -> None:
    def change(each: Properties) -> None:
        gpus("2")(each)
        container(each)["env"].append({"name": "TOKEN", "value": UNKNOWN_TEXT})

    (found,) = make_pack().resource(DEPLOYMENT, "chat", changed(change))
    assert "GPU-001" in found.message


def test_a_type_says_what_the_properties_leave_out_and_other_packages_are_no_objects(make_pack: MakePack) -> None:
    pack = make_pack()
    assert pack.resource("aws:s3/bucket:Bucket", "bucket", {"spec": BASE["spec"]}) == []
    assert pack.resource("pulumi:providers:kubernetes", "cluster", {"kubeconfig": UNKNOWN_TEXT}) == []
    assert pack.resource("kubernetes:apps/v1:DeploymentPatch", "chat", changed(gpus("2"))) == []
    assert "GPU-001" in pack.resource(DEPLOYMENT, "chat", changed(gpus("2")))[0].message


def test_what_starts_nothing_is_judged_with_the_stack(make_pack: MakePack) -> None:
    config_map = "kubernetes:core/v1:ConfigMap"
    leaking = {"metadata": {"name": "keys", "namespace": "team-a"}, "data": {"HF_TOKEN": "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"}}
    pack = make_pack()
    assert pack.resource(config_map, "keys", leaking) == []
    found = pack.stack([(config_map, "keys", leaking)])
    assert [each.urn for each in found if "SEC-003" in each.message] == [f"urn:pulumi:dev::foreign::{config_map}::keys"]


RELEASE = "kubernetes:helm.sh/v3:Release"


def values(gpus: Any) -> Properties:
    model = {
        "name": "chat",
        "repository": "vllm/vllm-openai",
        "tag": "v0.33.0",
        "modelURL": "Qwen/Qwen2.5-7B-Instruct",
        "replicaCount": 1.0,
        "requestGPU": gpus,
        "vllmConfig": {"tensorParallelSize": 4.0, "maxModelLen": 8192.0},
    }
    return {"chart": "vllm-stack", "values": {"servingEngineSpec": {"modelSpec": [model]}}}


def test_the_values_of_a_helm_release_are_judged_and_unknown_ones_are_not(make_pack: MakePack) -> None:
    (found,) = make_pack().resource(RELEASE, "stack", values(2.0))
    assert "GPU-001 error: values.servingEngineSpec" in found.message
    assert make_pack().resource(RELEASE, "stack", values(4.0)) == []
    assert make_pack().resource(RELEASE, "stack", values(UNKNOWN_NUMBER)) == []
    assert make_pack().resource(RELEASE, "stack", {"chart": "vllm-stack", "values": UNKNOWN_OBJECT}) == []
    assert make_pack().resource(RELEASE, "stack", {"chart": "vllm-stack"}) == []


def test_a_secret_value_in_an_object_is_read_without_being_printed(make_pack: MakePack) -> None:
    def change(each: Properties) -> None:
        gpus("2")(each)
        container(each)["env"].append({"name": "HF_TOKEN", "value": {**SECRET, "value": "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"}})

    pack = make_pack()
    found = [*pack.resource(DEPLOYMENT, "chat", changed(change)), *pack.stack([(DEPLOYMENT, "chat", changed(change))])]
    assert any("GPU-001" in each.message for each in found)
    assert all("qZvTnWkP" not in each.message for each in found)
