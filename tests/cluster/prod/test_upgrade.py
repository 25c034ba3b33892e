"""What serves is replaced neither by a renamed component nor by a new version of this program."""

import subprocess
import tarfile
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from tools.cluster.testing import LocalCluster

ROOT = Path(__file__).resolve().parents[3]
PROGRAM = """
import pulumi
import pulumi_kubernetes as k8s
from interlock.cli.stackfile import read_stack
from interlock.components._made import planned
from interlock.components.vllm_server import VllmServer
from interlock.components.workspace import Workspace
from interlock.infra.manifests.bundles import stack_objects
from interlock.infra.plan.plan import plan
from interlock.stacks.kubeconfig import kubeconfig_path

read = read_stack(pulumi.get_stack(), None)
made = plan(read.config, read.stack)
objects = stack_objects(read.config, made)
on = k8s.Provider("cluster", kubeconfig=kubeconfig_path(read.config), context="interlock-" + read.config.target.local)
workspace = Workspace("workspace", planned(objects.workspace), pulumi.ResourceOptions(provider=on))
options = pulumi.ResourceOptions(provider=on, depends_on=[workspace]ALIASES)
VllmServer("NAME", planned(objects.servers[0]), options)
"""
CONFIG: dict[str, Any] = {
    "scope": "serving",
    "servers": [{"name": "chat", "model": {"id": "Qwen/Qwen2.5-0.5B-Instruct"}, "pool": "spare", "engine": {"max_model_len": 4096}}],
}


def uids(cluster: LocalCluster, namespace: str) -> Mapping[str, str]:
    kinds = "deployments,services,configmaps,pods"
    found = cluster.get(kinds, "-n", namespace)["items"]
    return {f"{each['kind']}/{each['metadata']['name']}": each["metadata"]["uid"] for each in found}


def replaced(outcome: Any) -> list[str]:
    return [step for step, operation in outcome.steps.items() if operation not in ("same", "update")]


def test_a_renamed_component_with_an_alias_replaces_nothing(make_stack: Any, spare: dict[str, Any], prod_cluster: LocalCluster) -> None:
    stack = make_stack({**CONFIG, "pools": [spare], "namespace": "renamed"}, "renamed")
    main = stack.project.folder / "__main__.py"
    main.write_text(PROGRAM.replace("NAME", "first").replace("ALIASES", ""), "utf-8")
    assert stack.project.up().code == 0
    before = uids(prod_cluster, "renamed")
    main.write_text(PROGRAM.replace("NAME", "second").replace("ALIASES", ', aliases=[pulumi.Alias(name="first")]'), "utf-8")
    outcome = stack.project.up()
    assert outcome.code == 0, outcome.text
    assert replaced(outcome) == []
    assert uids(prod_cluster, "renamed") == before
    prod_cluster.kubectl("delete", "namespace", "renamed", "--wait=false")


def previous_commit(folder: Path) -> Path:
    """The program of the commit before the last, unpacked into ``folder``."""
    done = subprocess.run(["git", "archive", "HEAD~1"], cwd=ROOT, capture_output=True, check=False)
    if done.returncode:
        pytest.skip(f"no previous commit to upgrade from: {done.stderr.decode().strip()}")
    with tarfile.open(fileobj=BytesIO(done.stdout)) as packed:
        packed.extractall(folder, filter="data")
    return folder


def test_an_upgrade_from_the_previous_commit_replaces_nothing_that_serves(
    make_stack: Any, spare: dict[str, Any], prod_cluster: LocalCluster, tmp_path: Path
) -> None:
    old = previous_commit(tmp_path / "old")
    stack = make_stack({**CONFIG, "pools": [spare], "namespace": "upgraded"}, "upgraded")
    # Ahead of the installed package: the old program runs with the old package.
    stack.project.environment["PYTHONPATH"] = str(old)
    first = stack.project.up()
    assert first.code == 0, first.text
    before = uids(prod_cluster, "upgraded")
    del stack.project.environment["PYTHONPATH"]
    outcome = stack.project.up()
    assert outcome.code == 0, outcome.text
    assert [step for step in replaced(outcome) if "ConfigMap" not in step] == []
    kept = {key: uid for key, uid in uids(prod_cluster, "upgraded").items() if key.startswith(("Deployment/", "Service/"))}
    assert kept == {key: uid for key, uid in before.items() if key.startswith(("Deployment/", "Service/"))}
    prod_cluster.kubectl("delete", "namespace", "upgraded", "--wait=false")
