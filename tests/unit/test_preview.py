"""Findings are told at the field that a person wrote, with its value, and with a fix that names fields."""

from dataclasses import fields
from typing import Any

import pytest

from interlock.infra.facts import Pool
from interlock.infra.manifests.bundles import stack_objects
from interlock.infra.plan.plan import plan
from interlock.infra.preview import preview
from interlock.infra.preview.facts import plan_facts
from interlock.infra.recognise import Document, recognise
from interlock.infra.rules.findings import Finding, Severity
from tests.support import TODAY, config

GPU = "nvidia.com/gpu"


def found(changes: dict[str, Any]) -> dict[str, Finding]:
    return {each.code: each for each in preview(config(changes), "dev", today=TODAY).findings if each.severity is Severity.ERROR}


def patched(**container: Any) -> dict[str, Any]:
    return {"servers[0].extra.pod_patch": {"containers": [{"name": "engine", **container}]}}


TOLD = {
    "a patched grace period beside a stated drain": (
        {"servers[0].extra.pod_patch": {"terminationGracePeriodSeconds": 5}, "servers[0].rollout.drain_seconds": 600},
        "ROLL-010",
        "servers[0].extra.pod_patch.terminationGracePeriodSeconds",
        "5",
        "set extra.pod_patch.terminationGracePeriodSeconds to at least 650",
    ),
    "a patched count of GPUs": (
        patched(resources={place: {GPU: 2} for place in ("requests", "limits")}),
        "GPU-001",
        f'servers[0].extra.pod_patch.containers[0].resources.limits["{GPU}"]',
        "2",
        "",
    ),
    "a patched variable": (
        patched(env=[{"name": "VLLM_HOST_IP", "value": "x"}, {"name": "HF_TOKEN", "value": "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"}]),
        "SEC-002",
        "servers[0].extra.pod_patch.containers[0].env[1].value",
        "HF_TOKEN=***",
        "take it from a Secret",
    ),
    "a shutdown timeout among the arguments": (
        {
            "servers[0].extra.args": ["--shutdown-timeout", "900"],
            "servers[0].rollout.drain_seconds": 600,
            "servers[0].runtime.supervised": False,
        },
        "ROLL-010",
        "servers[0].rollout.drain_seconds",
        "600",
        "set rollout.drain_seconds to at least 900",
    ),
    "a context above the model's positions": (
        {"servers[0].engine.max_model_len": 300000},
        "MEM-004",
        "servers[0].engine.max_model_len",
        "300000",
        "engine.max_model_len",
    ),
    "answers longer than the route waits": (
        {"servers[0].route": {"host": "a.example.org", "timeout_seconds": 600}, "servers[0].longest_answer_seconds": 1800},
        "NET-006",
        "servers[0].route.timeout_seconds",
        "600",
        "set route.timeout_seconds to 1800 s or more, or let answers take 600 s at most (longest_answer_seconds)",
    ),
    "a startup probe that gives too little": (
        {"servers[0].startup_seconds": 10},
        "ROLL-001",
        "servers[0].startup_seconds",
        "10",
        "set startup_seconds to at least 720 s",
    ),
    "a surge without room": (
        {"servers[0].rollout.strategy": "surge", "pools[0].nodes": 1, "servers[0].replicas": 8},
        "ROLL-003",
        "servers[0].rollout.strategy",
        "surge",
        "set rollout.strategy to recreate",
    ),
}


@pytest.mark.parametrize(("changes", "code", "path", "value", "remedy"), TOLD.values(), ids=TOLD)
def test_a_finding_is_told_where_it_was_written(changes: dict[str, Any], code: str, path: str, value: str, remedy: str) -> None:
    finding = found(changes)[code]
    assert (finding.path, finding.value) == (path, value)
    assert remedy in finding.remedy


def test_short_answers_behind_a_short_route_are_no_contradiction() -> None:
    route = {"host": "a.example.org", "timeout_seconds": 60}
    assert found({"servers[0].route": route, "servers[0].longest_answer_seconds": 30, "servers[0].access": {"open": "a test"}}) == {}


def test_two_places_of_one_field_are_told_once() -> None:
    route = {"host": "a.example.org", "timeout_seconds": 60}
    made = preview(config({"servers[0].route": route, "servers[0].longest_answer_seconds": 600}), "dev", today=TODAY)
    assert [each.code for each in made.findings if each.path == "servers[0].route.timeout_seconds"] == ["NET-006"]


def test_a_value_that_the_plan_decided_is_told_with_its_reason_and_without_a_value_of_the_config() -> None:
    (finding,) = [each for each in preview(config({"pools[0].memory": "10Gi"}), "dev", today=TODAY).findings if each.code == "GPU-003"]
    assert (finding.path, finding.value) == ("servers[0].memory", "")
    assert finding.note.startswith("decided by the plan: 15Gi")


FIXABLE = ("answers longer than the route waits", "a shutdown timeout among the arguments")


@pytest.mark.parametrize("name", FIXABLE)
def test_a_mechanical_fix_names_fields_and_making_it_removes_the_finding(name: str) -> None:
    changes, code, *_ = TOLD[name]
    for fix in found(changes)[code].fixes:
        assert not fix.flag
        changes = {**changes, fix.path: fix.value}
    assert code not in found(changes)


def test_what_the_test_only_processor_track_decides_is_not_remarked() -> None:
    made = preview(config({"servers[0].image": {"track": "cpu"}}), "dev", today=TODAY)
    assert made.servers[0].args.engine.enforce_eager is True
    assert [each.code for each in made.findings if each.code == "ARG-017"] == []


def test_the_pools_that_objects_carry_are_the_pools_of_the_plan() -> None:
    given = config({"pools[0].share": {"kind": "time-slicing", "replicas": 2}})
    made = plan(given, "dev")
    drafts = stack_objects(given, made).drafts
    carried = recognise([Document(draft.manifest) for draft in drafts]).pools
    known = plan_facts(made, drafts).pools
    for name in (each.name for each in fields(Pool) if each.name not in ("origin", "labels")):
        ((there,), (here,)) = ([getattr(pool, name) for pool in pools] for pools in (carried, known))
        assert getattr(there, "value", there) == getattr(here, "value", here), name


@pytest.mark.parametrize(
    "patch",
    [
        {"containers": None},
        {"containers": []},
        {"containers": [{"image": "busybox:1"}]},
        {"containers": [{"name": "engine", "command": ["sleep", "1"]}]},
    ],
)
def test_a_patch_that_takes_the_engine_away_is_refused(patch: dict[str, Any]) -> None:
    made = preview(config({"servers[0].extra": {"pod_patch": patch}}), "dev", today=TODAY)
    assert "DOC-009" in {finding.code for finding in made.refused}
    allowed = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
    kept = {"containers": [{"name": "side", "image": "busybox:1", "command": ["sleep", "1"], "securityContext": allowed}]}
    assert not preview(config({"servers[0].extra": {"pod_patch": kept}}), "dev", today=TODAY).refused


def test_the_fix_of_an_argument_that_is_given_twice_names_the_one_that_counts() -> None:
    made = preview(config({"servers[0].extra": {"args": ["--max-model-len", "200000"]}}), "dev", today=TODAY)
    (found,) = (finding for finding in made.refused if finding.code == "MEM-004")
    assert found.remedy.startswith("set --max-model-len to 32768 or less")


def test_a_mapping_that_a_person_wrote_is_not_told_as_decided_by_the_plan() -> None:
    draft = {"model": "Qwen/Qwen2.5-0.5B-Instruct", "num_speculative_tokens": 3}
    made = preview(config({"servers[0].engine.speculative_config": draft}), "dev", today=TODAY)
    assert [finding.note for finding in made.findings if finding.path == "servers[0].engine.speculative_config"] == [""]
