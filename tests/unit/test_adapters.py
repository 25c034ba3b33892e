"""LoRA adapters of a server: what the plan makes of them, and what is refused."""

import copy
import datetime as dt
import json
from typing import Any

import pytest
import yaml

from interlock.infra.config import load
from interlock.infra.errors import ConfigError
from interlock.infra.manifests.render import render
from interlock.infra.plan.types import ClusterPlan
from interlock.infra.preview import preview
from tests.unit.test_access import BASE

TODAY = dt.date(2026, 12, 1)
TWO = [{"name": "sql", "path": "/adapters/sql"}, {"name": "law", "path": "/adapters/law"}]


def config(adapters: Any, **server: Any) -> dict[str, Any]:
    data: dict[str, Any] = copy.deepcopy(yaml.safe_load(BASE))
    data["servers"][0].update({"adapters": adapters, **server})
    return data


def planned(data: dict[str, Any]) -> ClusterPlan:
    return preview(load(data), "prod", today=TODAY)


def words(plan: ClusterPlan) -> str:
    return " ".join(plan.servers[0].args.to_argv())


def objects(data: dict[str, Any]) -> dict[tuple[str, str], Any]:
    return {(made["kind"], made["metadata"]["name"]): made for made in render(load(data), planned(data))}


def test_adapters_stand_in_the_engines_arguments_and_memory_is_planned_for_them() -> None:
    plan = planned(config({"modules": TWO, "rank": 64}))
    assert plan.findings == ()
    assert "--enable-lora --max-loras 2 --max-lora-rank 64" in words(plan)
    assert "--lora-modules sql=/adapters/sql law=/adapters/law" in words(plan)
    assert "Adapters" not in words(plan)
    plain = planned(config(None))
    assert plan.servers[0].why["GPU_memory"].reason != plain.servers[0].why["GPU_memory"].reason
    assert ("ConfigMap", "chat-adapters") not in objects(config({"modules": TWO}))


def test_hot_adapters_are_a_mounted_list_and_another_list_is_the_same_pod() -> None:
    data = config({"modules": TWO, "hot": True, "slots": 12})
    plan, made = planned(data), objects(data)
    assert plan.findings == ()
    assert "--enable-lora --max-loras 8 --max-lora-rank 16" in words(plan)
    assert "--max-cpu-loras 12" in words(plan)
    assert "--lora-modules" not in words(plan)
    assert plan.servers[0].args.middleware[1] == "interlock.runtime.adapters.Adapters"
    assert json.loads(made["ConfigMap", "chat-adapters"]["data"]["adapters.json"]) == {"sql": "/adapters/sql", "law": "/adapters/law"}
    pod = made["Deployment", "chat"]["spec"]["template"]
    engine = pod["spec"]["containers"][0]
    assert {"name": "VLLM_ALLOW_RUNTIME_LORA_UPDATING", "value": "1"} in engine["env"]
    assert {"name": "adapters", "mountPath": "/etc/interlock/adapters", "readOnly": True} in engine["volumeMounts"]
    another = objects(config({"modules": TWO[:1], "hot": True, "slots": 12}))
    assert another["Deployment", "chat"]["spec"]["template"] == pod
    policies = [json.loads(each["ConfigMap", "chat-access"]["data"]["access.json"])["models"] for each in (made, another)]
    assert policies == [["chat", "law", "sql"], ["chat", "sql"]]


@pytest.mark.parametrize(
    ("adapters", "server", "told"),
    [
        ({"modules": TWO}, {"engine": {"enable_lora": True}}, "servers[0].engine.enable_lora: adapters say it already"),
        ({"modules": TWO}, {"engine": {"lora_modules": ["a=/a"]}}, "servers[0].engine.lora_modules: adapters say it already"),
        ({"modules": [{"name": "chat", "path": "/a"}]}, {}, "servers[0].adapters.modules[0].name: 'chat' is the name of the model itself"),
        ({"modules": [*TWO, TWO[0]]}, {}, "modules names 'sql' twice"),
        ({"modules": TWO, "slots": 1}, {}, "slots 1 is less than the 2 adapters in modules: raise it to 2"),
        ({}, {}, "modules is empty"),
        ({"hot": True}, {"runtime": {"supervised": False}, "access": {"keys": False}}, "servers[0].adapters.hot: the list is followed by"),
        ({"modules": TWO, "rank": 24}, {}, "servers[0].adapters.rank: 24 is not one of 1, 8, 16, 32, 64, 128, 256, 320, 512: set it to 32"),
        ({"modules": [{"name": "a b=c", "path": "/a"}]}, {}, "servers[0].adapters.modules[0].name: 'a b=c' is not a name"),
        ({"modules": [{"name": "a"}]}, {}, "servers[0].adapters.modules[0].path"),
    ],
)
def test_adapters_that_cannot_be_are_refused_with_the_field(adapters: Any, server: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigError) as caught:
        planned(config(adapters, **server))
    assert told in str(caught.value)
