"""A plan held against clusters: the one that it describes, and each that differs from it in one thing."""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from interlock.infra.config import load
from interlock.infra.manifests.references import references
from interlock.infra.manifests.simulated import simulated_nodes
from interlock.infra.preview import previewed
from interlock.infra.preview.standing import CODES, ClusterState, NodeState, differences_of
from interlock.stacks.api import RefusedError
from interlock.stacks.standing import cluster_state
from tests.support import TODAY

ROOT = Path(__file__).resolve().parents[2]
CONFIG = load(yaml.safe_load((ROOT / "Pulumi.prod.yaml").read_text())["config"]["interlock:cluster"])
MADE = previewed(CONFIG, "prod", today=TODAY)
OBJECTS = [draft.manifest for draft in MADE.objects.drafts]
LISTENERS = {"spec": {"listeners": [{"name": "https"}]}}


def state_of(node: dict[str, Any]) -> NodeState:
    taints = tuple((each["key"], each.get("value") or "", each["effect"]) for each in node["spec"]["taints"])
    return NodeState(node["metadata"]["name"], node["metadata"]["labels"], taints, node["status"]["allocatable"])


STATE = ClusterState(
    nodes=tuple(state_of(node) for node in simulated_nodes(CONFIG.pools)),
    served=frozenset((each["apiVersion"], each["kind"]) for each in OBJECTS),
    there={(kind, space, name): LISTENERS if kind == "Gateway" else {} for kind, space, name, _ in references(OBJECTS)},
    quotas=(("gpus", {"requests.nvidia.com/gpu": "64"}, {}),),
)
Mutation = Callable[[ClusterState], ClusterState]


def codes(state: ClusterState) -> list[str]:
    return [each.code for each in differences_of(MADE.plan, OBJECTS, state)]


def nodes(change: Callable[[NodeState], NodeState], pool: str = "h100") -> Mutation:
    def changed(state: ClusterState) -> ClusterState:
        found = tuple(change(each) if each.labels["interlock.dev/pool"] == pool else each for each in state.nodes)
        return dataclasses.replace(state, nodes=found)

    return changed


def labelled(node: NodeState, **labels: str) -> NodeState:
    return dataclasses.replace(node, labels={**node.labels, **labels})


def without(kind: str) -> Mutation:
    def changed(state: ClusterState) -> ClusterState:
        (key, *_) = [each for each in state.there if each[0] == kind]
        return dataclasses.replace(state, there={**state.there, key: None})

    return changed


CHANGES: dict[str, tuple[str, Mutation]] = {
    "a kind is gone": ("CLU-001", lambda s: dataclasses.replace(s, served=s.served - {("keda.sh/v1alpha1", "ScaledObject")})),
    "only an older version is served": (
        "CLU-001",
        lambda s: dataclasses.replace(
            s,
            served=(s.served - {("gateway.networking.k8s.io/v1", "HTTPRoute")}) | {("gateway.networking.k8s.io/v1beta1", "HTTPRoute")},
        ),
    ),
    "one node fewer": ("CLU-002", lambda s: dataclasses.replace(s, nodes=s.nodes[1:])),
    "another label": ("CLU-002", nodes(lambda node: labelled(node, **{"topology.kubernetes.io/zone": "elsewhere"}))),
    "no plugin": ("CLU-003", nodes(lambda node: dataclasses.replace(node, allocatable={**node.allocatable, "nvidia.com/gpu": "0"}))),
    "a taint of another team": (
        "CLU-004",
        nodes(lambda node: dataclasses.replace(node, taints=(*node.taints, ("team", "b", "NoExecute")))),
    ),
    "pods of others": ("CLU-005", nodes(lambda node: dataclasses.replace(node, used={"nvidia.com/gpu": 7}))),
    "another card": ("CLU-006", nodes(lambda node: labelled(node, **{"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB"}))),
    "no storage class": ("CLU-007", without("StorageClass")),
    "no gateway": ("CLU-007", without("Gateway")),
    "no certificate": ("CLU-007", without("Secret")),
    "a quota": ("CLU-008", lambda s: dataclasses.replace(s, quotas=(("gpus", {"requests.nvidia.com/gpu": "21"}, {}),))),
    "a quota that others use": (
        "CLU-008",
        lambda s: dataclasses.replace(s, quotas=(("gpus", {"requests.nvidia.com/gpu": "64"}, {"requests.nvidia.com/gpu": "60"}),)),
    ),
    "another listener": (
        "CLU-009",
        lambda s: dataclasses.replace(
            s, there={k: {"spec": {"listeners": [{"name": "http"}]}} if k[0] == "Gateway" else v for k, v in s.there.items()}
        ),
    ),
    "a cordon": ("CLU-010", nodes(lambda node: dataclasses.replace(node, cordoned=True), "l4")),
}


def test_the_cluster_that_the_plan_describes_differs_in_nothing() -> None:
    assert codes(STATE) == []


@pytest.mark.parametrize("name", CHANGES)
def test_each_difference_is_found_and_tells_its_fix(name: str) -> None:
    code, change = CHANGES[name]
    found = differences_of(MADE.plan, OBJECTS, change(STATE))
    assert code in {each.code for each in found}, [each.text() for each in found]
    assert all(each.code in CODES and each.remedy and each.path for each in found)


def test_each_code_has_a_mutation_that_shows_it() -> None:
    assert {code for code, _ in CHANGES.values()} == set(CODES)


def test_what_could_not_be_read_is_no_difference() -> None:
    kinds = {each["kind"]: "403" for each in OBJECTS}
    assert codes(ClusterState((), frozenset(), {}, (), {"nodes": "403", "quotas": "403", **kinds})) == []


def test_taints_that_pass_and_others_labels_are_no_difference() -> None:
    soft = nodes(lambda node: dataclasses.replace(node, taints=(*node.taints, ("team", "b", "PreferNoSchedule"))))
    assert codes(soft(STATE)) == []
    assert codes(nodes(lambda node: labelled(node, **{"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3", "x": "y"}))(STATE)) == []


class Fake:
    """An API server of answers by path; None refuses with 403, a path that is not there with 404."""

    server = "https://fake"

    def __init__(self, answers: dict[str, Any]) -> None:
        self.answers = answers

    def get(self, path: str, **query: str) -> dict[str, Any]:
        del query
        if path not in self.answers:
            raise RefusedError(404, "Not Found")
        found: dict[str, Any] | None = self.answers[path]
        if found is None:
            raise RefusedError(403, "Forbidden")
        return found


def pod(name: str, node: str, units: str, labels: dict[str, str]) -> dict[str, Any]:
    asked = {"resources": {"limits": {"nvidia.com/gpu": units, "memory": "1Gi"}}}
    spec = {"nodeName": node, "containers": [asked], "initContainers": [asked, asked]}
    return {"metadata": {"name": name, "labels": labels}, "spec": spec}


def test_what_pods_of_others_hold_counts_and_what_the_stacks_own_hold_does_not() -> None:
    nodes_there = {"items": [{**each, "spec": {**each["spec"], "unschedulable": True}} for each in simulated_nodes(CONFIG.pools)[:1]]}
    pods = {"items": [pod("theirs", "h100-0", "3", {}), pod("ours", "h100-0", "2", {"interlock.dev/stack": "prod"})]}
    state = cluster_state(
        Fake({"/api/v1/nodes": nodes_there, "/api/v1/pods": pods, "/apis": {"groups": []}, "/api/v1": {}}), "prod", "inference", OBJECTS
    )
    assert [(node.name, node.used, node.cordoned) for node in state.nodes] == [("h100-0", {"nvidia.com/gpu": 3}, True)]
    assert state.unread == {}


def test_what_may_not_be_read_is_named_and_the_rest_is_looked_at() -> None:
    answers: dict[str, Any] = {
        "/api/v1/nodes": None,
        "/apis": {"groups": []},
        "/api/v1": {},
        "/api/v1/namespaces/inference/secrets/models-tls": None,
    }
    state = cluster_state(Fake(answers), "prod", "inference", OBJECTS)
    assert state.unread == {"nodes": "nodes and pods cannot be listed: 403 Forbidden", "Secret/models-tls": "403 Forbidden"}
    found = {each.code for each in differences_of(MADE.plan, OBJECTS, state)}
    assert found == {"CLU-001", "CLU-007"}


def test_the_page_lists_every_code() -> None:
    page = (ROOT / "docs" / "verify.md").read_text("utf-8")
    assert [line for line in page.splitlines() if line.startswith("| CLU-")] == [f"| {code} | {text} |" for code, text in CODES.items()]
