"""The examples of components, without a cluster: the Python programs as they are, the YAML program through the package's host."""

import runpy
from collections.abc import Mapping
from typing import Any

import pytest
import yaml

from interlock.components.host import provider
from interlock.components.package import COMPONENTS
from tests.support.monitor import Run, later, run
from tools.common import ROOT

EXAMPLES = ROOT / "examples"


def python(name: str, preview: bool) -> Run:
    def program() -> None:
        runpy.run_path(str(EXAMPLES / name / "__main__.py"))

    return run(program, preview=preview)


def kinds(seen: Run) -> list[str]:
    return sorted(each.inputs["kind"] for each in seen.objects)


@pytest.mark.parametrize("preview", [True, False])
def test_a_program_with_a_namespace_and_a_claim_of_its_own(preview: bool) -> None:
    seen = python("own-program", preview)
    (deployment,) = [each.inputs for each in seen.objects if each.inputs["kind"] == "Deployment"]
    assert deployment["metadata"]["namespace"] == "assistants"
    volumes = deployment["spec"]["template"]["spec"]["volumes"]
    assert [each["persistentVolumeClaim"]["claimName"] for each in volumes if "persistentVolumeClaim" in each] == ["weights"]


def test_two_servers_behind_one_host() -> None:
    seen = python("two-servers-one-route", preview=False)
    # Each server that is made alone brings its own runtime: an anchor and the archive.
    assert kinds(seen) == [*["ConfigMap"] * 4, "Deployment", "Deployment", "HTTPRoute", "Namespace", "Service", "Service"]
    assert {each.inputs["metadata"].get("namespace") for each in seen.objects} == {None, "models"}


def test_pulumi_yaml_through_the_host() -> None:
    resources = yaml.safe_load((EXAMPLES / "pulumi-yaml" / "Pulumi.yaml").read_text("utf-8"))["resources"]

    def program() -> None:
        host = provider(COMPONENTS)
        for name, resource in resources.items():
            token = resource["type"].replace(":", ":index:")
            host.construct(name, token, wired(resource["properties"]))

    seen = run(program)
    assert kinds(seen) == [
        "ConfigMap",
        "ConfigMap",
        "Deployment",
        "HTTPRoute",
        "Namespace",
        "PersistentVolumeClaim",
        "PodDisruptionBudget",
        "Service",
    ]
    assert len(seen.components("VllmServer")) == len(seen.components("ModelStore")) == len(seen.components("Workspace")) == 1


def wired(value: Any) -> Any:
    """As the engine hands it over: numbers as floats, and an output for each reference to another resource."""
    if isinstance(value, Mapping):
        return {key: wired(item) for key, item in value.items()}
    if isinstance(value, list):
        return [wired(item) for item in value]
    if isinstance(value, str) and value.startswith("${"):
        return later(value.strip("${}").rpartition(".")[2])
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value
