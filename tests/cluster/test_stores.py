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
POOL = {"name": "l4", "gpu": "l4", "nodes": 2, "gpus_per_node": 2, "cpu": "16", "memory": "64Gi"}
MODEL = "Qwen/Qwen2.5-0.5B-Instruct"
SERVER = {"model": {"id": MODEL}, "pool": "l4", "gpus": 1, "engine": {"max_model_len": 4096}}
STORES: list[dict[str, Any]] = [
    {"name": "filled", "kind": "claim", "storage_class": "shared", "prefetch": [{"model": MODEL, "revision": "a" * 40}]},
    {"name": "kept", "kind": "claim", "storage_class": "shared", "keep": "retain"},
    {"name": "disk", "kind": "local", "path": "/mnt/nvme", "nodes": ["l4-1"]},
    {"name": "export", "kind": "nfs", "server": "10.0.0.9", "path": "/export"},
]


class Stack:
    """A stack with a store of each kind that has a life of its own, and a server on each of two of them."""

    def __init__(self, project: PulumiProject, config: dict[str, Any], cluster: LocalCluster) -> None:
        self.project, self.namespace, self.cluster = project, str(config["namespace"]), cluster
        path = project.folder / f"Pulumi.{project.stack}.yaml"
        data = (yaml.safe_load(path.read_text()) if path.exists() else None) or {}
        path.write_text(yaml.safe_dump({**data, "config": {**data.get("config", {}), "interlock:cluster": config}}))

    def run(self, command: str) -> Outcome:
        outcome: Outcome = getattr(self.project, command)()
        assert outcome.code == 0, outcome.text
        return outcome

    def get(self, *what: str) -> Any:
        """An object, or objects, of the stack's namespace."""
        return self.cluster.get(*what, "-n", self.namespace)


@pytest.fixture(scope="module")
def stack(cluster: LocalCluster, pulumi_project: Callable[..., PulumiProject]) -> Iterator[Stack]:
    """Deployed; the last test of this file destroys it."""
    config = {
        "target": {"local": cluster.cluster.name},
        "namespace": f"stores-{uuid.uuid4().hex[:8]}",
        "pools": [POOL],
        "stores": STORES,
        "servers": [{"name": "chat", "weights": "filled", **SERVER}, {"name": "near", "weights": "disk", **SERVER}],
    }
    cluster.set_nodes(*SHARED, *simulated_nodes(load(config).pools))
    files = {name: (ROOT / name).read_text() for name in ("Pulumi.yaml", "__main__.py")}
    made = Stack(pulumi_project(files, "stores"), config, cluster)
    made.run("up")
    yield made
    cluster.kubectl("delete", "namespace", made.namespace, "--ignore-not-found", "--wait=false")
    cluster.set_nodes(*SHARED)


def test_a_local_volume_takes_the_node_that_the_pod_is_scheduled_to(stack: Stack) -> None:
    (pod,) = stack.get("pods", "-l", "interlock.dev/server=near")["items"]
    claim = stack.get("pvc", "disk")
    assert (pod["spec"]["nodeName"], claim["status"]["phase"], claim["spec"]["volumeName"]) == ("l4-1", "Bound", "stores-disk-l4-1")
    volume = stack.cluster.get("pv", "stores-disk-l4-1")
    assert volume["spec"]["persistentVolumeReclaimPolicy"] == "Retain"


def test_a_static_volume_binds_to_its_own_claim_only(stack: Stack) -> None:
    volume = stack.cluster.get("pv", "stores-export")
    assert volume["spec"]["claimRef"]["uid"] == stack.get("pvc", "export")["metadata"]["uid"]
    assert volume["status"]["phase"] == "Bound"


def test_servers_start_when_their_weights_have_been_fetched_once(stack: Stack) -> None:
    (job,) = stack.get("jobs")["items"]
    assert job["status"]["succeeded"] == 1
    assert stack.get("deployment", "chat")["metadata"]["creationTimestamp"] >= job["status"]["completionTime"]
    assert {operation for operation, count in stack.run("up").changes.items() if count} == {"same"}
    assert [each["metadata"]["uid"] for each in stack.get("jobs")["items"]] == [job["metadata"]["uid"]]


def test_a_retained_store_outlives_a_destroy_and_the_next_up_finds_it_while_the_others_go(stack: Stack) -> None:
    before = stack.get("pvc", "kept")
    stack.run("destroy")
    assert {each["type"] for each in stack.project.resources()} <= {"pulumi:pulumi:Stack"}
    assert [(each["metadata"]["name"], each["metadata"]["uid"]) for each in stack.get("pvc")["items"]] == [
        ("kept", before["metadata"]["uid"])
    ]
    assert stack.get("deployments")["items"] == []
    stack.run("up")
    claim = stack.get("pvc", "kept")
    assert (claim["metadata"]["uid"], claim["spec"]["volumeName"]) == (before["metadata"]["uid"], before["spec"]["volumeName"])
    assert claim["status"]["phase"] == "Bound"
    assert stack.get("deployment", "chat")["status"]["readyReplicas"] == 1
