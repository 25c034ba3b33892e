"""The real Ray, without vLLM: its classes take what the plan renders, and its scheduler places what is planned and hangs on what is not."""

import json
import subprocess
from typing import Any

import pytest
import yaml

from interlock.infra.preview import previewed
from tests.support.build import TODAY, config
from tools.common import ROOT
from tools.engine_env.env import python_of
from tools.ray_env import env

TWO_NODES = {"tensor_parallel_size": 4, "pipeline_parallel_size": 4, "max_model_len": 8192}
SHAPES: dict[str, dict[str, Any]] = {
    "small": {"servers[0].engine": {"max_model_len": 8192}},
    "scaled": {"servers[0].autoscale": {"max_replicas": 3}},
    "ranks": {"servers[0].engine": {"data_parallel_size": 4, "max_model_len": 8192}},
    "nodes": {"servers[0].engine": TWO_NODES, "servers[0].gpus": 16},
    "extra": {"servers[0].extra": {"args": ["--seed", "7", "--enable-prefix-caching"]}},
}


def ask(script: str, question: object) -> Any:
    reason = env.missing()
    if reason:
        pytest.skip(reason)
    command = [str(python_of(env.folder())), str(ROOT / "tools" / "ray_env" / script)]
    done = subprocess.run(command, input=json.dumps(question), capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1])


def rendered(changes: dict[str, Any]) -> dict[str, Any]:
    made = previewed(config({"servers[0].serve": "ray", **changes}), "dev", today=TODAY)
    assert not made.plan.refused
    found: dict[str, Any] = next(each.manifest for each in made.objects.drafts if each.manifest["kind"] == "RayService")
    return found


def test_rays_own_classes_take_every_serve_configuration_that_is_rendered_and_refuse_broken_ones() -> None:
    made = [rendered(changes) for changes in SHAPES.values()]
    for path in sorted((ROOT / "tests" / "golden" / "rendered").glob("ray-*.yaml")):
        made += [each for each in yaml.safe_load_all(path.read_text()) if each and each["kind"] == "RayService"]
    texts = [each["spec"]["serveConfigV2"] for each in made]
    wrong = [
        texts[0].replace('"max_ongoing_requests": ', '"max_ongoing_requests": -'),
        texts[0].replace('"strategy"', '"strategies"'),
        texts[0].replace('"engine_kwargs"', '"engine_arguments"'),
    ]
    answers = ask("accept.py", [*texts, *wrong])
    assert [each.get("error") for each in answers[: len(texts)]] == [None] * len(texts)
    assert all("error" in each for each in answers[len(texts) :])
    by_shape = dict(zip(SHAPES, answers, strict=False))
    assert [len(by_shape[name]["models"][0]["bundles"]) for name in SHAPES] == [1, 1, 1, 16, 1]
    assert by_shape["nodes"]["models"][0]["bundles"][0] == {"CPU": 0.0, "GPU": 1.0, "chat-gpu": 1}


def group(strategy: str, *bundles: dict[str, float], keep: bool = False, seconds: int = 60) -> dict[str, Any]:
    return {"strategy": strategy, "bundles": list(bundles), "keep": keep, "seconds": seconds}


def test_planned_placement_groups_land_as_planned_and_what_is_refused_is_never_placed() -> None:
    """Two hosts of eight GPUs of one model, and a pod of four of another: as the plan makes the groups."""
    stage: dict[str, float] = {"GPU": 1, "big-gpu": 1}
    other: dict[str, float] = {"GPU": 1, "small-gpu": 1}
    bare: dict[str, float] = {"GPU": 1}
    nodes = [{"num_gpus": 8, "resources": {"big-gpu": 8}}] * 2 + [{"num_gpus": 4, "resources": {"small-gpu": 4}}]
    groups = {
        "TP 8 x PP 2 over two hosts": group("PACK", *[stage] * 16, keep=True),
        "TP 4 in its own pod": group("STRICT_PACK", *[other] * 4),
        "num_gpus 4 on the deployment: 5, 1, 1, 1": group("STRICT_PACK", {"GPU": 5, "small-gpu": 1}, *[other] * 3, seconds=4),
        "PACK without the group's own resource": group("PACK", *[bare] * 2, keep=True),
        "TP 4 beside what took two of its cards": group("STRICT_PACK", *[other] * 4, seconds=4),
        "a replica more than there are pods": group("PACK", *[stage] * 16, seconds=4),
        "TP 16 in one node": group("STRICT_PACK", *[stage] * 16, seconds=4),
    }
    found = dict(zip(groups, ask("place.py", {"nodes": nodes, "groups": list(groups.values())}), strict=True))
    spread = found["TP 8 x PP 2 over two hosts"]
    assert sorted(spread) == [0] * 8 + [1] * 8
    assert found["TP 4 in its own pod"] == [2] * 4
    # Two of the pod's cards are taken by a group that asks for no resource of its own: the strict one waits forever.
    assert found["PACK without the group's own resource"] == [2, 2]
    assert {name for name, where in found.items() if where is None} == {
        "num_gpus 4 on the deployment: 5, 1, 1, 1",
        "TP 4 beside what took two of its cards",
        "a replica more than there are pods",
        "TP 16 in one node",
    }
