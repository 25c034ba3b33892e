"""The plan, the checker and the pack say the same of the same contradiction: code, severity, arithmetic."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from interlock.cli.stackfile import read_stack
from interlock.infra.config import ClusterConfig
from interlock.infra.manifests.render import render
from interlock.infra.preview import preview
from interlock.infra.rules.findings import Severity
from tests.support import TODAY, config
from tools.common import ROOT
from tools.golden import stacks

GPU = "nvidia.com/gpu"
_CODE = re.compile(r"\b[A-Z]+-\d{3}\b")
EXAMPLES = sorted(path.name for path in (ROOT / "examples").glob("*.yaml"))
LEVELS = {Severity.ERROR: "mandatory", Severity.WARNING: "advisory"}


def patched(**container: Any) -> dict[str, Any]:
    return {"servers[0].extra.pod_patch": {"containers": [{"name": "engine", **container}]}}


CHANGES: dict[str, tuple[str, dict[str, Any]]] = {
    "fewer GPUs than TP": ("GPU-001", {"servers[0].gpus": 2, "servers[0].engine.tensor_parallel_size": 4}),
    "more GPUs than TP": ("GPU-001", {"servers[0].gpus": 4, "servers[0].engine.tensor_parallel_size": 2}),
    "heads": ("GPU-002", {"servers[0].gpus": 3, "servers[0].engine.tensor_parallel_size": 3}),
    "a model that does not fit its card": (
        "MEM-001",
        {"servers[0].model": {"id": "Qwen/Qwen2.5-72B-Instruct"}, "servers[0].engine.tensor_parallel_size": 1},
    ),
    "a pod larger than its node": (
        "GPU-003",
        {"servers[0].engine.tensor_parallel_size": 4, "pools[0].gpus_per_node": 2, "servers[0].nodes": 1},
    ),
    "more replicas than the pool holds": ("GPU-004", {"servers[0].replicas": 17}),
    "a surge without room": ("ROLL-003", {"servers[0].replicas": 16, "servers[0].rollout.strategy": "surge"}),
    "answers longer than the route waits": (
        "NET-006",
        {"servers[0].route": {"host": "a.example.org"}, "servers[0].longest_answer_seconds": 1800},
    ),
    "a start-up budget below the load time": ("ROLL-001", {"servers[0].startup_seconds": 30}),
    "the image latest": ("VER-001", {"servers[0].image": {"reference": "vllm/vllm-openai:latest"}}),
    "requests against limits": ("GPU-006", patched(resources={"requests": {GPU: "0"}})),
    "a fraction": ("GPU-005", patched(resources={place: {GPU: "500m"} for place in ("requests", "limits")})),
    "nothing": ("", {}),
}


def resource(manifest: dict[str, Any]) -> tuple[str, str, dict[str, Any]]:
    api = manifest["apiVersion"]
    kind = "NodePatch" if manifest["kind"] == "Node" else manifest["kind"]
    metadata = manifest["metadata"]
    name = "/".join((manifest["kind"], metadata.get("namespace", ""), metadata["name"]))
    return f"kubernetes:{api if '/' in api else f'core/{api}'}:{kind}", name, manifest


def compare(made: ClusterConfig, name: str, pack: Any) -> list[str]:
    """The codes of the plan, each said by the pack at the same level and with the same sentence; and no other."""
    planned = [each for each in preview(made, name, today=TODAY).findings if each.severity in LEVELS and not each.waiver]
    said = pack.stack([resource(each) for each in render(made, preview(made, name, today=TODAY))])
    heads = {(each.level, _CODE.findall(each.message)[0]) for each in said if "  waived" not in each.message}
    assert heads == {(LEVELS[each.severity], each.code) for each in planned}
    for finding in planned:
        assert any(finding.summary in each.message for each in said), finding.text()
    return [finding.code for finding in planned]


@pytest.mark.parametrize(("code", "changes"), CHANGES.values(), ids=CHANGES)
def test_the_pack_says_of_our_objects_what_the_plan_says(code: str, changes: dict[str, Any], make_pack: Callable[..., Any]) -> None:
    found = compare(config(changes), "dev", make_pack())
    assert (code in found) if code else found == []


@pytest.mark.parametrize("name", [*stacks(), *EXAMPLES])
def test_a_clean_stack_is_clean_for_the_pack_too(name: str, make_pack: Callable[..., Any]) -> None:
    read = read_stack(None, Path(ROOT / "examples" / name)) if name in EXAMPLES else read_stack(name, None, ROOT)
    assert compare(read.config, read.stack, make_pack()) == []
