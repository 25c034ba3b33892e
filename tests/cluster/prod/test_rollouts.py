"""Rollouts on real controllers and the real scheduler: a canary by route weights on a full pool, and an `up` that is cut off."""

from typing import Any

import pytest

from tools.cluster.testing import LocalCluster

SERVER = {"model": {"id": "Qwen/Qwen2.5-0.5B-Instruct"}, "pool": "spare", "served_name": "chat", "engine": {"max_model_len": 4096}}
ROUTE = {"host": "rollouts.example", "gateway_namespace": "gateways"}
NAMESPACE = "rollouts"


@pytest.fixture(scope="module")
def stack(make_stack: Any, prod_cluster: LocalCluster) -> Any:
    """A server of five replicas and its canary, on a pool of six cards: not one is spare. The first `up` is cut off and then repeated."""
    spare = {"name": "spare", "gpu": "l4", "nodes": 6, "gpus_per_node": 1, "cpu": "16", "memory": "64Gi"}
    # Six nodes of one card have to be free: those of other tests are given back here.
    prod_cluster.kubectl("delete", "namespace", "renamed", "upgraded", "destroyed", "--ignore-not-found", "--wait=true")
    old = {**SERVER, "name": "chat", "replicas": 5, "route": dict(ROUTE), "access": {"open": "a test"}}
    config = {"scope": "serving", "pools": [spare], "namespace": NAMESPACE, "servers": [old]}
    made = make_stack(config, NAMESPACE)
    try:
        cut = made.project.run("up", "--yes", "--skip-preview", "--json", "--stack", NAMESPACE, timeout=6)
        assert cut.code, "the first up was to be cut off"
        again = made.project.up()
        assert again.code == 0, again.text
        yield made
    finally:
        prod_cluster.kubectl("delete", "namespace", NAMESPACE, "--wait=false")


def changed(stack: Any) -> Any:
    stack.write()
    outcome = stack.project.up()
    assert outcome.code == 0, outcome.text
    return outcome


def weights(cluster: LocalCluster) -> dict[str, int]:
    (rule,) = cluster.get("httproute", "chat", "-n", NAMESPACE)["spec"]["rules"]
    return {each["name"]: each["weight"] for each in rule["backendRefs"]}


def ready(cluster: LocalCluster, name: str = "chat") -> int:
    replicas: int = cluster.get("deployment", name, "-n", NAMESPACE)["status"]["readyReplicas"]
    return replicas


def test_an_up_that_was_cut_converges_and_the_next_changes_nothing(stack: Any, prod_cluster: LocalCluster) -> None:
    assert ready(prod_cluster) == 5
    assert set(stack.project.up().changes) == {"same"}


def test_a_canary_takes_over_by_weights_and_gives_back(stack: Any, prod_cluster: LocalCluster) -> None:
    stack.config["servers"].append({**SERVER, "name": "chat-next", "access": {"open": "a test"}})
    for percent in (10, 100, 0):
        stack.server("chat")["route"]["split"] = {"chat-next": percent}
        changed(stack)
        assert weights(prod_cluster) == {"chat": 100 - percent, "chat-next": percent}
    assert ready(prod_cluster, "chat-next") == 1
