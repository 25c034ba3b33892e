"""The dev stack on the real API server, scheduler and Pulumi: deployed, unchanged, edited in place, mended after a failure, gone."""

import json
import subprocess
import sys
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


@pytest.fixture(scope="module")
def make_stack(cluster: LocalCluster, pulumi_project: Callable[..., PulumiProject]) -> Callable[..., DevStack]:
    def make(stack: str, namespace: str) -> DevStack:
        files = {name: (ROOT / name).read_text() for name in ("Pulumi.yaml", "__main__.py")}
        made = DevStack(pulumi_project(files, stack), yaml.safe_load((ROOT / "Pulumi.dev.yaml").read_text())["config"]["interlock:cluster"])
        made.config |= {"target": {"local": cluster.cluster.name}, "namespace": namespace}
        made.write()
        return made

    return make


@pytest.fixture(scope="module")
def failed(make_stack: Callable[..., DevStack], cluster: LocalCluster) -> Iterator[tuple[DevStack, Outcome]]:
    """The dev stack after a first update that the API server refused in its middle, and what was said."""
    made = make_stack("dev", f"dev-{uuid.uuid4().hex[:8]}")
    shared = (gpu_node("h100-0"), gpu_node("h100-1"))
    cluster.set_nodes(*shared, *simulated_nodes(load(made.config).pools))
    # The API server refuses this pod: everything before the Deployment is made, then the update fails.
    made.config["servers"][0]["extra"] = {"pod_patch": {"restartPolicy": "Sometimes"}}
    made.write()
    yield made, made.project.up()
    cluster.kubectl("delete", "namespace", made.config["namespace"], "--ignore-not-found", "--wait=false")
    cluster.set_nodes(*shared)


@pytest.fixture(scope="module")
def dev(failed: tuple[DevStack, Outcome]) -> DevStack:
    """The dev stack, deployed; the tests of this file leave it as the next one needs it, and the last one destroys it."""
    made, _ = failed
    made.config["servers"][0]["extra"] = {}
    made.write()
    clean(made.project.up())
    return made


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


def test_a_contradiction_is_refused_at_preview_before_the_first_resource(
    make_stack: Callable[..., DevStack], cluster: LocalCluster
) -> None:
    stack = make_stack("bad", "never-made")
    stack.config["servers"][0] |= {"gpus": 2, "engine": {"tensor_parallel_size": 4}}
    stack.write()
    arithmetic = "GPU-001 error: servers[0].gpus = 2: TP 4 x PP 1 = 4 GPUs, but the replica asks for 2"
    # With a preview of its own, as a person types it.
    up = stack.project.run("up", "--yes", "--stack", "bad")
    refused(up, arithmetic, "fix: set gpus to 4", "GPU-002 error", "nothing was changed")
    assert [each["type"] for each in stack.project.resources()] in ([], ["pulumi:pulumi:Stack"])
    assert "never-made" not in [each["metadata"]["name"] for each in cluster.get("namespaces")["items"]]


def test_a_failed_update_converges_after_the_config_is_fixed_without_state_surgery(
    failed: tuple[DevStack, Outcome], dev: DevStack, cluster: LocalCluster
) -> None:
    refused(failed[1], "restartPolicy")
    (pod,) = cluster.get("pods", "-n", dev.config["namespace"])["items"]
    assert pod["spec"]["nodeName"] == "l4-0"
    assert {"type": "Ready", "status": "True"}.items() <= next(c for c in pod["status"]["conditions"] if c["type"] == "Ready").items()


def test_a_second_up_and_a_refresh_change_nothing(dev: DevStack) -> None:
    assert changed(clean(dev.project.up())) == {}
    assert changed(clean(dev.project.refresh())) == {}


def test_the_outputs_name_the_url_and_the_cluster(dev: DevStack, cluster: LocalCluster) -> None:
    outputs = dev.project.outputs()["interlock"]
    assert outputs["servers"]["chat"]["url"] == f"http://chat.{dev.config['namespace']}.svc.cluster.local/v1"
    assert outputs["cluster_uid"] == cluster.get("namespace", "kube-system")["metadata"]["uid"]


def test_an_edit_rolls_out_in_place(dev: DevStack, cluster: LocalCluster) -> None:
    uid = cluster.get("deployment", "chat", "-n", dev.config["namespace"])["metadata"]["uid"]
    dev.config["servers"][0]["extra"] = {"annotations": {"team.example.org/owner": "chat"}}
    dev.write()
    assert changed(clean(dev.project.up())) == {"update": 1}
    edited = cluster.get("deployment", "chat", "-n", dev.config["namespace"])
    assert edited["metadata"]["uid"] == uid
    assert edited["spec"]["template"]["metadata"]["annotations"]["team.example.org/owner"] == "chat"


def told_live(dev: DevStack) -> dict[str, Any]:
    """What `interlock diff --against live` says of the stack's file."""
    command = [sys.executable, "-m", "interlock.cli.main", "diff", "--stack", "dev", "--against", "live", "--json"]
    done = subprocess.run(command, cwd=dev.project.folder, env=dev.project.environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_the_difference_to_the_cluster_names_what_a_preview_changes_and_nothing_else(dev: DevStack, cluster: LocalCluster) -> None:
    assert told_live(dev)["objects"] == []
    (server,) = dev.config["servers"]
    before = json.loads(json.dumps(server))
    server |= {"engine": {"max_model_len": 2048}, "route": {"host": "chat.example.org"}, "access": {"open": "asked by a test"}}
    dev.write()
    ops = {"added": "create", "changed": "update", "removed": "delete", "replaced": "replace"}
    told = {(each["kind"], each["name"]): ops[each["what"]] for each in told_live(dev)["objects"]}
    steps = {step: op for step, op in clean(dev.project.preview()).steps.items() if op != "same" and step.startswith("kubernetes:")}
    kinds = {step: step.split("::")[0].rpartition(":")[2] for step in steps}
    named = {(kinds[step], step.split("::")[1].removesuffix(f"-{kinds[step].lower()}")): op for step, op in steps.items()}
    assert named == told
    assert told[("Deployment", "chat")] == "update"
    dev.config["servers"][0] = before
    dev.write()
    # By hand, in a field that the stack states.
    cluster.kubectl("set", "image", "deployment/chat", "engine=vllm/vllm-openai:v0.1.0", "-n", dev.config["namespace"])
    (found,) = told_live(dev)["objects"]
    assert [field["before"] for field in found["fields"]] == ["vllm/vllm-openai:v0.1.0"]
    clean(dev.project.run("up", "--yes", "--skip-preview", "--refresh", "--stack", "dev"))
    assert told_live(dev)["objects"] == []


def test_the_cluster_of_the_stack_is_as_planned_until_a_node_is_not(dev: DevStack, cluster: LocalCluster) -> None:
    command = [sys.executable, "-m", "interlock.cli.main", "verify", "--stack", "dev"]

    def verified() -> tuple[int, str]:
        done = subprocess.run(command, cwd=dev.project.folder, env=dev.project.environment, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    assert verified()[0] == 0, verified()
    cluster.kubectl("taint", "node", "l4-0", "team=b:NoSchedule")
    code, told = verified()
    cluster.kubectl("taint", "node", "l4-0", "team-")
    assert code == 1
    assert "CLU-004 error: pools[0]: 1 node of pool l4 (l4-0) bar the pods of chat: taint team=b:NoSchedule" in told
    assert "CLU-005" in told
    assert verified()[0] == 0


def test_a_namespace_of_another_stack_is_refused_and_nothing_is_changed(
    dev: DevStack, make_stack: Callable[..., DevStack], cluster: LocalCluster
) -> None:
    before = cluster.get("all", "-n", dev.config["namespace"])
    second = make_stack("other", dev.config["namespace"])
    refused(second.project.up(), f"namespace: '{dev.config['namespace']}' belongs to stack 'dev'")
    after = cluster.get("all", "-n", dev.config["namespace"])
    told = [[(each["metadata"]["uid"], each["metadata"].get("generation")) for each in found["items"]] for found in (before, after)]
    assert told[0] == told[1]


def test_another_cluster_than_the_remembered_one_is_refused(dev: DevStack) -> None:
    dev.config["target"]["uid"] = "00000000-0000-0000-0000-000000000000"
    dev.write()
    refused(dev.project.preview(), "target: context interlock-", "but target.uid names 00000000")
    del dev.config["target"]["uid"]
    dev.write()


def test_a_destroyed_stack_leaves_nothing(dev: DevStack, cluster: LocalCluster) -> None:
    clean(dev.project.destroy())
    assert dev.config["namespace"] not in [each["metadata"]["name"] for each in cluster.get("namespaces")["items"]]
