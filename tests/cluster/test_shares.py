"""Shares, MIG instances, whole cards, quotas and priorities on the real scheduler and API server."""

import json
import time
import uuid
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from interlock.infra.config import load
from interlock.infra.config.cluster import ClusterConfig
from interlock.infra.manifests.render import platform_objects, render
from interlock.infra.manifests.simulated import simulated_nodes
from interlock.infra.plan.plan import plan
from interlock.infra.preview import preview
from tests.support import TODAY
from tools.cluster.testing import LocalCluster, gpu_node
from tools.common import ToolError

SHARED = (gpu_node("h100-0"), gpu_node("h100-1"))
SMALL = "Qwen/Qwen2.5-0.5B-Instruct"
POOLS: list[dict[str, Any]] = [
    {"name": "whole", "gpu": "h100", "nodes": 1, "gpus_per_node": 8},
    {"name": "sliced", "gpu": "l4", "nodes": 2, "gpus_per_node": 1, "share": {"kind": "time-slicing", "replicas": 4}},
    {"name": "cut", "gpu": "a100", "nodes": 1, "gpus_per_node": 1, "share": {"kind": "mig", "profile": "1g.10gb"}},
]


def config(namespace: str, *servers: dict[str, Any], **more: Any) -> ClusterConfig:
    listed = [{"model": {"id": SMALL}, "engine": {"max_model_len": 4096}, "cpu": "500m", "memory": "4Gi"} | server for server in servers]
    return load({"target": {"local": "dev"}, "namespace": namespace, "pools": POOLS, "servers": listed, **more})


@pytest.fixture(scope="module")
def pools(cluster: LocalCluster) -> Iterator[LocalCluster]:
    """The cluster with the nodes of all three pools."""
    cluster.set_nodes(*SHARED, *simulated_nodes(config("any").pools))
    yield cluster
    cluster.set_nodes(*SHARED)


@pytest.fixture
def own(cluster: LocalCluster) -> Iterator[str]:
    """The name of a namespace that the test's objects bring along."""
    name = f"shares-{uuid.uuid4().hex[:8]}"
    yield name
    cluster.kubectl("delete", "namespace", name, "--ignore-not-found", "--wait=false")
    # The next test needs the cards; the rest of the namespace may take its time.
    cluster.kubectl("wait", "--for=delete", "pods", "--all", "-n", name, "--timeout=60s")


def put(cluster: LocalCluster, *objects: dict[str, Any]) -> None:
    """Applies objects that name their namespaces, or none."""
    given = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
    cluster.kubectl("apply", "--server-side", "--validate=strict", "-f", "-", given=given)


def deploy(cluster: LocalCluster, made: ClusterConfig, stack: str) -> None:
    put(cluster, *render(made, plan(made, stack)))


def placed(cluster: LocalCluster, namespace: str, *, count: int, seconds: float = 60) -> list[dict[str, Any]]:
    """The namespace's pods once ``count`` of them have a node."""
    deadline = time.monotonic() + seconds
    while True:
        pods = cluster.get("pods", "-n", namespace)["items"]
        if sum("nodeName" in pod["spec"] for pod in pods) >= count or time.monotonic() > deadline:
            return list(pods)
        time.sleep(0.3)


def node_of(pod: dict[str, Any]) -> str:
    return str(pod["spec"].get("nodeName", ""))


def test_servers_land_as_planned_on_whole_cards_slices_and_mig_instances(pools: LocalCluster, own: str) -> None:
    made = config(
        own,
        {"name": "big", "model": {"id": "Qwen/Qwen2.5-7B-Instruct"}, "pool": "whole", "replicas": 2, "gpus": 4, "memory": "64Gi"},
        {"name": "chat", "pool": "sliced", "replicas": 8},
        {"name": "tiny", "pool": "cut", "replicas": 7},
    )
    planned = preview(made, "shares", today=TODAY)
    assert planned.refused == ()
    deploy(pools, made, "shares")
    pods = placed(pools, own, count=17)
    landed = Counter((pod["metadata"]["labels"]["interlock.dev/server"], node_of(pod)) for pod in pods)
    assert landed == {("big", "whole-0"): 2, ("chat", "sliced-0"): 4, ("chat", "sliced-1"): 4, ("tiny", "cut-0"): 7}
    # What the plan drew is what the scheduler made.
    drawn = Counter((server, f"{pool.name}-{index}") for pool in planned.pools for index, use in enumerate(pool.use) for server in use.pods)
    assert drawn == landed


def test_one_more_than_the_slices_hold_is_refused_by_the_plan_and_left_pending_by_the_scheduler(pools: LocalCluster, own: str) -> None:
    made = config(own, {"name": "chat", "pool": "sliced", "replicas": 9})
    assert "GPU-004" in {finding.code for finding in preview(made, "shares", today=TODAY).refused}
    deploy(pools, made, "shares")
    pods = placed(pools, own, count=8)
    assert sorted(bool(node_of(pod)) for pod in pods) == [False] + [True] * 8


def test_a_node_offers_cards_times_replicas_of_the_resource(pools: LocalCluster) -> None:
    offered = {name: pools.get("node", name)["status"]["allocatable"] for name in ("sliced-0", "cut-0")}
    assert offered["sliced-0"]["nvidia.com/gpu"] == "4"
    assert offered["cut-0"]["nvidia.com/mig-1g.10gb"] == "7"
    assert "nvidia.com/gpu" not in offered["cut-0"]


TENANT = {"name": "", "gpus": {"sliced": 2, "cut": 3}, "memory": "64Gi"}


def pod(name: str, limits: dict[str, str] | None = None) -> dict[str, Any]:
    resources = {"resources": {"limits": limits}} if limits else {}
    security = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
    spec = {
        "containers": [{"name": "main", "image": "example.org/x:1", "securityContext": security, **resources}],
        "securityContext": {"runAsNonRoot": True, "runAsUser": 2000, "seccompProfile": {"type": "RuntimeDefault"}},
        "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}],
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


def test_a_tenants_quota_and_limits_hold_at_the_api_server(pools: LocalCluster, own: str) -> None:
    made = config("elsewhere", tenants=[TENANT | {"name": own}])
    put(pools, *platform_objects(made, plan(made, "shares")))
    # Two shares in one container are refused, whatever the quota says.
    with pytest.raises(ToolError, match=r"maximum nvidia.com/gpu usage per Container is 1"):
        pools.apply(pod("two", {"nvidia.com/gpu": "2"}), namespace=own)
    for index in range(2):
        pools.apply(pod(f"one-{index}", {"nvidia.com/gpu": "1"}), namespace=own)
    with pytest.raises(ToolError, match=r"exceeded quota.*requests.nvidia.com/gpu=1"):
        pools.apply(pod("three", {"nvidia.com/gpu": "1"}), namespace=own)
    for index in range(3):
        pools.apply(pod(f"mig-{index}", {"nvidia.com/mig-1g.10gb": "1"}), namespace=own)
    with pytest.raises(ToolError, match=r"exceeded quota.*mig-1g.10gb"):
        pools.apply(pod("mig-3", {"nvidia.com/mig-1g.10gb": "1"}), namespace=own)
    # A pod that states nothing gets a small request and no GPU.
    pools.apply(pod("plain"), namespace=own)
    limits = pools.get("pod", "plain", "-n", own)["spec"]["containers"][0]["resources"]["limits"]
    assert limits == {"memory": "1Gi", "nvidia.com/gpu": "0", "nvidia.com/mig-1g.10gb": "0"}


def test_a_tenants_namespace_is_restricted_at_the_api_server(pools: LocalCluster, own: str) -> None:
    made = config("elsewhere", tenants=[TENANT | {"name": own}])
    put(pools, *platform_objects(made, plan(made, "shares")))
    bad = pod("root")
    bad["spec"]["volumes"] = [{"name": "node", "hostPath": {"path": "/"}}]
    with pytest.raises(ToolError, match=r"violates PodSecurity \"restricted"):
        pools.apply(bad, namespace=own)


def test_serving_takes_cards_from_training_when_the_pool_is_full(pools: LocalCluster, own: str) -> None:
    stack = f"p{own[-8:]}"
    classes = [{"name": "training", "value": 1000, "preempts": False}, {"name": "serving", "value": 100000}]
    server = {"name": "chat", "pool": "whole", "gpus": 8, "priority_class": "serving"}
    made = config(own, server, platform={"priority_classes": classes})
    objects = render(made, plan(made, stack))
    mine = [each for each in objects if each["kind"] in ("PriorityClass", "Namespace")]
    put(pools, *mine)
    try:
        for index in range(2):
            batch = pod(f"train-{index}", {"nvidia.com/gpu": "4"})
            batch["spec"] |= {"priorityClassName": f"{stack}-training", "nodeSelector": {"interlock.dev/pool": "whole"}}
            pools.apply(batch, namespace=own)
        assert Counter(node_of(each) for each in placed(pools, own, count=2)) == {"whole-0": 2}
        put(pools, *objects)
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            there = {
                each["metadata"].get("labels", {}).get("interlock.dev/server", each["metadata"]["name"]): node_of(each)
                for each in pools.get("pods", "-n", own)["items"]
            }
            if there.get("chat"):
                break
            time.sleep(0.3)
        assert there == {"chat": "whole-0"}
        events = [event["reason"] for event in pools.get("events", "-n", own)["items"]]
        assert "Preempted" in events
    finally:
        pools.kubectl("delete", "priorityclass", *(each["metadata"]["name"] for each in mine if each["kind"] == "PriorityClass"))


def test_training_does_not_take_cards_from_serving(pools: LocalCluster, own: str) -> None:
    stack = f"p{own[-8:]}"
    classes = [{"name": "training", "value": 1000, "preempts": False}, {"name": "serving", "value": 100000}]
    server = {"name": "chat", "pool": "whole", "gpus": 8, "priority_class": "serving"}
    made = config(own, server, platform={"priority_classes": classes})
    objects = render(made, plan(made, stack))
    put(pools, *objects)
    try:
        assert [node_of(each) for each in placed(pools, own, count=1)] == ["whole-0"]
        batch = pod("train", {"nvidia.com/gpu": "4"})
        batch["spec"] |= {"priorityClassName": f"{stack}-training", "nodeSelector": {"interlock.dev/pool": "whole"}}
        pools.apply(batch, namespace=own)
        pools.wait("pod/train", 'jsonpath={.status.conditions[?(@.type=="PodScheduled")].reason}=Unschedulable', namespace=own)
        assert pools.get("deployment", "chat", "-n", own)["status"].get("replicas") == 1
        assert node_of(pools.get("pod", "train", "-n", own)) == ""
    finally:
        pools.kubectl("delete", "priorityclass", f"{stack}-training", f"{stack}-serving")


def test_a_pod_on_claims_waits_for_a_driver_and_its_claim_is_made(pools: LocalCluster, own: str) -> None:
    pool = {"name": "dra", "gpu": "h100", "nodes": 1, "gpus_per_node": 8, "allocation": "claim"}
    server = {"name": "chat", "model": {"id": SMALL}, "pool": "dra", "gpus": 1}
    made = load({"target": {"local": "dev"}, "namespace": own, "pools": [pool], "servers": [server]})
    deploy(pools, made, "shares")
    deadline = time.monotonic() + 60
    claims: list[dict[str, Any]] = []
    while time.monotonic() < deadline and not claims:
        claims = pools.get("resourceclaims", "-n", own)["items"]
        time.sleep(0.3)
    (claim,) = claims
    (request,) = claim["spec"]["devices"]["requests"]
    assert request["exactly"] == {"allocationMode": "ExactCount", "count": 1, "deviceClassName": "gpu.nvidia.com"}
    (waiting,) = pools.get("pods", "-n", own)["items"]
    assert node_of(waiting) == ""
    assert json.dumps(waiting["spec"]["containers"][0]["resources"]).count("nvidia.com") == 0
