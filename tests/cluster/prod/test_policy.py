"""The policy pack on the real engine: on programs that know nothing of us, from a repository that has only our wheel."""

import json
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from interlock.infra.rules.waivers import WAIVE
from tools.cluster.testing import LocalCluster, Outcome, PulumiProject

ROOT = Path(__file__).resolve().parents[3]
COMPLIANT = {"gpuRequest": "4", "gpuLimit": "4"}
CHANGES: dict[str, tuple[dict[str, str], str]] = {
    "GPUs against TP": ({"gpuRequest": "2", "gpuLimit": "2"}, "GPU-001"),
    "heads": ({"tensorParallel": "3", "gpuRequest": "3", "gpuLimit": "3"}, "GPU-002"),
    "the image latest": ({"image": "vllm/vllm-openai:latest"}, "VER-001"),
    "requests against limits": ({"gpuRequest": "2"}, "GPU-006"),
    "a fraction": ({"gpuRequest": "500m", "gpuLimit": "500m"}, "GPU-005"),
}


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


@pytest.fixture(scope="module", params=["foreign-python", "foreign-yaml"])
def foreign(request: pytest.FixtureRequest, make_project: Any) -> PulumiProject:
    made: PulumiProject = make_project(ROOT / "examples" / request.param, f"{request.param}-dev")
    return made


def judged(project: PulumiProject, repository: Repository, values: dict[str, str], *more: str, verb: str = "preview") -> Outcome:
    for key in ("image", "model", "tensorParallel", "gpuRequest", "gpuLimit"):
        project.run("config", "rm", key, "--stack", project.stack)
    for key, value in {**COMPLIANT, **values}.items():
        project.set_config(key, value)
    return project.run(verb, "--stack", project.stack, "--policy-pack", str(repository.pack), *more)


def config_file(tmp_path: Path, config: dict[str, Any]) -> str:
    path = tmp_path / "pack.json"
    path.write_text(json.dumps({"contradictions": config}), "utf-8")
    return str(path)


def test_a_compliant_foreign_program_passes_although_a_value_is_unknown_until_up(foreign: PulumiProject, repository: Repository) -> None:
    outcome = judged(foreign, repository, {})
    assert outcome.code == 0, outcome.text
    assert "mandatory" not in outcome.text
    assert "can't run policy" not in outcome.text


@pytest.mark.parametrize(("values", "code"), CHANGES.values(), ids=CHANGES)
def test_a_contradiction_stops_the_preview_of_a_foreign_program(
    foreign: PulumiProject, repository: Repository, values: dict[str, str], code: str
) -> None:
    outcome = judged(foreign, repository, values)
    assert outcome.code != 0
    assert f"{code} error: " in outcome.text
    assert "fix: " in outcome.text
    assert "[mandatory]" in outcome.text


def test_a_contradiction_stops_an_up_before_the_object_is_made(
    foreign: PulumiProject, repository: Repository, prod_cluster: LocalCluster
) -> None:
    outcome = judged(foreign, repository, {"gpuRequest": "2", "gpuLimit": "2"}, "--yes", "--skip-preview", verb="up")
    assert outcome.code != 0
    assert "GPU-001 error: " in outcome.text
    assert prod_cluster.get("deployments", "-n", "default")["items"] == []
    foreign.destroy()


@pytest.mark.parametrize("foreign", ["foreign-python"], indirect=True)
def test_an_advisory_rule_warns_and_lets_pass(foreign: PulumiProject, repository: Repository, tmp_path: Path) -> None:
    given = config_file(tmp_path, {"rules": {"GPU-001": "advisory"}})
    outcome = judged(foreign, repository, {"gpuRequest": "2", "gpuLimit": "2"}, "--policy-pack-config", given)
    assert outcome.code == 0, outcome.text
    assert "[advisory]" in outcome.text
    assert "GPU-001 error: " in outcome.text


@pytest.mark.parametrize("foreign", ["foreign-python"], indirect=True)
def test_a_waiver_of_the_config_lets_pass_and_is_shown(foreign: PulumiProject, repository: Repository, tmp_path: Path) -> None:
    given = config_file(tmp_path, {"waivers": [{"code": "GPU-001", "reason": "measured, see ticket 7", "expires": "2099-01-01"}]})
    outcome = judged(foreign, repository, {"gpuRequest": "2", "gpuLimit": "2"}, "--policy-pack-config", given)
    assert outcome.code == 0, outcome.text
    assert "waived until 2099-01-01: measured, see ticket 7" in outcome.text


FAULTY: dict[str, tuple[dict[str, Any], str]] = {
    "a waiver without a reason": ({"waivers": [{"code": "GPU-001"}]}, "reason"),
    "a rule that does not exist": ({"rules": {"GPU-999": "advisory"}}, "GPU-999"),
    "a level that does not exist": ({"rules": {"GPU-001": "maybe"}}, "GPU-001"),
}


@pytest.mark.parametrize(("config", "word"), FAULTY.values(), ids=FAULTY)
@pytest.mark.parametrize("foreign", ["foreign-python"], indirect=True)
def test_a_faulty_config_of_the_pack_is_refused_by_name(
    config: dict[str, Any], word: str, foreign: PulumiProject, repository: Repository, tmp_path: Path
) -> None:
    outcome = judged(foreign, repository, {}, "--policy-pack-config", config_file(tmp_path, config))
    assert outcome.code != 0
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
    stack.config["waivers"] = []
    stack.write()
    refused = stack.project.run("preview", "--stack", "judged")
    assert refused.code != 0
    assert "1 contradiction in stack judged, nothing was changed" in refused.text


def test_the_prod_stack_passes_the_pack(prod: Any, repository: Repository) -> None:
    outcome = prod.project.run("preview", "--stack", "prod", "--expect-no-changes", "--policy-pack", str(repository.pack))
    assert outcome.code == 0, outcome.text
    assert WAIVE not in outcome.text
