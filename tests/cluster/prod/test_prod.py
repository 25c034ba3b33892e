"""The prod stack on a real API server, deployed as the deployer role: every await ends, and nothing moves that was not changed."""

from collections.abc import Callable
from typing import Any

import pytest

from tools.cluster.testing import LocalCluster

SERVING = ("Deployment", "Service", "HTTPRoute", "Ingress", "HorizontalPodAutoscaler", "ScaledObject", "PersistentVolumeClaim")


def uids(cluster: LocalCluster, namespace: str) -> dict[str, str]:
    """UID of everything that serves, by kind and name."""
    kinds = "deployments,services,httproutes,ingresses,horizontalpodautoscalers,scaledobjects,persistentvolumeclaims"
    return {f"{each['kind']}/{each['metadata']['name']}": each["metadata"]["uid"] for each in cluster.get(kinds, "-n", namespace)["items"]}


@pytest.fixture
def live(prod_cluster: LocalCluster, prod: Any) -> Callable[[], dict[str, str]]:
    return lambda: uids(prod_cluster, prod.config["namespace"])


def test_everything_is_there_and_ready_after_the_first_up(prod_cluster: LocalCluster, prod: Any) -> None:
    namespace = prod.config["namespace"]
    deployments = {each["metadata"]["name"]: each for each in prod_cluster.get("deployments", "-n", namespace)["items"]}
    assert sorted(deployments) == ["chat", "code", "embed", "large"]
    for each in deployments.values():
        assert each["status"]["readyReplicas"] == each["spec"]["replicas"]
    # The controllers of the scalers are simulated: without a count of ours there would be one replica.
    assert deployments["chat"]["spec"]["replicas"] == deployments["code"]["spec"]["replicas"] == 2
    (claim,) = prod_cluster.get("persistentvolumeclaims", "-n", namespace)["items"]
    assert claim["status"]["phase"] == "Bound"


def test_pods_sit_on_the_nodes_of_their_pools(prod_cluster: LocalCluster, prod: Any) -> None:
    pools = {each["metadata"]["name"]: each["metadata"]["labels"]["interlock.dev/pool"] for each in prod_cluster.get("nodes")["items"]}
    pods = prod_cluster.get("pods", "-n", prod.config["namespace"], "-l", "interlock.dev/server")["items"]
    placed = {each["metadata"]["labels"]["interlock.dev/server"]: pools[each["spec"]["nodeName"]] for each in pods}
    assert placed == {"chat": "h100", "code": "h100", "large": "h100-nvlink", "embed": "l4"}


def test_routes_and_scalers_are_the_kinds_that_the_config_chose(prod_cluster: LocalCluster, prod: Any) -> None:
    found = [key for key in uids(prod_cluster, prod.config["namespace"]) if key.startswith(("HTTP", "Ingress", "Horiz", "Scaled"))]
    assert sorted(found) == [
        "HTTPRoute/chat",
        "HTTPRoute/embed",
        "HTTPRoute/large",
        "HorizontalPodAutoscaler/code",
        "Ingress/code",
        "ScaledObject/chat",
    ]
    namespace = prod.config["namespace"]
    ingress = prod_cluster.get("ingress", "code", "-n", namespace)
    assert ingress["metadata"]["annotations"]["nginx.ingress.kubernetes.io/proxy-read-timeout"] == "600"
    metric, *others = prod_cluster.get("horizontalpodautoscaler", "code", "-n", namespace)["spec"]["metrics"]
    assert [each["pods"]["metric"]["name"] for each in others] == ["vllm_num_requests_running", "vllm_kv_cache_usage_perc"]
    assert metric["pods"]["metric"]["name"] == "vllm_num_requests_waiting"
    assert metric["pods"]["target"] == {"type": "AverageValue", "averageValue": "4"}
    route = prod_cluster.get("httproute", "chat", "-n", namespace)
    assert route["spec"]["rules"][0]["timeouts"]["request"] in ("600s", "10m0s", "10m")


def test_a_second_up_and_a_refresh_change_nothing_nor_the_replicas_that_a_scaler_added(
    prod_cluster: LocalCluster, prod: Any, live: Callable[[], dict[str, str]]
) -> None:
    before, namespace = live(), prod.config["namespace"]
    prod_cluster.kubectl("scale", "deployment", "chat", "--replicas=5", "-n", namespace)
    prod_cluster.wait("deployment/chat", "jsonpath={.status.readyReplicas}=5", namespace)
    refreshed = prod.project.refresh("--expect-no-changes")
    assert refreshed.code == 0, refreshed.text
    again = prod.project.up()
    assert again.code == 0, again.text
    assert set(again.changes) == {"same"}, again.changes
    assert live() == before
    assert prod_cluster.get("deployment", "chat", "-n", namespace)["spec"]["replicas"] == 5


def test_an_edit_rolls_out_in_place(prod_cluster: LocalCluster, prod: Any, live: Callable[[], dict[str, str]]) -> None:
    before = live()
    prod.server("embed")["engine"]["max_num_seqs"] = 32
    prod.write()
    outcome = prod.project.up()
    assert outcome.code == 0, outcome.text
    assert {step for step, operation in outcome.steps.items() if operation == "update"} >= {
        "kubernetes:apps/v1:Deployment::embed-deployment"
    }
    assert live() == before
    deployment = prod_cluster.get("deployment", "embed", "-n", prod.config["namespace"])
    assert "--max-num-seqs" in deployment["spec"]["template"]["spec"]["containers"][0]["args"]
    # The pod that the new ones replaced may still be counted for a moment.
    prod_cluster.wait("deployment/embed", "jsonpath={.status.readyReplicas}=2", prod.config["namespace"])
