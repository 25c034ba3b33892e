"""Stores by Pulumi on the real API server and volume controllers: what outlives a destroy, local volumes, prefetch before servers."""

import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from interlock.infra.config import load
from interlock.infra.manifests.simulated import simulated_nodes
from tools.cluster.testing import LocalCluster, Outcome, PulumiProject, gpu_node

ROOT = Path(__file__).resolve().parents[2]
SHARED = (gpu_node("h100-0"), gpu_node("h100-1"))
POOL = {"name": "l4", "gpu": "l4", "nodes": 2, "gpus_per_node": 1, "cpu": "8", "memory": "32Gi"}
MODEL = "Qwen/Qwen2.5-0.5B-Instruct"
SERVER = {"name": "chat", "model": {"id": MODEL}, "pool": "l4", "weights": "models", "engine": {"max_model_len": 4096}}


class Stack:
    """A stack with one store and one server."""

    def __init__(self, project: PulumiProject, config: dict[str, Any]) -> None:
        self.project, self.config = project, config
        path = project.folder / f"Pulumi.{project.stack}.yaml"
        data = (yaml.safe_load(path.read_text()) if path.exists() else None) or {}
        path.write_text(yaml.safe_dump({**data, "config": {**data.get("config", {}), "interlock:cluster": config}}))

    @property
    def namespace(self) -> str:
        return str(self.config["namespace"])

    def run(self, command: str, *arguments: str) -> Outcome:
        outcome: Outcome = getattr(self.project, command)(*arguments)
        assert outcome.code == 0, outcome.text
        return outcome


@pytest.fixture
def make(cluster: LocalCluster, pulumi_project: Callable[..., PulumiProject]) -> Iterator[Callable[..., Stack]]:
    files = {name: (ROOT / name).read_text() for name in ("Pulumi.yaml", "__main__.py")}
    made: list[Stack] = []

    def build(store: dict[str, Any], **more: Any) -> Stack:
        config = {
            "target": {"local": cluster.cluster.name},
            "namespace": f"stores-{uuid.uuid4().hex[:8]}",
            "pools": [POOL],
            "stores": [{"name": "models", **store}],
            "servers": [SERVER],
            **more,
        }
        cluster.set_nodes(*SHARED, *simulated_nodes(load(config).pools))
        made.append(Stack(pulumi_project(files, "stores"), config))
        return made[-1]

    yield build
    for stack in made:
        # What a test kept on purpose must not hold up the others.
        stack.project.run("state", "unprotect", "--all", "--yes", "--stack", "stores")
        stack.project.destroy()
        cluster.kubectl("delete", "namespace", stack.namespace, "--ignore-not-found", "--wait=false")
    cluster.set_nodes(*SHARED)


def uid(cluster: LocalCluster, stack: Stack, claim: str = "models") -> str:
    return str(cluster.get("pvc", claim, "-n", stack.namespace)["metadata"]["uid"])


def test_a_retained_store_outlives_a_destroy_and_the_next_up_finds_it(make: Callable[..., Stack], cluster: LocalCluster) -> None:
    stack = make({"kind": "claim", "storage_class": "shared", "keep": "retain"})
    stack.run("up")
    before, volume = uid(cluster, stack), cluster.get("pvc", "models", "-n", stack.namespace)["spec"]["volumeName"]
    stack.run("destroy")
    assert stack.project.resources() == [] or all(each["type"] == "pulumi:pulumi:Stack" for each in stack.project.resources())
    assert uid(cluster, stack) == before
    assert cluster.get("deployments", "-n", stack.namespace)["items"] == []
    stack.run("up")
    claim = cluster.get("pvc", "models", "-n", stack.namespace)
    assert (claim["metadata"]["uid"], claim["spec"]["volumeName"], claim["status"]["phase"]) == (before, volume, "Bound")
    assert {operation for operation, count in stack.run("up").changes.items() if count} == {"same"}


def test_a_protected_store_stops_a_destroy_and_is_passed_over_when_asked(make: Callable[..., Stack], cluster: LocalCluster) -> None:
    stack = make({"kind": "claim", "storage_class": "shared", "keep": "protect"})
    stack.run("up")
    before = uid(cluster, stack)
    refused = stack.project.destroy()
    assert refused.code != 0
    assert "protect" in refused.text
    assert uid(cluster, stack) == before
    stack.run("destroy", "--exclude-protected")
    assert cluster.get("deployments", "-n", stack.namespace)["items"] == []
    assert uid(cluster, stack) == before
    stack.run("up")
    assert uid(cluster, stack) == before
    assert cluster.get("deployment", "chat", "-n", stack.namespace)["status"]["readyReplicas"] == 1


def test_a_store_that_is_not_kept_goes_with_the_stack(make: Callable[..., Stack], cluster: LocalCluster) -> None:
    stack = make({"kind": "claim", "storage_class": "shared"})
    stack.run("up")
    stack.run("destroy")
    assert cluster.kubectl("get", "namespace", stack.namespace, "--ignore-not-found") == ""


def test_a_local_volume_takes_the_node_that_the_pod_is_scheduled_to(make: Callable[..., Stack], cluster: LocalCluster) -> None:
    stack = make({"kind": "local", "path": "/mnt/nvme", "nodes": ["l4-1"]})
    stack.run("up")
    (pod,) = cluster.get("pods", "-n", stack.namespace)["items"]
    claim = cluster.get("pvc", "models", "-n", stack.namespace)
    assert (pod["spec"]["nodeName"], claim["status"]["phase"], claim["spec"]["volumeName"]) == ("l4-1", "Bound", "stores-models-l4-1")
    volume = cluster.get("pv", "stores-models-l4-1")
    assert volume["spec"]["persistentVolumeReclaimPolicy"] == "Retain"


def test_servers_start_when_their_weights_have_been_fetched_once(make: Callable[..., Stack], cluster: LocalCluster) -> None:
    prefetch = {"model": MODEL, "revision": "a" * 40}
    stack = make({"kind": "claim", "storage_class": "shared", "prefetch": [prefetch]})
    stack.run("up")
    (job,) = cluster.get("jobs", "-n", stack.namespace)["items"]
    assert job["status"]["succeeded"] == 1
    deployment = cluster.get("deployment", "chat", "-n", stack.namespace)
    assert deployment["metadata"]["creationTimestamp"] >= job["status"]["completionTime"]
    assert {operation for operation, count in stack.run("up").changes.items() if count} == {"same"}
    assert [each["metadata"]["uid"] for each in cluster.get("jobs", "-n", stack.namespace)["items"]] == [job["metadata"]["uid"]]


def test_a_static_volume_binds_to_its_own_claim_only(make: Callable[..., Stack], cluster: LocalCluster) -> None:
    stack = make({"kind": "nfs", "server": "10.0.0.9", "path": "/export"})
    stack.run("up")
    volume = cluster.get("pv", "stores-models")
    assert volume["spec"]["claimRef"]["uid"] == uid(cluster, stack)
    assert volume["status"]["phase"] == "Bound"
    assert {operation for operation, count in stack.run("up").changes.items() if count} == {"same"}
