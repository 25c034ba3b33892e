"""A replica on several nodes, made and placed by the real LeaderWorkerSet operator and scheduler."""

import time
from collections.abc import Iterator
from typing import Any

import pytest

from interlock.infra.config import load
from interlock.infra.manifests.render import render
from interlock.infra.plan.types import ClusterPlan
from interlock.infra.preview import preview
from tests.support import TODAY
from tools import build, toolchain_families
from tools.cluster import groups
from tools.cluster.testing import LocalCluster, gpu_node

RACK, FABRIC = "topology.kubernetes.io/rack", "example.org/fabric"
NODES = {"r1-a0": "a", "r1-a1": "a", "r1-b0": "b", "r1-b1": "b"}
SECONDS = 60


@pytest.fixture(scope="module")
def operator(cluster: LocalCluster) -> Iterator[None]:
    """The operator on the session's cluster, with four nodes of eight H200 in two racks; each node is a fabric of its own."""
    (family,) = toolchain_families.select(["lws"], [])
    if build.decide([family])[0].must_build:
        pytest.skip("not built: lws (python -m tools.build lws)")
    made = groups.install(cluster.cluster, build.ensure([family]), family.version)
    labels = {name: {RACK: rack, FABRIC: name, "interlock.dev/pool": "h200"} for name, rack in NODES.items()}
    cluster.set_nodes(*(gpu_node(name, "NVIDIA-H200", labels=each) for name, each in labels.items()))
    yield
    groups.remove(cluster.cluster, made)
    cluster.set_nodes(gpu_node("h100-0"), gpu_node("h100-1"))


def planned(namespace: str, label: str, size: int, replicas: int) -> tuple[ClusterPlan, dict[str, Any]]:
    """DeepSeek-R1 as TP 8 x PP 2 on the four nodes, whose domains have ``size`` nodes: the plan, and its LeaderWorkerSet."""
    domain = {"label": label, "nodes": size}
    pool = {"name": "h200", "gpu": "h200", "nodes": 4, "gpus_per_node": 8, "cpu": "96", "memory": "1Ti", "domain": domain}
    engine = {"tensor_parallel_size": 8, "pipeline_parallel_size": 2, "max_model_len": 65536}
    server = {"name": "r1", "model": {"id": "deepseek-ai/DeepSeek-R1"}, "pool": "h200", "replicas": replicas, "engine": engine}
    config = load({"target": {"context": "c"}, "namespace": namespace, "pools": [pool], "servers": [server]})
    plan = preview(config, "groups", today=TODAY)
    return plan, next(each for each in render(config, plan) if each["kind"] == "LeaderWorkerSet")


def pods(cluster: LocalCluster, namespace: str, count: int) -> list[dict[str, Any]]:
    """The pods of the group once there are ``count`` and each is placed or refused by the scheduler."""
    until = time.monotonic() + SECONDS
    while time.monotonic() < until:
        found: list[dict[str, Any]] = cluster.get("pods", "-n", namespace)["items"]
        if len(found) == count and all(each["spec"].get("nodeName") or each["status"].get("conditions") for each in found):
            return found
        time.sleep(0.3)
    raise AssertionError(cluster.kubectl("get", "pods,leaderworkersets,events", "-n", namespace))


def test_each_replica_lies_in_a_rack_of_its_own_and_its_ranks_find_each_other(
    cluster: LocalCluster, operator: None, namespace: str
) -> None:
    plan, made = planned(namespace, RACK, 2, 2)
    assert not plan.refused
    cluster.apply(made, namespace=namespace)
    placed = pods(cluster, namespace, 4)
    assert {each["spec"]["nodeName"] for each in placed} == set(NODES)
    racks: dict[str, set[str]] = {}
    for each in placed:
        group = each["metadata"]["labels"]["leaderworkerset.sigs.k8s.io/group-index"]
        racks.setdefault(group, set()).add(NODES[each["spec"]["nodeName"]])
        container = each["spec"]["containers"][0]
        assert container["resources"]["limits"]["nvidia.com/gpu"] == "8"
        # The ranks find each other by what the operator sets.
        env = {entry["name"]: entry for entry in container["env"]}
        assert env["LWS_LEADER_ADDRESS"]["value"] == f"r1-{group}.r1.{namespace}"
        assert {"$(LWS_WORKER_INDEX)", "$(LWS_LEADER_ADDRESS)"} <= set(container["args"])
        assert "LWS_WORKER_INDEX" in env
    assert sorted(map(sorted, racks.values())) == [["a"], ["b"]]


def test_domains_of_one_node_are_refused_by_the_plan_and_hold_no_replica_of_two(
    cluster: LocalCluster, operator: None, namespace: str
) -> None:
    plan, made = planned(namespace, FABRIC, 1, 1)
    assert [each.code for each in plan.refused] == ["GPU-024"]
    cluster.apply(made, namespace=namespace)
    leader, worker = sorted(pods(cluster, namespace, 2), key=lambda each: str(each["metadata"]["name"]))
    assert leader["spec"]["nodeName"] in NODES
    assert "nodeName" not in worker["spec"]
    (condition,) = [each for each in worker["status"]["conditions"] if each["type"] == "PodScheduled"]
    assert condition["reason"] == "Unschedulable"
