"""The policy pack on the real engine: on programs that know nothing of us, from a repository that has only our wheel."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from interlock.infra.rules.waivers import WAIVE
from tools.cluster.testing import LocalCluster, Outcome, PulumiProject

ROOT = Path(__file__).resolve().parents[3]
FOREIGN = ("foreign-python", "foreign-yaml")
COMPLIANT = {"gpuRequest": "4", "gpuLimit": "4"}
TOO_FEW = {"gpuRequest": "2", "gpuLimit": "2"}
TOO_FEW_AND_HEADS = {"tensorParallel": "3", **TOO_FEW}


@dataclass
class Repository:
    """Somebody else's repository: a virtualenv with our wheel, and a copy of the pack's folder."""

    folder: Path

    @property
    def pack(self) -> Path:
        return self.folder / "policies"


@pytest.fixture(scope="session")
def repository(toolchain: Path, tmp_path_factory: pytest.TempPathFactory) -> Repository:
    folder = tmp_path_factory.mktemp("repository")
    uv("build", "--wheel", "--out-dir", str(folder / "dist"), str(ROOT))
    (wheel,) = (folder / "dist").glob("*.whl")
    uv("venv", "--python", sys.executable, str(folder / ".venv"))
    uv("pip", "install", "--python", str(folder / ".venv"), f"{wheel}[pulumi]")
    # As the wheel brings it: the two files are all that a repository needs.
    (folder / "policies").mkdir()
    for name in ("PulumiPolicy.yaml", "__main__.py"):
        shutil.copy(ROOT / "policies" / name, folder / "policies" / name)
    return Repository(folder)


def uv(*arguments: str) -> None:
    done = subprocess.run(["uv", *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


Judged = Callable[..., Outcome]


@pytest.fixture(scope="module")
def judged(repository: Repository, make_project: Any) -> Judged:
    """A function ``(example, values, *more, verb="preview")``: what Pulumi, with the pack, says of a foreign program with these values."""
    projects: dict[str, PulumiProject] = {}

    def judge(example: str, values: Mapping[str, str], *more: str, verb: str = "preview") -> Outcome:
        if example not in projects:
            projects[example] = make_project(ROOT / "examples" / example, f"{example}-dev")
        project = projects[example]
        path = project.folder / f"Pulumi.{project.stack}.yaml"
        kept = (yaml.safe_load(path.read_text("utf-8")) if path.exists() else None) or {}
        given = {f"{example}:{key}": value for key, value in {**COMPLIANT, **values}.items()}
        path.write_text(yaml.safe_dump(kept | {"config": given}), "utf-8")
        return project.run(verb, "--stack", project.stack, "--policy-pack", str(repository.pack), *more)

    return judge


def config_file(tmp_path: Path, config: dict[str, Any]) -> str:
    path = tmp_path / "pack.json"
    path.write_text(json.dumps({"contradictions": config}), "utf-8")
    return str(path)


@pytest.mark.parametrize("example", FOREIGN)
def test_a_compliant_foreign_program_passes_although_a_value_is_unknown_until_up(example: str, judged: Judged) -> None:
    outcome = judged(example, {})
    assert outcome.code == 0, outcome.text
    assert "mandatory" not in outcome.text
    assert "can't run policy" not in outcome.text


def test_a_contradiction_stops_the_preview_of_a_foreign_program(judged: Judged) -> None:
    outcome = judged("foreign-python", TOO_FEW)
    assert outcome.code != 0
    for said in ("GPU-001 error: ", "fix: ", "[mandatory]"):
        assert said in outcome.text


def test_a_contradiction_stops_an_up_before_the_object_is_made(judged: Judged, prod_cluster: LocalCluster) -> None:
    outcome = judged("foreign-yaml", TOO_FEW, "--yes", "--skip-preview", verb="up")
    assert outcome.code != 0
    assert "GPU-001 error: " in outcome.text
    assert prod_cluster.get("deployments", "-n", "default")["items"] == []


def test_a_rule_made_advisory_and_a_waiver_let_pass_and_are_shown(judged: Judged, tmp_path: Path) -> None:
    waiver = {"code": "GPU-002", "reason": "measured, see ticket 7", "expires": "2099-01-01"}
    given = config_file(tmp_path, {"rules": {"GPU-001": "advisory"}, "waivers": [waiver]})
    outcome = judged("foreign-yaml", TOO_FEW_AND_HEADS, "--policy-pack-config", given)
    assert outcome.code == 0, outcome.text
    for said in ("[advisory]", "GPU-001 error: ", "GPU-002 error: ", "waived until 2099-01-01: measured, see ticket 7"):
        assert said in outcome.text


def test_every_fault_of_the_packs_config_is_refused_by_name(judged: Judged, tmp_path: Path) -> None:
    faulty = {"waivers": [{"code": "GPU-001"}], "rules": {"GPU-999": "advisory", "GPU-001": "maybe"}}
    outcome = judged("foreign-yaml", {}, "--policy-pack-config", config_file(tmp_path, faulty))
    assert outcome.code != 0
    for word in ("reason", "GPU-999", "GPU-001"):
        assert word in outcome.text
    assert "Traceback" not in outcome.text


def test_our_own_stack_passes_the_pack_and_shows_its_waiver(make_stack: Any, repository: Repository) -> None:
    config = {
        "namespace": "judged",
        "pools": [{"name": "h100", "gpu": "h100-80gb-sxm", "nodes": 2, "gpus_per_node": 8}],
        "servers": [
            {
                "name": "chat",
                "model": {"id": "Qwen/Qwen2.5-7B-Instruct"},
                "pool": "h100",
                "gpus": 2,
                "engine": {"tensor_parallel_size": 4, "max_model_len": 8192},
            }
        ],
        "waivers": [{"code": "GPU-001", "path": "servers[0].*", "reason": "two engines share these cards"}],
    }
    stack = make_stack(config, "judged")
    shown = stack.project.run("preview", "--stack", "judged", "--policy-pack", str(repository.pack))
    assert shown.code == 0, shown.text
    # Once by the program, with the field of the config, and once by the pack, with the field of the object.
    assert "GPU-001 error: servers[0].gpus" in shown.text
    assert 'GPU-001 error: spec.template.spec.containers[0].resources.limits["nvidia.com/gpu"]' in shown.text
    assert shown.text.count("waived: two engines share these cards") == 2


def test_the_prod_stack_passes_the_pack(prod: Any, repository: Repository) -> None:
    outcome = prod.project.run("preview", "--stack", "prod", "--expect-no-changes", "--policy-pack", str(repository.pack))
    assert outcome.code == 0, outcome.text
    assert WAIVE not in outcome.text


def state(gpus: str) -> dict[str, Any]:
    """What `pulumi stack export` writes of a stack with one engine of TP 4."""
    labels = {"app": "chat"}
    engine = {
        "name": "engine",
        "image": "vllm/vllm-openai:v0.33.0",
        "args": ["Qwen/Qwen2.5-7B-Instruct", "--tensor-parallel-size=4"],
        "resources": {"limits": {"nvidia.com/gpu": gpus}},
        "volumeMounts": [{"name": "shm", "mountPath": "/dev/shm"}],
    }
    pod = {"containers": [engine], "volumes": [{"name": "shm", "emptyDir": {"medium": "Memory"}}]}
    spec = {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": pod}}
    made = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "chat"}, "spec": spec}
    kind = "kubernetes:apps/v1:Deployment"
    rows = [
        {"urn": "urn:pulumi:dev::p::pulumi:pulumi:Stack::p-dev", "custom": False, "type": "pulumi:pulumi:Stack"},
        {"urn": f"urn:pulumi:dev::p::{kind}::chat", "custom": True, "id": "default/chat", "type": kind, "inputs": made, "outputs": made},
    ]
    manifest = {"time": "2026-12-01T00:00:00Z", "magic": "", "version": ""}
    return {"version": 3, "deployment": {"manifest": manifest, "resources": rows}}


def test_the_exported_state_of_any_stack_is_judged_without_the_stack(make_project: Any, repository: Repository, tmp_path: Path) -> None:
    project: PulumiProject = make_project(ROOT / "examples" / "foreign-yaml", "analyzed-dev")
    for gpus, refused in (("2", True), ("4", False)):
        file = tmp_path / f"{gpus}.json"
        file.write_text(json.dumps(state(gpus)), "utf-8")
        outcome = project.run("policy", "analyze", "--file", str(file), "--policy-pack", str(repository.pack))
        assert (outcome.code != 0) == refused, outcome.text
        assert ("GPU-001 error: " in outcome.text) == refused
