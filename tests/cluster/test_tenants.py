"""Tenants' keys by Pulumi on a real API server: made, found by their outputs, rotated with an overlap, removed; and nowhere in clear.

The plugin of the random provider is the project's stand-in where the real one cannot be had (tools/random_provider).
"""

import base64
import json
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from interlock.infra.config import load
from interlock.infra.manifests.simulated import simulated_nodes
from interlock.runtime.gate.access import holder, read_keys, read_policy
from tools.cluster.testing import LocalCluster, Outcome, PulumiProject, gpu_node

ROOT = Path(__file__).resolve().parents[2]
SHARED = (gpu_node("h100-0"), gpu_node("h100-1"))


class Stack:
    """The dev stack with tenants, in a namespace of the test's own."""

    def __init__(self, cluster: LocalCluster, project: PulumiProject, namespace: str) -> None:
        self.cluster, self.project, self.namespace = cluster, project, namespace
        self.config: dict[str, Any] = yaml.safe_load((ROOT / "Pulumi.dev.yaml").read_text())["config"]["interlock:cluster"]
        self.config |= {"target": {"local": cluster.cluster.name}, "namespace": namespace, "create_namespace": False}
        self.seen = list[str]()

    def up(self, *tenants: dict[str, Any]) -> Outcome:
        self.config["access"] = {"tenants": list(tenants)}
        path = self.project.folder / "Pulumi.dev.yaml"
        kept = yaml.safe_load(path.read_text()) if path.exists() else {}
        path.write_text(yaml.safe_dump({**kept, "config": {"interlock:cluster": self.config}}))
        outcome = self.project.up("--diff", "--show-secrets=false")
        self.seen.append(outcome.text)
        assert outcome.code == 0, outcome.text
        return outcome

    def shown(self, command: str) -> str:
        """What a command of the page prints, in this namespace; nothing for an update."""
        if command.startswith("pulumi up"):
            return ""  # self.up, just done
        environment = os.environ | self.project.environment
        done = subprocess.run(
            ["bash", "-c", command.replace("-n models", f"-n {self.namespace}")],
            env=environment, capture_output=True, text=True, check=True,
        )  # fmt: skip
        return done.stdout

    def secret(self, name: str, key: str) -> bytes:
        return base64.b64decode(self.cluster.get("secret", name, "-n", self.namespace)["data"][key])

    def key(self, tenant: str) -> bytes:
        return self.secret(str(self.project.outputs()["interlock"]["servers"]["chat"]["secrets"][f"key/{tenant}"]), "key")

    def mounted(self) -> list[str]:
        """What the engines mount, by UID: an object that is made anew would be missing for a moment."""
        found = (("secret", "interlock-dev-keys"), ("configmap", "chat-access"))
        return [self.cluster.get(kind, name, "-n", self.namespace)["metadata"]["uid"] for kind, name in found]

    def opens(self, key: bytes) -> str:
        return holder(read_keys(self.secret("interlock-dev-keys", "keys.json")), key)


@pytest.fixture
def stack(cluster: LocalCluster, pulumi_project: Callable[..., PulumiProject], namespace: str) -> Iterator[Stack]:
    cluster.kubectl("label", "namespace", namespace, "interlock.dev/stack=dev")
    files = {name: (ROOT / name).read_text() for name in ("Pulumi.yaml", "__main__.py")}
    made = Stack(cluster, pulumi_project(files), namespace)
    cluster.set_nodes(*SHARED, *simulated_nodes(load(made.config).pools))
    yield made
    cluster.set_nodes(*SHARED)


def test_a_key_is_made_rotated_and_removed_and_stands_nowhere_in_clear(stack: Stack, cluster: LocalCluster) -> None:
    stack.up({"name": "search", "concurrency": 4}, {"name": "reports"})
    first, other = stack.key("search"), stack.key("reports")
    assert (stack.opens(first), stack.opens(other), stack.opens(first + b"x")) == ("search", "reports", "")
    assert (len(first), first[:9]) == (len("search-1.") + 43, b"search-1.")
    shown = {command.split()[1]: stack.shown(command) for command in page_commands()}
    assert shown == {"up": "", "get": first.decode()}
    mounted = stack.mounted()
    pods = cluster.get("deployment", "chat", "-n", stack.namespace)["metadata"]["generation"]

    stack.up({"name": "search", "concurrency": 8, "rotation": 2}, {"name": "reports"})
    second = stack.key("search")
    assert second != first
    assert [stack.opens(each) for each in (first, second, other)] == ["search", "search", "reports"]
    policy = cluster.get("configmap", "chat-access", "-n", stack.namespace)["data"]["access.json"]
    assert read_policy(policy.encode()).tenants["search"].concurrency == 8

    stack.up({"name": "search", "rotation": 2, "overlap": False})
    assert [stack.opens(each) for each in (first, second, other)] == ["", "search", ""]
    names = {each["metadata"]["name"] for each in cluster.get("secrets", "-n", stack.namespace)["items"]}
    assert names == {"interlock-dev-keys", "dev-search-key"}
    assert cluster.get("deployment", "chat", "-n", stack.namespace)["metadata"]["generation"] == pods

    assert stack.mounted() == mounted

    outcome = stack.up({"name": "search", "rotation": 2, "overlap": False})
    assert {operation for operation, count in outcome.changes.items() if count} == {"same"}
    in_clear(stack, cluster, [first, second, other])
    assert stack.project.destroy().code == 0
    assert not cluster.get("secrets", "-n", stack.namespace)["items"]


def page_commands() -> list[str]:
    """Commands of docs/tenants.md that need a cluster, but for those inside a running container."""
    lines = (ROOT / "docs" / "tenants.md").read_text("utf-8").splitlines()
    return [line[2:] for line in lines if line.startswith(("$ pulumi", "$ kubectl get"))]


def in_clear(stack: Stack, cluster: LocalCluster, keys: list[bytes]) -> None:
    """State, history, outputs, what was printed, config, every object but the Secrets, and the pods' command lines."""
    backend = Path(stack.project.environment["PULUMI_BACKEND_URL"].removeprefix("file://"))
    files = [path for folder in (backend, stack.project.folder) for path in folder.rglob("*") if path.is_file()]
    texts = {str(path): path.read_bytes().decode("utf-8", "replace") for path in files}
    texts |= {"outputs": json.dumps(stack.project.outputs()), "printed": "\n".join(stack.seen)}
    texts |= {"export": stack.project.checked("stack", "export")}
    for kind in ("deployments", "pods", "configmaps", "events", "replicasets", "services"):
        texts[kind] = json.dumps(cluster.get(kind, "-n", stack.namespace))
    assert len(files) > 3
    for key in keys:
        secret = key.partition(b".")[2]
        forms = (secret.decode(), *(base64.b64encode(each).decode().rstrip("=") for each in (secret, key)))
        assert [name for name, text in texts.items() if any(form in text for form in forms)] == []
