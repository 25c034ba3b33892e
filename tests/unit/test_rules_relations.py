"""The table of relations asked about whole manifests: what fires, what is not decided, and how sure it is."""

import json
from pathlib import Path

import pytest

from interlock.infra.catalog.relations import relations
from interlock.infra.facts import Engine, Fact, Flag, Origin, Workload, known, unknown
from interlock.infra.facts.bundle import Bundle
from interlock.infra.rules.findings import Finding, Severity
from interlock.infra.rules.reading.relations import Asked
from tests.support.checking import findings_of

ENGINE = """
apiVersion: v1
kind: Pod
metadata: {{name: chat}}
spec:
  containers:
    - name: vllm
      image: {image}
      args: {args}
      env: {env}
      resources: {{limits: {{nvidia.com/gpu: 1}}}}
"""
GROUP = """
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata: {{name: big}}
spec:
  leaderWorkerTemplate:
    size: 2
    workerTemplate:
      spec:
        containers:
          - name: vllm
            image: vllm/vllm-openai:{version}
            args: {args}
            resources: {{limits: {{nvidia.com/gpu: 8}}}}
"""


def said(
    tmp_path: Path, args: list[str], image: str = "vllm/vllm-openai:v0.33.0", env: object = (), *, form: str = ENGINE
) -> list[Finding]:
    file = tmp_path / "a.yaml"
    version = image.partition(":")[2]
    text = form.format(image=image, version=version, args=json.dumps(["Qwen/Qwen2.5-7B-Instruct", *args]), env=json.dumps(list(env)))  # type: ignore[call-overload]
    file.write_text(text, encoding="utf-8")
    return [finding for finding in findings_of(file) if finding.code == "ARG-020"]


def test_two_arguments_that_exclude_each_other_are_refused_at_the_argument_that_is_wrong(tmp_path: Path) -> None:
    found = said(tmp_path, ["--enable-lora", "--max-loras=4", "--max-cpu-loras=2"])
    assert [(each.fault, each.severity) for each in found] == [("adapters-in-host-memory", Severity.ERROR)]
    assert found[0].path.endswith("args[3]")
    assert found[0].summary.startswith("--max-cpu-loras 2 is below --max-loras 4")
    assert found[0].remedy == "set --max-cpu-loras to at least 4"
    assert said(tmp_path, ["--enable-lora", "--max-loras=4", "--max-cpu-loras=4"]) == []


@pytest.mark.parametrize(
    "args",
    [
        ["--kv-transfer-config", '{"kv_connector": "NixlConnector", "kv_role": "both"}'],
        ["--kv-transfer-config.kv_connector=NixlConnector", "--kv-transfer-config.kv_role", "both"],
        ["--kv-transfer-config", '{"kv_connector": "NixlConnector"}', "--kv-transfer-config.kv_role=both"],
    ],
)
def test_members_of_a_json_flag_are_read_in_every_way_of_writing_them(tmp_path: Path, args: list[str]) -> None:
    assert [each.fault for each in said(tmp_path, args)] == ["role-unknown"]


def test_a_member_is_not_judged_beside_text_that_is_no_json(tmp_path: Path) -> None:
    assert said(tmp_path, ["--kv-transfer-config", "{'kv_connector': 'NixlConnector'}"]) == []


def test_a_short_flag_stands_for_the_member_of_the_json_flag(tmp_path: Path) -> None:
    assert [each.fault for each in said(tmp_path, ["--spec-method=ngram"])] == ["ngram-without-count"]
    assert said(tmp_path, ["--spec-method=ngram", "--spec-tokens=3"]) == []
    twice = ["--spec-method=ngram", "--speculative-config", '{"method": "ngram", "num_speculative_tokens": 3}']
    assert [each.fault for each in said(tmp_path, twice)] == ["method-twice"]


def test_nothing_is_said_where_the_rest_of_the_command_line_cannot_be_read(tmp_path: Path) -> None:
    assert [each.fault for each in said(tmp_path, ["--enable-eplb"])] != []
    assert said(tmp_path, ["--enable-eplb", "--config=/etc/vllm.yaml"]) == []


def test_a_private_build_and_an_unknown_version_are_warned_about(tmp_path: Path) -> None:
    args = ["--enable-lora", "--max-loras=4", "--max-cpu-loras=2"]
    assert [each.severity for each in said(tmp_path, args, "registry.example/vllm:v0.33.0")] == [Severity.WARNING]
    assert [each.severity for each in said(tmp_path, args, "vllm/vllm-openai:latest")] == [Severity.WARNING]
    assert [each.severity for each in said(tmp_path, args, "vllm/vllm-openai:v0.99.0")] == [Severity.WARNING]
    assert said(tmp_path, args, "vllm/vllm-openai:v0.8.5") == []


def test_a_world_larger_than_the_leaders_pod_needs_an_executor(tmp_path: Path) -> None:
    args = ["--tensor-parallel-size=8", "--pipeline-parallel-size=2"]
    found = said(tmp_path, args, form=GROUP)
    assert [(each.fault, each.severity) for each in found] == [("world-larger-than-the-pod", Severity.ERROR)]
    assert said(tmp_path, [*args, "--nnodes=2", "--node-rank=0"], form=GROUP) == []
    assert said(tmp_path, args, "vllm/vllm-openai:v0.10.2", form=GROUP) == []
    assert said(tmp_path, args, "vllm/vllm-openai:v0.33.0") == [], "one pod with too few cards is counted by another rule"


def test_a_variable_that_something_else_may_set_decides_nothing(tmp_path: Path) -> None:
    args = ["--grpc-port=9000"]
    assert [each.fault for each in said(tmp_path, args)] == ["grpc-port-without-its-front-end"]
    assert said(tmp_path, args, "registry.example/vllm:v0.33.0") == []
    assert said(tmp_path, args, env=[{"name": "VLLM_USE_RUST_FRONTEND", "value": "1"}]) == []


def _workload(*flags: Flag, model: Fact[str] | None = None) -> Workload:
    return Workload(Origin(), engine=Engine(entrypoint="serve", flags=flags, model=model or known("Qwen/Qwen3-30B-A3B")))


def test_facts_of_the_model_come_from_its_own_configuration_only() -> None:
    assert Asked(_workload(), Bundle())["model:experts"] == known(128)
    assert Asked(_workload(model=known("someone/Qwen3-30B-A3B-tuned")), Bundle())["model:experts"].unknown
    changed = _workload(Flag("hf-overrides", known("{}")))
    assert Asked(changed, Bundle())["model:experts"].unknown


def test_every_name_of_the_table_has_an_answer_and_none_is_known_of_an_engine_that_cannot_be_read() -> None:
    closed = Workload(Origin(), engine=Engine(complete=False, model=unknown()))
    facts = Asked(closed, Bundle())
    names = sorted({name for row in relations().rows for name in row.names})
    assert {name for name in names if facts[name].known} == set()
    assert {name for name in names if facts[name].absent} <= {"vendor"}
