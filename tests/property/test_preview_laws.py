"""Laws of the preview: what is told stands in the config, every value knows where it came from, and all judges agree."""

import re
from typing import Any

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from interlock.infra.config import ClusterConfig, load
from interlock.infra.errors import ConfigError
from interlock.infra.manifests.bundles import stack_objects
from interlock.infra.manifests.placed import Draft, leaves
from interlock.infra.manifests.render import render
from interlock.infra.paths import at, within
from interlock.infra.plan.decisions import reads
from interlock.infra.plan.plan import plan
from interlock.infra.preview import preview, previewed
from interlock.infra.preview.changes import Before, changes
from interlock.infra.recognise import Document, recognise
from interlock.infra.rules.findings import Finding, Severity
from interlock.infra.rules.judge import judge
from tests.support import TODAY, changed
from tests.support.configs import written
from tests.support.fixes import applied

FEW = settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))


def loaded(data: dict[str, Any]) -> ClusterConfig:
    try:
        return load(data)
    except ConfigError:
        assume(False)
        raise


def text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return str(getattr(value, "value", value))


@FEW
@given(written())
def test_what_a_finding_tells_stands_in_the_config(data: dict[str, Any]) -> None:
    config = loaded(data)
    for finding in preview(config, "laws", today=TODAY).findings:
        value = at(config, finding.path)
        assert finding.value in ("", text(value)), finding.text()
        assert finding.value or value is None or not isinstance(value, str | int | float), finding.text()


@FEW
@given(written())
def test_the_changes_of_a_finding_remove_it(data: dict[str, Any]) -> None:
    for finding in preview(loaded(data), "laws", today=TODAY).findings:
        if finding.fixes:
            after = preview(load(applied(data, finding.fixes)), "laws", today=TODAY).findings
            left = {(each.code, each.subject.name, each.path) for each in after}
            assert (finding.code, finding.subject.name, finding.path) not in left, f"{finding.text()}: {finding.fixes}"


def rules_said(findings: tuple[Finding, ...]) -> list[tuple[str, str, str]]:
    return sorted({(each.code, each.severity.value, each.subject.name) for each in findings})


@FEW
@given(written())
def test_plan_and_checker_agree_on_code_severity_and_object(data: dict[str, Any]) -> None:
    config = loaded(data)
    made = preview(config, "laws", today=TODAY)
    documents = [Document(each, "rendered.yaml", index) for index, each in enumerate(render(config, made))]
    used = {server.pool for server in config.servers}
    ours = tuple(each for each in made.findings if each.subject.kind != "Pool" or each.subject.name in used)
    assert rules_said(judge(recognise(documents, closed=True), config.rules, today=TODAY)) == rules_said(ours)


# One field and another value for it: each must be told apart from what the other fields say.
CHANGES: dict[str, Any] = {
    "namespace": "elsewhere",
    "servers[0].name": "renamed",
    "servers[0].model.id": "Qwen/Qwen2.5-3B-Instruct",
    "servers[0].model.revision": "a09a35458c702b33eeacc393d103063234e8bc28",
    "servers[0].served_name": "other",
    "servers[0].replicas": 5,
    "servers[0].gpus": 8,
    "servers[0].engine.tensor_parallel_size": 8,
    "servers[0].engine.max_model_len": 2048,
    "servers[0].engine.max_num_seqs": 32,
    "servers[0].engine.gpu_memory_utilization": 0.7,
    "servers[0].image": {"reference": "vllm/vllm-openai:v0.31.0"},
    "servers[0].weights": None,
    "servers[0].hub_token_secret": "another",
    "servers[0].cpu": "3",
    "servers[0].memory": "48Gi",
    "servers[0].shm": "3Gi",
    "servers[0].startup_seconds": 1200,
    "servers[0].longest_answer_seconds": 900,
    "servers[0].rollout": {"strategy": "recreate", "drain_seconds": 45},
    "servers[0].route": {"host": "b.example.org", "timeout_seconds": 700},
    "servers[0].autoscale": {"max_replicas": 5, "scale_down_seconds": 300},
    "servers[0].priority_class": "other",
    "servers[0].extra": {"args": ["--seed", "1"], "env": {"A": "b"}, "pod_patch": {"hostIPC": True}},
    "pools[0].nodes": 9,
    "pools[0].labels": {"rack": "r1"},
    "pools[0].taints": ["other"],
    "pools[0].cpu": "12",
    "pools[0].memory": "2Ti",
}


# Lists whose items have names: a place in them moves when another item comes or goes.
_ITEM = re.compile(r"(env|volumes|[cC]ontainers|volumeMounts)\[\d+\]")


def values(draft: Draft) -> dict[str, tuple[str, Any]]:
    """(path, value) of every leaf; arguments by their flag and named items by name."""
    found: dict[str, tuple[str, Any]] = {}
    flag = ""
    for path, value in leaves(draft.manifest):
        key = _ITEM.sub(lambda match: f"{match[1]}[{at(draft.manifest, match.string[: match.end()])['name']}]", path)
        if ".args[" in path:
            flag = str(value).partition("=")[0] if str(value).startswith("--") else flag
            key = f"{flag} of the arguments" if value == flag else f"value of {flag}"
        found[key] = (path, value)
    return found


def named_by(draft: Draft, path: str, field: str) -> bool:
    """Whether the source at ``path`` is ``field`` (or a part or a whole of it), or a decision that reads it."""
    source = draft.source(path)
    if source is None:
        return False
    relative = field.partition("].")[2] if field.startswith(f"{draft.owner}.") else field.partition("[")[0]
    about = within(source.field, field) or within(field, source.field)
    return about or any(within(relative, each) or within(each, relative) for each in reads(source.why))


@FEW
@given(written(), st.sampled_from(sorted(CHANGES)))
def test_every_value_that_changes_with_a_field_names_it_or_a_decision_that_reads_it(data: dict[str, Any], field: str) -> None:
    before, after = loaded(data), loaded(changed(data, field, CHANGES[field]))
    first, second = (stack_objects(each, plan(each, "laws")).drafts for each in (before, after))
    kinds = [[(draft.owner, draft.manifest["kind"]) for draft in drafts] for drafts in (first, second)]
    for draft in first:
        here = [each for each in second if (each.owner, each.manifest["kind"]) == (draft.owner, draft.manifest["kind"])]
        if len(here) != 1 or sum(kind == (draft.owner, draft.manifest["kind"]) for kind in kinds[0]) != 1:
            continue
        old, new = values(draft), values(here[0])
        for key in old.keys() | new.keys():
            if "interlock.dev/facts" not in key and old.get(key, ("", None))[1] != new.get(key, ("", None))[1]:
                holder, (path, _) = (here[0], new[key]) if key in new else (draft, old[key])
                assert named_by(holder, path, field), f"{field} changes {draft.manifest['kind']} {path}: {holder.source(path)}"


DECIDED = ("gpus", "memory", "cpu", "shm", "startup_seconds", "rollout", "extra", "engine")


@FEW
@given(written())
def test_what_the_plan_decided_is_never_remarked_above_info(data: dict[str, Any]) -> None:
    for server in data["servers"]:
        for field in DECIDED:
            server.pop(field, None)
    config = loaded(data)
    for finding in preview(config, "laws", today=TODAY).findings:
        changeable = finding.severity is Severity.ERROR and finding.value
        decided = finding.note.startswith("decided by the plan")
        assert finding.severity is Severity.INFO or changeable or not decided, finding.text()


@FEW
@given(written(), written())
def test_a_change_names_every_object_that_differs_and_no_other_and_none_against_itself(one: dict[str, Any], two: dict[str, Any]) -> None:
    before, after = (previewed(loaded(each), "laws", today=TODAY) for each in (one, two))
    old, new = (
        {(m["kind"], m["metadata"].get("namespace") or "", m["metadata"]["name"]): m for m in (d.manifest for d in made.objects.drafts)}
        for made in (before, after)
    )
    there, back = changes(Before.of(before), after), changes(Before.of(after), before)
    named = {(each.kind, each.namespace, each.name) for each in there.objects}
    assert named == {key for key in {*old, *new} if old.get(key) != new.get(key)}
    assert named == {(each.kind, each.namespace, each.name) for each in back.objects}
    assert changes(Before.of(after), after).nothing
    assert {each.name for each in there.servers if each.restart} <= {each.name for each in after.plan.servers}
