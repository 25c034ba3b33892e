"""The dev stack on the real API server, scheduler and Pulumi: deployed, unchanged, edited in place, mended after a failure, gone."""

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


class DevStack:
    """A copy of the dev stack whose config can be edited."""

    def __init__(self, project: PulumiProject, config: dict[str, Any]) -> None:
        self.project = project
        self.config = config

    def write(self) -> None:
        path = self.project.folder / f"Pulumi.{self.project.stack}.yaml"
        data = yaml.safe_load(path.read_text()) if path.exists() else {}
        data["config"] = {**data.get("config", {}), "interlock:cluster": self.config}
        path.write_text(yaml.safe_dump(data))


@pytest.fixture
def make_stack(cluster: LocalCluster, pulumi_project: Callable[..., PulumiProject]) -> Callable[..., DevStack]:
    def make(stack: str = "dev", namespace: str = "dev-stack") -> DevStack:
        files = {name: (ROOT / name).read_text() for name in ("Pulumi.yaml", "__main__.py")}
        made = DevStack(pulumi_project(files, stack), yaml.safe_load((ROOT / "Pulumi.dev.yaml").read_text())["config"]["interlock:cluster"])
        made.config |= {"target": {"local": cluster.cluster.name}, "namespace": namespace}
        made.write()
        return made

    return make


@pytest.fixture
def dev(make_stack: Callable[..., DevStack], cluster: LocalCluster) -> Iterator[DevStack]:
    made = make_stack(namespace=f"dev-{uuid.uuid4().hex[:8]}")
    shared = (gpu_node("h100-0"), gpu_node("h100-1"))
    cluster.set_nodes(*shared, *simulated_nodes(load(made.config).pools))
    yield made
    if made.project.resources():
        made.project.destroy()
    cluster.set_nodes(*shared)


def shown(outcome: Outcome) -> str:
    """What a person sees: the engine's own debug events are only in its JSON."""
    return "\n".join(line for line in outcome.text.splitlines() if '"severity":"debug"' not in line)


def clean(outcome: Outcome) -> Outcome:
    assert outcome.code == 0, outcome.text
    assert "Traceback" not in shown(outcome)
    return outcome


def refused(outcome: Outcome, *messages: str) -> Outcome:
    assert outcome.code != 0, outcome.text
    assert "Traceback" not in shown(outcome)
    for message in messages:
        assert message in outcome.text, outcome.text
    return outcome


def changed(outcome: Outcome) -> dict[str, int]:
    return {operation: count for operation, count in outcome.changes.items() if operation != "same" and count}


def test_the_dev_stack_lives_its_whole_life(dev: DevStack, cluster: LocalCluster) -> None:
    namespace = dev.config["namespace"]
    assert changed(clean(dev.project.preview()))["create"] >= 7

    clean(dev.project.up())
    pod = cluster.get("pods", "-n", namespace)["items"][0]
    assert pod["spec"]["nodeName"] == "l4-0"
    assert {"type": "Ready", "status": "True"}.items() <= next(c for c in pod["status"]["conditions"] if c["type"] == "Ready").items()

    assert changed(clean(dev.project.up())) == {}
    assert changed(clean(dev.project.refresh())) == {}

    uid = cluster.get("deployment", "chat", "-n", namespace)["metadata"]["uid"]
    dev.config["servers"][0]["extra"] = {"annotations": {"team.example.org/owner": "chat"}}
    dev.write()
    assert changed(clean(dev.project.up())) == {"update": 1}
    edited = cluster.get("deployment", "chat", "-n", namespace)
    assert edited["metadata"]["uid"] == uid
    assert edited["spec"]["template"]["metadata"]["annotations"]["team.example.org/owner"] == "chat"

    outputs = dev.project.outputs()["interlock"]
    assert outputs["servers"]["chat"]["url"] == f"http://chat.{namespace}.svc.cluster.local/v1"
    assert outputs["cluster_uid"] == cluster.get("namespace", "kube-system")["metadata"]["uid"]

    clean(dev.project.destroy())
    assert namespace not in [each["metadata"]["name"] for each in cluster.get("namespaces")["items"]]


def test_a_contradiction_is_refused_at_preview_before_the_first_resource(dev: DevStack, cluster: LocalCluster) -> None:
    dev.config["servers"][0] |= {"gpus": 2, "engine": {"tensor_parallel_size": 4}}
    dev.write()
    arithmetic = "GPU-001 error: servers[0].gpus = 2: TP 4 x PP 1 = 4 GPUs, but the replica asks for 2"
    refused(dev.project.preview(), arithmetic, "fix: ask for 4 GPUs per replica", "GPU-002 error", "nothing was changed")
    refused(dev.project.up(), arithmetic)
    assert [each["type"] for each in dev.project.resources()] in ([], ["pulumi:pulumi:Stack"])
    assert dev.config["namespace"] not in [each["metadata"]["name"] for each in cluster.get("namespaces")["items"]]


def test_a_failed_update_converges_after_the_config_is_fixed_without_state_surgery(dev: DevStack, cluster: LocalCluster) -> None:
    # The API server refuses this pod: everything before the Deployment is made, then the update fails.
    dev.config["servers"][0]["extra"] = {"pod_patch": {"restartPolicy": "Sometimes"}}
    dev.write()
    refused(dev.project.up(), "restartPolicy")
    dev.config["servers"][0]["extra"] = {}
    dev.write()
    clean(dev.project.up())
    assert cluster.get("deployment", "chat", "-n", dev.config["namespace"])["status"]["readyReplicas"] == 1
    assert changed(clean(dev.project.up())) == {}


def test_a_namespace_of_another_stack_is_refused_and_nothing_is_changed(
    dev: DevStack, make_stack: Callable[..., DevStack], cluster: LocalCluster
) -> None:
    clean(dev.project.up())
    before = cluster.get("all", "-n", dev.config["namespace"])
    second = make_stack("other", dev.config["namespace"])
    refused(second.project.up(), f"namespace: '{dev.config['namespace']}' belongs to stack 'dev'")
    after = cluster.get("all", "-n", dev.config["namespace"])
    assert [each["metadata"]["uid"] for each in after["items"]] == [each["metadata"]["uid"] for each in before["items"]]


def test_another_cluster_than_the_remembered_one_is_refused(dev: DevStack) -> None:
    clean(dev.project.up())
    dev.config["target"]["uid"] = "00000000-0000-0000-0000-000000000000"
    dev.write()
    refused(dev.project.preview(), "target: context interlock-", "but target.uid names 00000000")


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ({"local": "no-such-plane"}, "the local control plane 'no-such-plane' is not there: start it with `make up`"),
        ({"context": "no-such-context"}, "context 'no-such-context' cannot be used"),
        ({"context": "x", "kubeconfig": "/no/such/file"}, "context 'x' cannot be used from /no/such/file"),
    ],
)
def test_a_cluster_that_is_not_there_is_one_clear_message(dev: DevStack, target: dict[str, str], message: str) -> None:
    dev.config["target"] = target
    dev.write()
    refused(dev.project.preview(), message)


def test_a_cluster_that_does_not_answer_is_one_clear_message(dev: DevStack, cluster: LocalCluster) -> None:
    kubeconfig = yaml.safe_load(cluster.kubeconfig.read_text())
    kubeconfig["clusters"][0]["cluster"]["server"] = "https://127.0.0.1:9"
    dead = dev.project.folder / "dead-kubeconfig"
    dead.write_text(yaml.safe_dump(kubeconfig))
    dev.config["target"] = {"context": cluster.context, "kubeconfig": str(dead)}
    dev.write()
    refused(dev.project.preview(), "https://127.0.0.1:9", "does not answer")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"surprise": 1}, "surprise: unknown key"),
        ({"pools": "many"}, "pools"),
        ({"namespace": "x" * 64}, "namespace: 'xxx"),
    ],
)
def test_a_bad_configuration_is_one_clear_message(dev: DevStack, change: dict[str, Any], message: str) -> None:
    dev.config |= change
    dev.write()
    refused(dev.project.preview(), message, "Pulumi.dev.yaml")
