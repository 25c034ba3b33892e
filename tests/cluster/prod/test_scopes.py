"""One platform stack and two serving stacks in one cluster: nothing collides, each leaves the others alone."""

from collections.abc import Iterator
from typing import Any

import pytest

from interlock.infra.config import load
from interlock.infra.manifests.simulated import simulated_nodes
from tools.cluster.testing import LocalCluster

POOL = {"name": "shared", "gpu": "l4", "nodes": 2, "gpus_per_node": 1, "cpu": "8", "memory": "32Gi"}
PLATFORM: dict[str, Any] = {
    "scope": "platform",
    "namespace": "platform",
    "pools": [POOL],
    "platform": {"priority_classes": [{"name": "serving", "value": 1000}, {"name": "batch", "value": 10, "preempts": False}]},
}


def serving(namespace: str, **changes: Any) -> dict[str, Any]:
    server = {
        "name": "chat",
        "model": {"id": "Qwen/Qwen2.5-0.5B-Instruct"},
        "pool": "shared",
        "engine": {"max_model_len": 4096},
    }
    return {"scope": "serving", "namespace": namespace, "pools": [POOL], "servers": [server], **changes}


@pytest.fixture(scope="module")
def stacks(make_stack: Any, prod_cluster: LocalCluster) -> Iterator[dict[str, Any]]:
    nodes = simulated_nodes(load({**PLATFORM, "target": {"local": "any"}}).pools)
    there = prod_cluster.get("nodes")["items"]
    prod_cluster.apply(*nodes)
    made = {
        "platform": make_stack(PLATFORM, "platform"),
        "team-a": make_stack(serving("team-a"), "team-a"),
        "team-b": make_stack(serving("team-b"), "team-b"),
    }
    for each in made.values():
        outcome = each.project.up()
        assert outcome.code == 0, outcome.text
    yield made
    prod_cluster.kubectl("delete", "namespace", "team-a", "team-b", "platform", "--ignore-not-found", "--wait=false")
    prod_cluster.kubectl("delete", "priorityclass", "platform-serving", "platform-batch")
    names = {each["metadata"]["name"] for each in there}
    prod_cluster.kubectl("delete", "node", *(each["metadata"]["name"] for each in nodes if each["metadata"]["name"] not in names))


def kinds(stack: Any) -> set[str]:
    return {each["type"] for each in stack.project.resources() if each["type"].startswith("kubernetes:")}


def test_two_serving_stacks_serve_the_same_name_in_namespaces_of_their_own(stacks: dict[str, Any], prod_cluster: LocalCluster) -> None:
    for namespace in ("team-a", "team-b"):
        assert prod_cluster.get("deployment", "chat", "-n", namespace)["status"]["readyReplicas"] == 1


def test_cluster_wide_objects_are_the_platforms(stacks: dict[str, Any], prod_cluster: LocalCluster) -> None:
    assert "kubernetes:scheduling.k8s.io/v1:PriorityClass" in kinds(stacks["platform"])
    assert "kubernetes:apps/v1:Deployment" not in kinds(stacks["platform"])
    for name in ("team-a", "team-b"):
        wide = {
            kind
            for kind in kinds(stacks[name])
            if not kind.startswith(("kubernetes:core/", "kubernetes:apps/", "kubernetes:networking.k8s.io/v1:NetworkPolicy"))
        }
        assert wide == set()


def test_destroying_one_serving_stack_leaves_the_others_which_a_second_up_does_not_change(
    stacks: dict[str, Any], prod_cluster: LocalCluster
) -> None:
    before = prod_cluster.get("deployment", "chat", "-n", "team-b")["metadata"]["uid"]
    outcome = stacks["team-a"].project.destroy()
    assert outcome.code == 0, outcome.text
    assert prod_cluster.get("deployment", "chat", "-n", "team-b")["metadata"]["uid"] == before
    for name in ("platform", "team-b"):
        again = stacks[name].project.up()
        assert (again.code, set(again.changes)) == (0, {"same"}), again.text
