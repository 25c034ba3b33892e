"""Render and program go through one list: the same objects, with the same content, in the same order."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from interlock.cli.stackfile import read_stack
from interlock.components import _k8s
from interlock.infra.manifests.access import keys_objects
from interlock.infra.manifests.render import render
from interlock.infra.preview import preview
from interlock.stacks.program import deploy
from interlock.stacks.settings import Settings
from tests.support import TODAY
from tools.common import ROOT
from tools.golden import stacks

awaited = _k8s._awaited
EXAMPLES = sorted(path.name for path in (ROOT / "examples").glob("*.yaml"))


def as_rendered(manifest: dict[str, Any]) -> dict[str, Any]:
    """The object without what tells the provider how to wait for it, and the garbage collector whose it is (known in a cluster only)."""
    annotations = {key: value for key, value in manifest["metadata"].get("annotations", {}).items() if not key.startswith("pulumi.com/")}
    metadata = {key: value for key, value in manifest["metadata"].items() if key not in ("annotations", "ownerReferences")}
    # The count with which an autoscaled workload begins is the scaler's after that: who applies what is rendered leaves it alone.
    begun = '"autoscaled":true' in annotations.get("interlock.dev/facts", "")
    spec = {"spec": {key: value for key, value in manifest["spec"].items() if key != "replicas"}} if begun else {}
    return {**manifest, **spec, "metadata": metadata | ({"annotations": annotations} if annotations else {})}


def identity(manifest: dict[str, Any]) -> tuple[str, str, str]:
    return manifest["kind"], manifest["metadata"].get("namespace", ""), manifest["metadata"]["name"]


@pytest.mark.parametrize("name", [*stacks(), *EXAMPLES])
def test_the_program_registers_what_render_prints(run_program: Callable[..., Any], name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    read = read_stack(None, Path(ROOT / "examples" / name)) if name in EXAMPLES else read_stack(name, None, ROOT)
    made = preview(read.config, read.stack, read.source, today=TODAY)
    settings = Settings(read.stack, read.source, read.config, "/nowhere/kubeconfig", "context")
    given: list[Any] = []

    def kept(manifest: Any) -> dict[str, Any]:
        given.append(as_rendered(manifest))
        return awaited(manifest)

    monkeypatch.setattr(_k8s, "_awaited", kept)
    recorded = run_program(lambda: deploy(settings, made, "uid-1")).resources
    rendered = [as_rendered(each) for each in render(read.config, made)]
    # Keys are drawn when they are made: nothing prints the Secrets that hold them.
    drawn = [identity(each) for each in keys_objects(read.config, read.stack)]
    assert [identity(each) for each in given if identity(each) in drawn] == drawn
    # The engine hears of a resource when those before it are answered, so only the program itself knows its order.
    assert [each for each in given if identity(each) not in drawn] == rendered
    registered = [as_rendered(each.inputs) for each in recorded if "apiVersion" in each.inputs and "metadata" in each.inputs]
    registered = [each for each in registered if identity(each) not in drawn]
    assert sorted(registered, key=identity) == sorted(rendered, key=identity)
