"""Programs of strangers made of the components, on the real engine and API server: Python, and Pulumi YAML through the package."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support import changed
from tools.cluster.testing import LocalCluster, PulumiProject

ROOT = Path(__file__).resolve().parents[3]
# The examples' own nodes are the prod stack's, which fills them.
PYTHON_POOL = '"name": "h100", "gpu": "h100-80gb-sxm", "gpus_per_node": 8, "nodes": 2, "cpu": "96", "memory": "1Ti"'
SPARE = '"name": "spare", "gpu": "l4", "gpus_per_node": 1, "nodes": 6, "cpu": "16", "memory": "64Gi"'
YAML_POOL = '{name: h100, gpu: h100-80gb-sxm, gpusPerNode: 8, nodes: 2, cpu: "96", memory: 1Ti}'
YAML_SPARE = '{name: spare, gpu: l4, gpusPerNode: 1, nodes: 6, cpu: "16", memory: 64Gi}'
SMALL = "Qwen/Qwen2.5-0.5B-Instruct"


def on_free_nodes(text: str) -> str:
    """An example's file with other nodes, a model that fits them, and the package where it lies."""
    for old, new in {PYTHON_POOL: SPARE, YAML_POOL: YAML_SPARE, "Qwen/Qwen2.5-7B-Instruct": SMALL}.items():
        text = text.replace(old, new)
    return text.replace("../../components", str(ROOT / "components"))


@pytest.fixture
def example(make_project: Any) -> Any:
    """A function ``(name, stack)``: an example of this repository as a project, on the nodes that are free."""

    def make(name: str, stack: str) -> PulumiProject:
        files = {path.name: on_free_nodes(path.read_text("utf-8")) for path in (ROOT / "examples" / name).iterdir() if path.is_file()}
        made: PulumiProject = make_project(files, stack)
        return made

    return make


def made(project: PulumiProject) -> dict[str, Any]:
    """The outputs of a program that is made."""
    up = project.up()
    assert up.code == 0, up.text
    found: dict[str, Any] = project.outputs()
    return found


def lives(project: PulumiProject) -> dict[str, Any]:
    """The outputs of a program that is previewed, made, found unchanged."""
    preview = project.preview()
    assert preview.code == 0, preview.text
    outputs = made(project)
    again = project.up("--expect-no-changes")
    assert again.code == 0, again.text
    return outputs


def ends(project: PulumiProject) -> None:
    destroy = project.destroy()
    assert destroy.code == 0, destroy.text
    assert [each for each in project.resources() if each["type"].startswith("kubernetes:")] == []


def ready(cluster: LocalCluster, namespace: str) -> dict[str, int]:
    found = cluster.get("deployments", "-n", namespace)["items"]
    return {each["metadata"]["name"]: each["status"].get("readyReplicas", 0) for each in found}


def test_a_program_with_a_namespace_and_a_claim_of_its_own(example: Any, prod_cluster: LocalCluster) -> None:
    project = example("own-program", "own")
    outputs = lives(project)
    namespace = outputs["url"].split(".")[1]
    assert outputs["model"] == "chat"
    assert ready(prod_cluster, namespace) == {"chat": 1}
    (pod,) = prod_cluster.get("pods", "-n", namespace)["items"]
    assert outputs["selector"].items() <= pod["metadata"]["labels"].items()
    claims = [each["persistentVolumeClaim"]["claimName"] for each in pod["spec"]["volumes"] if "persistentVolumeClaim" in each]
    assert claims == [each["metadata"]["name"] for each in prod_cluster.get("pvc", "-n", namespace)["items"]]
    ends(project)


def test_two_servers_behind_one_host(example: Any, prod_cluster: LocalCluster) -> None:
    project = example("two-servers-one-route", "two")
    assert made(project)["urls"] == ["http://models.example.com/chat/v1", "http://models.example.com/code/v1"]
    assert ready(prod_cluster, "models") == {"chat": 1, "code": 1}
    (route,) = prod_cluster.get("httproutes", "-n", "models")["items"]
    assert [rule["backendRefs"][0]["name"] for rule in route["spec"]["rules"]] == ["chat", "code"]
    prod_cluster.kubectl("delete", "namespace", "models", "--wait=false")


def test_pulumi_yaml_through_the_package(example: Any, prod_cluster: LocalCluster) -> None:
    project = example("pulumi-yaml", "yaml")
    outputs = lives(project)
    assert outputs["url"] == "http://chat.yaml-models.svc.cluster.local/v1"
    assert outputs["gpus"] == 1
    assert ready(prod_cluster, "yaml-models") == {"chat": 2}
    arguments = prod_cluster.get("deployment", "chat", "-n", "yaml-models")["spec"]["template"]["spec"]["containers"][0]["args"]
    assert "8192" in arguments, "an integer of Pulumi YAML is not 8192.0"
    ends(project)


SERVER = "resources.chat.properties.server"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({f"{SERVER}.gpus": 2, f"{SERVER}.engine.tensorParallelSize": 4}, "GPU-001 error: server.gpus = 2"),
        ({f"{SERVER}.servdName": "chat"}, "servdName"),
    ],
    ids=["contradiction", "misspelt"],
)
def test_what_is_wrong_in_pulumi_yaml_is_told_and_nothing_is_made(example: Any, changes: dict[str, Any], said: str) -> None:
    project = example("pulumi-yaml", f"bad-{len(said)}")
    path = project.folder / "Pulumi.yaml"
    program = yaml.safe_load(path.read_text("utf-8"))
    for place, value in changes.items():
        program = changed(program, place, value)
    path.write_text(yaml.safe_dump(program), "utf-8")
    outcome = project.preview()
    assert outcome.code != 0
    assert said in outcome.text
    assert "Traceback" not in outcome.text


def test_the_schema_that_the_package_serves_is_the_reviewed_one(prod_cluster: LocalCluster) -> None:
    command = ["pulumi", "package", "get-schema", "./components"]
    done = subprocess.run(command, cwd=ROOT, env=prod_cluster.environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    served = json.loads(done.stdout[: done.stdout.rindex("}") + 1])
    reviewed = json.loads((ROOT / "docs" / "components.schema.json").read_text("utf-8"))
    for part in ("name", "version"):
        assert served[part] == reviewed[part]
    for part in ("resources", "types"):
        assert {name: set(each.get("inputProperties", each.get("properties", {}))) for name, each in served[part].items()} == {
            name: set(each.get("inputProperties", each.get("properties", {}))) for name, each in reviewed[part].items()
        }
