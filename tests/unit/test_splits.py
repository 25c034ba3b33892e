"""A canary and the two colours of a server: a route that gives parts of its requests to other servers of the stack."""

import re
from typing import Any

import pytest

from interlock.infra.errors import ConfigError
from interlock.infra.manifests.bundles import stack_objects
from interlock.infra.plan.plan import plan
from interlock.infra.preview import preview
from tests.support.build import TODAY, config

QWEN = {"id": "Qwen/Qwen2.5-7B-Instruct"}
NEXT = {"name": "chat-next", "model": QWEN, "pool": "h100", "served_name": "chat", "access": {"open": "a test"}}


def split(percent: int | None, **other: Any) -> dict[str, Any]:
    route = {"host": "a.example", "gateway_namespace": "gateways", **({} if percent is None else {"split": {"chat-next": percent}})}
    return {
        "servers[0].served_name": "chat",
        "servers[0].route": route,
        "servers[0].access": {"open": "a test"},
        "servers[1]": {**NEXT, **other},
    }


def objects(changes: dict[str, Any]) -> dict[tuple[str, str], dict[str, Any]]:
    made = config(changes)
    return {
        (each.manifest["kind"], each.manifest["metadata"]["name"]): each.manifest for each in stack_objects(made, plan(made, "prod")).drafts
    }


PARTS = {None: [("chat", None)], 0: [("chat", 100), ("chat-next", 0)], 10: [("chat", 90), ("chat-next", 10)]}


@pytest.mark.parametrize(("percent", "expected"), [*PARTS.items(), (100, [("chat", 0), ("chat-next", 100)])])
def test_a_route_gives_a_part_of_its_requests_to_another_server(percent: int | None, expected: list[Any]) -> None:
    (rule,) = objects(split(percent))["HTTPRoute", "chat"]["spec"]["rules"]
    assert [(each["name"], each.get("weight")) for each in rule["backendRefs"]] == expected


def test_the_gateway_reaches_the_canary_only_while_it_has_a_part() -> None:
    def sources(percent: int) -> list[str]:
        rules = objects(split(percent))["NetworkPolicy", "chat-next"]["spec"]["ingress"]
        spaces = [peer["namespaceSelector"]["matchLabels"] for rule in rules for peer in rule["from"] if "namespaceSelector" in peer]
        return [each["kubernetes.io/metadata.name"] for each in spaces]

    assert (sources(10), sources(0)) == (["monitoring", "gateways"], ["monitoring"])


def test_a_route_moves_when_the_servers_that_it_leads_to_are_ready() -> None:
    made = config(split(10))
    found = stack_objects(made, plan(made, "prod")).servers
    assert [(each.name, each.after) for each in found] == [("chat-next", ()), ("chat", ("chat-next",))]


def test_the_cards_of_both_colours_are_counted() -> None:
    both = split(50, replicas=8) | {"servers[0].replicas": 8}
    assert preview(config(both), "prod", today=TODAY).refused == ()
    assert [each.code for each in preview(config(both | {"pools[0].nodes": 1}), "prod", today=TODAY).refused] == ["GPU-004"]


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"servers[1].served_name": "other"}, "chat-next answers to the model 'other' and chat to 'chat', so one of them answers 404"),
        ({"servers[1].name": "blue"}, "'chat-next' is not another server of this stack; others: blue"),
        ({"servers[0].route.split": {"chat-next": 60, "chat": 50}}, "60 + 50 = 110 percent is more than 100"),
        ({"servers[0].route.kind": "ingress", "servers[0].route.gateway_namespace": None}, "kind ingress leads to one Service"),
        ({"servers[1].route": {"host": "b.example", "split": {"chat": 10}}}, "chat-next splits its own route"),
    ],
)
def test_what_cannot_be_split_is_refused(changes: dict[str, Any], text: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(text)):
        config(split(10) | changes)
