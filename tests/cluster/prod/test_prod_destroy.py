"""What a destroy of a production stack leaves: its volumes, by name, and nothing else."""

from typing import Any

from interlock.infra.naming import label
from tools.cluster.testing import LocalCluster


def test_a_destroy_names_the_protected_volumes_and_leaves_only_them(
    prod_cluster: LocalCluster, make_stack: Any, deployer: Any, prod_config: dict[str, Any], spare: dict[str, Any]
) -> None:
    embed = next(each for each in prod_config["servers"] if each["name"] == "embed")
    small = {**prod_config, "namespace": "destroyed", "pools": [spare], "servers": [{**embed, "pool": "spare"}]}
    stack = deployer(make_stack(small, "destroyed"))
    first = stack.project.up()
    assert first.code == 0, first.text
    claim = prod_cluster.get("persistentvolumeclaim", "weights", "-n", "destroyed")["metadata"]["uid"]
    (archive,) = prod_cluster.get("configmaps", "-n", "destroyed", "-l", f"{label('runtime')}=archive")["items"]

    # Its own preview stops it; with --skip-preview Pulumi would delete the rest before it comes to the claim.
    refused = stack.project.run("destroy", "--yes", "--stack", "destroyed")
    assert refused.code != 0
    assert "PersistentVolumeClaim::store-weights" in refused.text
    assert "because it is protected" in refused.text
    assert prod_cluster.get("deployment", "embed", "-n", "destroyed")["status"]["readyReplicas"] == 2

    gone = stack.project.run("destroy", "--yes", "--skip-preview", "--exclude-protected", "--stack", "destroyed")
    assert gone.code == 0, gone.text
    prod_cluster.wait(f"configmap/{archive['metadata']['name']}", "delete", "destroyed")  # by the garbage collector
    kinds = "deployments,services,httproutes,configmaps,poddisruptionbudgets,persistentvolumeclaims"
    ours = prod_cluster.get(kinds, "-n", "destroyed", "-l", f"{label('stack')}=destroyed")["items"]
    assert [(each["kind"], each["metadata"]["name"]) for each in ours] == [("PersistentVolumeClaim", "weights")]
    assert ours[0]["metadata"]["uid"] == claim
    left = [each for each in stack.project.resources() if each.get("protect")]
    assert [each["type"].rsplit(":", 1)[-1] for each in left] == ["PersistentVolumeClaim"]

    again = stack.project.up()
    assert again.code == 0, again.text
    assert prod_cluster.get("persistentvolumeclaim", "weights", "-n", "destroyed")["metadata"]["uid"] == claim
