import datetime as dt
from typing import Any

import pytest

from interlock.infra.config import load
from interlock.infra.errors import ConfigError
from interlock.infra.manifests.render import render
from interlock.infra.preview import preview
from interlock.infra.recognise import Document, recognise
from interlock.infra.rules.judge import judge
from interlock.infra.rules.waivers import WAIVE

TODAY = dt.date(2026, 11, 29)


def config(waivers: list[dict[str, Any]], **server: Any) -> Any:
    data = {
        "target": {"local": "dev"},
        "namespace": "team-a",
        "pools": [{"name": "h100", "gpu": "h100-80gb-sxm", "nodes": 2, "gpus_per_node": 8}],
        "servers": [
            {
                "name": "chat",
                "model": {"id": "Qwen/Qwen2.5-7B-Instruct"},
                "pool": "h100",
                "gpus": 2,
                "engine": {"tensor_parallel_size": 4, "max_model_len": 8192},
                **server,
            }
        ],
        "waivers": waivers,
    }
    return load(data, "Pulumi.dev.yaml")


def waiver(**changes: Any) -> dict[str, Any]:
    return {"code": "GPU-001", "path": "servers[0].*", "reason": "two engines share these cards on purpose", **changes}


def test_a_waiver_of_the_config_lets_the_plan_pass_and_is_shown() -> None:
    made = preview(config([waiver(expires="2027-01-01")]), "dev", today=TODAY)
    assert made.refused == ()
    (finding,) = [each for each in made.findings if each.code == "GPU-001"]
    assert "waived until 2027-01-01: two engines share these cards on purpose" in finding.text()


def test_without_the_waiver_the_same_plan_is_refused() -> None:
    assert [each.code for each in preview(config([]), "dev", today=TODAY).refused] == ["GPU-001"]


@pytest.mark.parametrize("changes", [{"code": "GPU-002"}, {"path": "servers[1].*"}, {"path": "code"}])
def test_a_waiver_of_another_finding_covers_nothing(changes: dict[str, Any]) -> None:
    assert [each.code for each in preview(config([waiver(**changes)]), "dev", today=TODAY).refused] == ["GPU-001"]


def test_an_expired_waiver_counts_as_absent_and_says_so() -> None:
    made = preview(config([waiver(expires="2026-11-28")]), "dev", today=TODAY)
    (finding,) = made.refused
    assert "a waiver for this expired on 2026-11-28" in finding.text()
    assert made.waived == {}


def test_the_last_day_of_a_waiver_still_counts() -> None:
    assert preview(config([waiver(expires="2026-11-29")]), "dev", today=TODAY).refused == ()


@pytest.mark.parametrize("reason", [None, "", "x"])
def test_a_waiver_without_a_reason_is_a_fault_of_the_config(reason: str | None) -> None:
    given = {key: value for key, value in waiver(reason=reason).items() if value is not None}
    with pytest.raises(ConfigError, match=r"waivers\[0\]\.reason"):
        config([given])


def test_the_rendered_objects_carry_the_waiver_to_whoever_judges_them_alone() -> None:
    given = config([waiver(expires="2027-01-01")])
    made = preview(given, "dev", today=TODAY)
    objects = render(given, made)
    marked = {each["kind"]: each["metadata"]["annotations"][WAIVE] for each in objects if WAIVE in each["metadata"].get("annotations", {})}
    assert marked == {"Deployment": "GPU-001: two engines share these cards on purpose; expires 2027-01-01"}
    found = judge(recognise([Document(each) for each in objects], closed=True), today=TODAY)
    assert [(each.code, each.waiver is not None) for each in found if each.code == "GPU-001"] == [("GPU-001", True)]


def test_an_annotation_in_extra_waives_like_the_config() -> None:
    extra = {"annotations": {WAIVE: "GPU-001: two engines share these cards on purpose"}}
    made = preview(config([], extra=extra), "dev", today=TODAY)
    assert made.refused == ()
    assert any(each.waiver for each in made.findings)


EXTRAS: dict[str, tuple[dict[str, Any], str, str]] = {
    "an argument": ({"args": ["--tensor-parallel-size=4"]}, "GPU-001", "servers[0]."),
    "a patch of the image": (
        {"pod_patch": {"containers": [{"name": "engine", "image": "vllm/vllm-openai:latest"}]}},
        "VER-001",
        "servers[0].",
    ),
    "a patch of the GPUs": (
        {"pod_patch": {"containers": [{"name": "engine", "resources": {"limits": {"nvidia.com/gpu": "3"}}}]}},
        "GPU-006",
        "servers[0].",
    ),
}


@pytest.mark.parametrize(("extra", "code", "path"), EXTRAS.values(), ids=EXTRAS)
def test_what_extra_adds_is_judged_by_the_same_rules(extra: dict[str, Any], code: str, path: str) -> None:
    server = {"gpus": 1, "engine": {"max_model_len": 8192}}
    assert preview(config([], **server), "dev", today=TODAY).refused == ()
    refused = preview(config([], **server, extra=extra), "dev", today=TODAY).refused
    assert code in [each.code for each in refused]
    assert all(each.path.startswith(path) for each in refused)


def test_extra_reaches_the_pod() -> None:
    extra = {
        "args": ["--seed=7"],
        "env": {"MY_SETTING": "1"},
        "tolerations": [{"key": "spot", "operator": "Exists"}],
        "annotations": {"team": "a"},
        "pod_patch": {"dnsPolicy": "Default"},
    }
    given = config([], gpus=4, extra=extra)
    pod = next(each for each in render(given, preview(given, "dev", today=TODAY)) if each["kind"] == "Deployment")["spec"]["template"]
    engine = pod["spec"]["containers"][0]
    assert engine["args"][-1] == "--seed=7"
    assert {"name": "MY_SETTING", "value": "1"} in engine["env"]
    assert {"key": "spot", "operator": "Exists"} in pod["spec"]["tolerations"]
    assert pod["metadata"]["annotations"]["team"] == "a"
    assert pod["spec"]["dnsPolicy"] == "Default"
