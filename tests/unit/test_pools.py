"""Node pools: labels on existing nodes, Karpenter, the hook for managed pools."""

from typing import Any

import pytest

from interlock.infra.config import load
from interlock.infra.config.cluster import ClusterConfig
from interlock.infra.errors import ConfigError
from interlock.infra.manifests.bundles import node_pool
from interlock.infra.manifests.node_pools import pool_intent
from interlock.infra.plan.plan import plan
from interlock.infra.preview.sharing_changes import LiveNode, sharing_changes
from interlock.infra.rules.findings import Severity

KARPENTER = {"node_class": "gpu", "instance_types": ["p5.48xlarge"], "zones": ["eu-central-1a"]}
POOL: dict[str, Any] = {"name": "h100", "gpu": "h100", "nodes": 3, "gpus_per_node": 8}


def config(pool: dict[str, Any], **more: Any) -> ClusterConfig:
    return load({"target": {"local": "dev"}, "namespace": "ml", "pools": [pool], **more})


def made(pool: dict[str, Any]) -> list[dict[str, Any]]:
    return node_pool(config(pool), "plat", 0).manifests


def test_existing_nodes_get_our_labels_and_nothing_else() -> None:
    nodes = made({**POOL, "node_names": ["a", "b", "c"]})
    assert [node["metadata"]["name"] for node in nodes] == ["a", "b", "c"]
    assert nodes[0].keys() == {"apiVersion", "kind", "metadata"}
    assert nodes[0]["metadata"]["labels"] == {
        "interlock.dev/pool": "h100",
        "interlock.dev/stack": "plat",
        "nvidia.com/device-plugin.config": "exclusive",
        "nvidia.com/mig.config": "all-disabled",
    }


def test_a_card_without_mig_gets_no_mig_label() -> None:
    (node,) = made({**POOL, "gpu": "l4", "nodes": 1, "node_names": ["a"]})
    assert "nvidia.com/mig.config" not in node["metadata"]["labels"]


def test_karpenter_gives_back_empty_nodes_only_and_never_more_cards_than_the_pool() -> None:
    (node_pool,) = made({**POOL, "backend": "karpenter", "karpenter": KARPENTER})
    assert (node_pool["apiVersion"], node_pool["metadata"]["name"]) == ("karpenter.sh/v1", "plat-h100")
    spec = node_pool["spec"]
    assert spec["limits"] == {"nvidia.com/gpu": "24"}
    assert spec["disruption"] == {"consolidationPolicy": "WhenEmpty", "consolidateAfter": "600s", "budgets": [{"nodes": "1"}]}
    node = spec["template"]["spec"]
    assert node["expireAfter"] == "Never"
    assert node["taints"] == [{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}]
    rows = {row["key"]: row["values"] for row in node["requirements"]}
    assert rows["node.kubernetes.io/instance-type"] == ["p5.48xlarge"]
    assert rows["topology.kubernetes.io/zone"] == ["eu-central-1a"]


def test_nodes_of_karpenter_are_found_by_the_selector_of_the_pods() -> None:
    pool = {**POOL, "backend": "karpenter", "karpenter": KARPENTER, "labels": {"team": "search"}}
    (node_pool,) = made(pool)
    planned = plan(config(pool), "plat").pools[0]
    assert planned.selector.items() <= node_pool["spec"]["template"]["metadata"]["labels"].items()
    assert set(planned.taints) == {taint["key"] for taint in node_pool["spec"]["template"]["spec"]["taints"]}


def test_karpenter_leaves_a_node_alone_while_a_server_runs_on_it() -> None:
    from interlock.infra.manifests.render import render

    for backend, expected in ((None, None), (KARPENTER, "true")):
        pool = POOL | ({"backend": "karpenter", "karpenter": backend} if backend else {})
        whole = config(pool, servers=[{"name": "chat", "model": {"id": "Qwen/Qwen2.5-7B-Instruct"}, "pool": "h100"}])
        deployment = next(each for each in render(whole, plan(whole, "dev")) if each["kind"] == "Deployment")
        annotations = deployment["spec"]["template"]["metadata"]["annotations"]
        assert annotations.get("karpenter.sh/do-not-disrupt") == expected


def test_the_hook_of_a_managed_pool_gets_labels_and_taints_that_pods_ask_for() -> None:
    pool = config({**POOL, "backend": "managed", "labels": {"team": "search"}})
    intent = pool_intent(pool.pools[0])
    assert plan(pool, "dev").pools[0].selector.items() <= intent.labels.items()
    assert (intent.nodes, intent.gpus_per_node, intent.taints) == (3, 8, ("nvidia.com/gpu",))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"backend": "karpenter"}, "needs the field karpenter"),
        ({"karpenter": KARPENTER}, "only that backend has it"),
        ({"backend": "managed", "node_names": ["a", "b", "c"]}, "makes its own"),
        ({"node_names": ["a"]}, "nodes is 3, but node_names lists 1"),
        ({"allocation": "claim", "share": {"kind": "time-slicing", "replicas": 2}}, "setting of the device plugin"),
    ],
)
def test_a_pool_that_contradicts_its_backend_is_refused(change: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        config(POOL | change)


def node(sharing: str, *users: str, pool: str = "h100") -> LiveNode:
    labels = {"interlock.dev/pool": pool, "nvidia.com/device-plugin.config": sharing, "nvidia.com/mig.config": "all-disabled"}
    return LiveNode("gpu-1", labels, users)


def test_a_change_of_sharing_on_a_node_in_use_is_reported_as_disruptive() -> None:
    sliced = config({**POOL, "share": {"kind": "time-slicing", "replicas": 4}})
    (finding,) = sharing_changes(sliced.pools, [node("exclusive", "ml/chat-0")])
    assert (finding.code, finding.severity, finding.path) == ("GPU-108", Severity.WARNING, "pools[0].share")
    assert "nvidia.com/device-plugin.config exclusive to time-slicing-4" in finding.summary
    assert "ml/chat-0" in finding.detail


def test_another_mig_layout_on_a_node_in_use_is_reported_as_disruptive() -> None:
    cut = config({**POOL, "share": {"kind": "mig", "profile": "1g.10gb"}})
    (finding,) = sharing_changes(cut.pools, [node("mig", "ml/chat-0")])
    assert "nvidia.com/mig.config all-disabled to 1g.10gb-7" in finding.summary


def test_a_node_without_gpu_pods_an_unchanged_one_and_one_of_another_pool_are_not_reported() -> None:
    sliced = config({**POOL, "share": {"kind": "time-slicing", "replicas": 4}})
    quiet = [node("exclusive"), node("time-slicing-4", "ml/chat-0"), node("exclusive", "ml/chat-0", pool="other")]
    assert sharing_changes(sliced.pools, quiet) == ()
