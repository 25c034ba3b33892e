from typing import Any

import pytest

from interlock.infra.config import load
from interlock.infra.manifests.placed import finished, merged
from interlock.infra.manifests.render import render
from interlock.infra.plan.plan import plan

BASE: dict[str, Any] = {
    "target": {"local": "dev"},
    "namespace": "n",
    "pools": [{"name": "p", "gpu": "h100", "nodes": 4, "gpus_per_node": 8, "cpu": "96", "memory": "1Ti"}],
    "stores": [{"name": "w", "filled": "a test"}],
}


def objects(**server: Any) -> dict[str, dict[str, Any]]:
    config = load({**BASE, "servers": [{"name": "s", "model": {"id": "org/model", "unsized": "a test"}, "pool": "p", **server}]})
    return {each["kind"]: each for each in render(config, plan(config, "dev"))}


def pod(**server: Any) -> dict[str, Any]:
    found: dict[str, Any] = objects(**server)["Deployment"]["spec"]["template"]["spec"]
    return found


def test_no_service_link_and_no_token_reaches_the_engine() -> None:
    assert (pod()["enableServiceLinks"], pod()["automountServiceAccountToken"]) == (False, False)


def test_gpu_requests_equal_limits_and_go_to_the_pools_nodes() -> None:
    found = pod(gpus=4)
    resources = found["containers"][0]["resources"]
    assert resources["requests"]["nvidia.com/gpu"] == resources["limits"]["nvidia.com/gpu"] == "4"
    assert found["nodeSelector"] == {"interlock.dev/pool": "p"}
    assert {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"} in found["tolerations"]


def test_the_startup_probe_lasts_the_whole_budget_and_the_engine_waits_as_long() -> None:
    container = pod(startup_seconds=725)["containers"][0]
    probe = container["startupProbe"]
    assert probe["periodSeconds"] * probe["failureThreshold"] == 730
    assert {"name": "VLLM_ENGINE_READY_TIMEOUT_S", "value": "725"} in container["env"]


def test_an_autoscaled_deployment_carries_no_replicas_of_ours() -> None:
    made = objects(autoscale={"max_replicas": 4})
    assert "replicas" not in made["Deployment"]["spec"]
    assert made["ScaledObject"]["spec"]["maxReplicaCount"] == 4
    assert "replicas" in objects()["Deployment"]["spec"]


def test_the_horizontal_pod_autoscaler_is_the_one_of_the_brief() -> None:
    made = objects(autoscale={"kind": "hpa", "max_replicas": 4, "usage": 0, "waiting_per_replica": 8})["HorizontalPodAutoscaler"]
    metric = {"metric": {"name": "vllm_num_requests_waiting"}, "target": {"type": "AverageValue", "averageValue": "8"}}
    assert made["apiVersion"] == "autoscaling/v2"
    assert made["spec"]["metrics"] == [{"type": "Pods", "pods": metric}]


def test_routes_outlast_the_longest_answer() -> None:
    rule = objects(route={"host": "a.example.org"})["HTTPRoute"]["spec"]["rules"][0]
    assert rule["timeouts"] == {"request": "600s", "backendRequest": "600s"}
    assert [match["path"]["value"] for match in rule["matches"]] == ["/v1"]
    annotations = objects(route={"kind": "ingress", "host": "a.example.org"})["Ingress"]["metadata"]["annotations"]
    assert annotations["nginx.ingress.kubernetes.io/proxy-read-timeout"] == "600"


def test_a_single_replica_gets_no_disruption_budget_that_would_block_every_drain() -> None:
    assert "PodDisruptionBudget" not in objects(replicas=1)
    assert objects(replicas=2)["PodDisruptionBudget"]["spec"]["maxUnavailable"] == 1


def test_the_hub_token_comes_from_an_existing_secret_and_never_in_clear() -> None:
    env = pod(hub_token_secret="hub")["containers"][0]["env"]
    assert {"name": "HF_TOKEN", "valueFrom": {"secretKeyRef": {"name": "hub", "key": "token"}}} in env


def test_the_users_patch_is_merged_last() -> None:
    patch = {"hostNetwork": True, "containers": [{"name": "engine", "imagePullPolicy": "Never"}, {"name": "sidecar", "image": "x:1"}]}
    found = pod(extra={"pod_patch": patch, "tolerations": [{"key": "spot", "operator": "Exists"}], "annotations": {"a": "b"}})
    assert found["hostNetwork"] is True
    assert [container["name"] for container in found["containers"]] == ["engine", "sidecar"]
    assert found["containers"][0]["imagePullPolicy"] == "Never"
    assert found["containers"][0]["args"][2] == "org/model"
    assert {"key": "spot", "operator": "Exists"} in found["tolerations"]


@pytest.mark.parametrize(
    ("base", "patch", "result"),
    [
        ({"a": 1, "b": {"c": 2}}, {"b": {"d": 3}}, {"a": 1, "b": {"c": 2, "d": 3}}),
        ({"a": 1}, {"a": None}, {}),
        ([1, 2], [3], [3]),
        ([{"name": "x", "v": 1}], [{"name": "x", "w": 2}, {"name": "y"}], [{"name": "x", "v": 1, "w": 2}, {"name": "y"}]),
        ({}, {"a": [{"name": "x"}]}, {"a": [{"name": "x"}]}),
    ],
)
def test_a_merge_keeps_what_the_patch_does_not_name(base: Any, patch: Any, result: Any) -> None:
    assert finished(merged(base, patch, "extra.pod_patch"), "servers[0]").manifest == result
