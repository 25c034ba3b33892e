"""Tenants in the config: what follows for arguments and objects, and what is refused."""

import datetime as dt
import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
import yaml
from rich.console import Console

from interlock.cli.show import tenants
from interlock.cli.stackfile import read_yaml
from interlock.infra.catalog.tracks import tracks
from interlock.infra.config import load
from interlock.infra.errors import ConfigError
from interlock.infra.manifests.deployer import deployer_objects
from interlock.infra.manifests.render import render
from interlock.infra.naming import subdomain_problem
from interlock.infra.plan.types import ClusterPlan
from interlock.infra.preview import preview
from interlock.runtime.gate.access import read_policy

TODAY = dt.date(2026, 12, 1)
BASE = """
target: {local: dev}
scope: serving
namespace: ml
pools: [{name: h100, gpu: h100-80gb-sxm, nodes: 2, gpus_per_node: 8, cpu: "96", memory: 1Ti}]
access:
  tenants:
  - {name: team-a, requests_per_minute: 600, concurrency: 32}
  - {name: team-b, models: [chat], tokens_per_minute: 100000, expires: 2027-01-31}
servers:
- {name: chat, served_name: chat, model: {id: Qwen/Qwen2.5-7B-Instruct}, pool: h100, route: {host: chat.example.org}}
"""


def config(**server: Any) -> dict[str, Any]:
    data: dict[str, Any] = yaml.safe_load(BASE)
    data["servers"][0].update(server)
    return data


def planned(data: dict[str, Any]) -> ClusterPlan:
    return preview(load(data), "prod", today=TODAY)


def classes(plan: ClusterPlan) -> list[str]:
    return [name.rsplit(".", 1)[-1] for name in plan.servers[0].args.middleware]


def refused(data: dict[str, Any]) -> str:
    with pytest.raises(ConfigError) as caught:
        planned(data)
    return str(caught.value)


def test_tenants_put_the_classes_in_front_of_the_engine_the_log_outermost() -> None:
    plan = planned(config())
    assert classes(plan) == ["Front", "Limits", "Keys", "Account"]
    assert plan.findings == ()


def test_the_engine_reads_the_policy_that_is_rendered() -> None:
    data = config(access={"routes": ["/invocations"], "max_body": "1Mi"})
    objects = {(made["kind"], made["metadata"]["name"]): made for made in render(load(data), planned(data))}
    policy = read_policy(objects["ConfigMap", "chat-access"]["data"]["access.json"].encode())
    assert (policy.model, policy.most_body) == ("chat", 1 << 20)
    assert (policy.models, policy.routes) == (frozenset({"chat"}), frozenset({"/invocations"}))
    assert (policy.tenants["team-a"].requests_per_minute, policy.tenants["team-a"].concurrency) == (600, 32)
    assert policy.tenants["team-b"].models == frozenset({"chat"})
    end = dt.datetime(2027, 2, 1, tzinfo=dt.UTC).timestamp()
    assert policy.tenants["team-b"].expires == end
    assert policy.capacity > 0
    pod = objects["Deployment", "chat"]["spec"]["template"]["spec"]
    volume = next(each for each in pod["volumes"] if each["name"] == "access")
    assert [next(iter(each)) for each in volume["projected"]["sources"]] == ["configMap", "secret"]
    assert "secret" not in json.dumps(objects["ConfigMap", "chat-access"])


@pytest.mark.parametrize(("last", "end"), [("9999-12-31", 253_402_300_800), ("1970-01-01", 86_400), ("1969-12-31", 1), ("0001-01-01", 1)])
def test_whatever_the_last_day_is_its_keys_end_with_it(last: str, end: int) -> None:
    data = config()
    data["access"]["tenants"][1]["expires"] = last
    access = planned(data).servers[0].access
    assert access is not None
    assert [each.expires for each in access.tenants] == [0, end]


def test_a_changed_limit_and_a_new_tenant_restart_nothing() -> None:
    before, after = config(), config()
    after["access"]["tenants"][0]["concurrency"] = 64
    after["access"]["tenants"].append({"name": "team-c", "rotation": 3})
    pods = [
        next(made["spec"]["template"] for made in render(load(data), planned(data)) if made["kind"] == "Deployment")
        for data in (before, after)
    ]
    assert pods[0] == pods[1]


def test_a_tenant_opens_only_the_servers_that_it_names() -> None:
    data = config()
    data["servers"].append({**data["servers"][0], "name": "other", "route": {"host": "other.example.org"}})
    data["access"]["tenants"][0]["servers"] = ["other"]
    assert [[each.name for each in server.access.tenants] for server in planned(data).servers if server.access] == [
        ["team-b"],
        ["team-a", "team-b"],
    ]


def test_tiers_make_the_engine_schedule_by_priority_and_read_long_prompts_in_parts() -> None:
    data = config()
    data["access"]["tenants"][0]["tier"] = "interactive"
    plan = planned(data)
    engine = plan.servers[0].args.engine
    assert (engine.scheduling_policy, classes(plan)) == ("priority", ["Front", "Priority", "Limits", "Keys", "Account"])
    assert 0 < (engine.long_prefill_token_threshold or 0) < 8192
    assert plan.findings == ()


def test_tiers_on_an_engine_that_ignores_them_are_refused() -> None:
    data = config(engine={"scheduling_policy": "fcfs"})
    data["access"]["tenants"][0]["tier"] = "interactive"
    found = [each for each in planned(data).refused if each.code == "SEC-013"]
    assert [each.path for each in found] == ["servers[0].engine.scheduling_policy"]


def test_cooling_adds_the_governor() -> None:
    assert classes(planned(config(access={"cooling": True}))) == ["Front", "Governor", "Limits", "Keys", "Account"]


@pytest.mark.parametrize("open_server", [False, True])
def test_a_route_without_keys_is_refused_unless_it_is_said(open_server: bool) -> None:
    data = config(**({"access": {"open": "the gateway asks"}} if open_server else {}))
    del data["access"]
    found = [each.path for each in planned(data).refused if each.code == "SEC-012"]
    assert found == ([] if open_server else ["servers[0]"])


def test_a_server_without_a_route_needs_no_keys() -> None:
    data = config(route=None)
    del data["access"]
    assert planned(data).findings == ()


def test_two_locks_are_refused() -> None:
    secret = {"name": "VLLM_API_KEY", "valueFrom": {"secretKeyRef": {"name": "own", "key": "key"}}}
    plan = planned(config(extra={"pod_patch": {"containers": [{"name": "engine", "env": [secret]}]}}))
    assert [each.code for each in plan.refused] == ["SEC-014"]
    none = {"name": "VLLM_API_KEY", "value": ""}
    assert planned(config(extra={"pod_patch": {"containers": [{"name": "engine", "env": [none]}]}})).refused == ()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"runtime": {"supervised": False}}, "set supervised: true, or keys: false"),
        ({"image": {"reference": "vllm/vllm-openai:v0.10.2"}}, "use a newer image, or keys: false"),
    ],
)
def test_keys_that_nobody_could_check_are_refused(change: dict[str, Any], words: str) -> None:
    assert tracks()
    assert words in refused(config(**change))


@pytest.mark.parametrize(
    ("tenants", "words"),
    [
        ([{"name": "a"}, {"name": "a"}], "access.tenants[1].name"),
        ([{"name": "a", "servers": ["none"]}], "is not a server of this stack; servers: chat"),
        ([{"name": "A b"}], "access.tenants[0].name"),
        ([{"name": "a", "concurrency": 0}], "access.tenants[0].concurrency"),
        ([{"name": "a", "tier": "fast"}], "access.tenants[0].tier"),
    ],
)
def test_tenants_that_make_no_sense_are_told_by_their_field(tenants: list[Any], words: str) -> None:
    data = config()
    data["access"]["tenants"] = tenants
    assert words in refused(data)


def test_keys_without_a_tenant_are_refused() -> None:
    data = config(access={"keys": True})
    data["access"]["tenants"] = []
    assert "name tenants in access.tenants" in refused(data)


def test_the_plan_shows_tenants_their_limits_and_where_their_keys_are() -> None:
    out = StringIO()
    Console(file=out, width=160).print(tenants(planned(config()), TODAY))
    rows = [" ".join(line.split()) for line in out.getvalue().splitlines()]
    assert "team-a standard chat 600 requests a minute, 32 at once prod-team-a-key" in rows
    assert "team-b standard chat 100,000 tokens a minute, only chat, until 2027-01-31 prod-team-b-key" in rows


@pytest.mark.parametrize(
    ("today", "told"), [("2027-01-31", "until 2027-01-31"), ("2027-02-01", "ended on 2027-01-31: its keys are refused")]
)
def test_the_plan_tells_a_tenant_whose_keys_have_ended(today: str, told: str) -> None:
    out = StringIO()
    Console(file=out, width=200).print(tenants(planned(config()), dt.date.fromisoformat(today)))
    assert told in out.getvalue()


def test_a_page_with_thousands_of_tenants_stays_short() -> None:
    data = config()
    data["access"]["tenants"] = [{"name": f"t{at}"} for at in range(2000)]
    table = tenants(planned(data), TODAY)
    assert table.row_count == 13


@pytest.mark.parametrize("stack", ["Dev_1", "s" * 60])
def test_whatever_the_stack_is_called_the_names_of_secrets_are_valid(stack: str) -> None:
    made = preview(load(config()), stack, today=TODAY).servers[0].access
    assert made is not None
    assert all(subdomain_problem(name) is None for name in (made.secret, *(each.secret for each in made.tenants)))


def test_a_tenant_whose_secret_would_have_too_long_a_name_is_told() -> None:
    data = config()
    data["access"]["tenants"][0]["name"] = "t" * 60
    assert "access.tenants" in refused(data)
    assert "give the tenant a shorter name" in refused(data)


@pytest.mark.parametrize("keys", [True, False])
def test_the_deployers_role_reaches_secrets_only_where_tenants_have_keys(keys: bool) -> None:
    data = {**config(access={} if keys else {"keys": False}), "create_namespace": False}
    roles = [made for made in deployer_objects(load(data), planned(data)) if made["kind"] == "Role"]
    assert any("secrets" in rule["resources"] for role in roles for rule in role["rules"]) == keys


def test_a_day_that_no_calendar_has_is_told(tmp_path: Path) -> None:
    (tmp_path / "stack.yaml").write_text(BASE.replace("2027-01-31", "2027-13-31"))
    with pytest.raises(ConfigError, match=r"does not exist: month must be in 1..12"):
        read_yaml(tmp_path / "stack.yaml")
