"""The runtime's delivery by Pulumi on a real API server: an earlier archive stays for a rollback, and goes with the stack."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from interlock.infra.config import load
from interlock.infra.manifests.simulated import simulated_nodes
from tools.cluster.testing import LocalCluster, Outcome, PulumiProject, gpu_node

ROOT = Path(__file__).resolve().parents[2]
SHARED = (gpu_node("h100-0"), gpu_node("h100-1"))
# The program of another release: its archive has another content.
RELEASE = """from interlock.infra.manifests import archive

archive.METADATA += "Release: {release}\\n"
"""


def archives(cluster: LocalCluster, namespace: str) -> set[str]:
    found = cluster.get("configmaps", "-n", namespace, "-l", "interlock.dev/runtime=archive")["items"]
    return {each["metadata"]["name"] for each in found}


def mounted(cluster: LocalCluster, namespace: str) -> str:
    spec = cluster.get("deployment", "chat", "-n", namespace)["spec"]["template"]["spec"]
    return str(next(each["configMap"]["name"] for each in spec["volumes"] if each["name"] == "runtime"))


def test_an_update_of_the_runtime_can_be_rolled_back_and_a_destroy_leaves_nothing_in_a_namespace_that_is_not_ours(
    cluster: LocalCluster, pulumi_project: Callable[..., PulumiProject], namespace: str
) -> None:
    config: dict[str, Any] = yaml.safe_load((ROOT / "Pulumi.dev.yaml").read_text())["config"]["interlock:cluster"]
    config |= {"target": {"local": cluster.cluster.name}, "namespace": namespace, "create_namespace": False}
    cluster.kubectl("label", "namespace", namespace, "interlock.dev/stack=dev")
    cluster.set_nodes(*SHARED, *simulated_nodes(load(config).pools))
    main = (ROOT / "__main__.py").read_text()
    project = pulumi_project({"Pulumi.yaml": (ROOT / "Pulumi.yaml").read_text(), "__main__.py": main})
    (project.folder / "Pulumi.dev.yaml").write_text(yaml.safe_dump({"config": {"interlock:cluster": config}}))

    def up(release: str) -> Outcome:
        (project.folder / "__main__.py").write_text(RELEASE.format(release=release) + main)
        outcome = project.up()
        assert outcome.code == 0, outcome.text
        return outcome

    up("one")
    first = mounted(cluster, namespace)
    assert archives(cluster, namespace) == {first}
    assert {operation for operation, count in up("one").changes.items() if count} == {"same"}

    up("two")
    second = mounted(cluster, namespace)
    assert archives(cluster, namespace) == {first, second}
    cluster.kubectl("rollout", "undo", "deployment/chat", "-n", namespace)
    assert mounted(cluster, namespace) == first

    up("one")
    assert mounted(cluster, namespace) == first
    assert archives(cluster, namespace) == {first, second}

    assert project.destroy().code == 0
    for name in (first, second):
        cluster.wait(f"configmap/{name}", "delete", namespace, seconds=60)  # by the garbage collector
    assert cluster.get("configmaps", "-n", namespace, "-l", "app.kubernetes.io/managed-by=interlock")["items"] == []
    cluster.set_nodes(*SHARED)
