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
    for each in reversed(made.values()):
        each.project.destroy()
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
        wide = {kind for kind in kinds(stacks[name]) if not kind.startswith(("kubernetes:core/", "kubernetes:apps/"))}
        assert wide == set()


def test_a_second_up_of_each_stack_changes_nothing(stacks: dict[str, Any]) -> None:
    for each in stacks.values():
        outcome = each.project.up()
        assert (outcome.code, set(outcome.changes)) == (0, {"same"}), outcome.text


def test_destroying_one_serving_stack_leaves_the_others(stacks: dict[str, Any], prod_cluster: LocalCluster) -> None:
    before = prod_cluster.get("deployment", "chat", "-n", "team-b")["metadata"]["uid"]
    outcome = stacks["team-a"].project.destroy()
    assert outcome.code == 0, outcome.text
    assert prod_cluster.get("deployment", "chat", "-n", "team-b")["metadata"]["uid"] == before
    assert set(stacks["team-b"].project.up().changes) == {"same"}
    assert stacks["team-a"].project.up().code == 0


def test_a_second_stack_on_a_taken_namespace_is_refused_and_changes_nothing(
    stacks: dict[str, Any], make_stack: Any, prod_cluster: LocalCluster
) -> None:
    before = prod_cluster.get("deployment", "chat", "-n", "team-b")["metadata"]
    intruder = make_stack(serving("team-b"), "intruder")
    outcome = intruder.project.up()
    assert outcome.code != 0
    assert "namespace: 'team-b' belongs to stack 'team-b': choose another namespace" in outcome.text
    assert "Traceback" not in "".join(outcome.diagnostics)
    after = prod_cluster.get("deployment", "chat", "-n", "team-b")["metadata"]
    assert (after["uid"], after["generation"]) == (before["uid"], before["generation"])


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({**PLATFORM, "servers": serving("x")["servers"]}, "servers: a platform stack owns cluster-wide parts only"),
        (serving("x", tenants=[{"name": "x"}]), "tenants: namespaces and quotas belong to the cluster"),
    ],
    ids=["servers in a platform stack", "tenants in a serving stack"],
)
def test_what_belongs_to_another_scope_is_refused(config: dict[str, Any], message: str, make_stack: Any) -> None:
    stack = make_stack(config, f"wrong-{config['scope']}")
    outcome = stack.project.preview()
    assert outcome.code != 0
    assert message in outcome.text
    assert "Traceback" not in "".join(outcome.diagnostics)
