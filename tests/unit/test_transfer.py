"""Prefill and decode on different servers: planned, rendered, judged as a pair."""

from typing import Any

import pytest

from interlock.infra.config import load
from interlock.infra.manifests.render import render
from interlock.infra.plan.types import ClusterPlan
from interlock.infra.preview import preview
from tests.support import TODAY, config_data


def pair(**decode: Any) -> dict[str, Any]:
    data = config_data()
    server = data["servers"][0]
    sides: dict[str, dict[str, Any]] = {"prefill": {}, "decode": decode}
    return {**data, "servers": [{**server, "name": role, "transfer": {"role": role}, **more} for role, more in sides.items()]}


def made(data: dict[str, Any]) -> ClusterPlan:
    return preview(load(data), "s", today=TODAY)


def containers(data: dict[str, Any]) -> list[dict[str, Any]]:
    config = load(data)
    found = render(config, preview(config, "s", today=TODAY))
    return [each["spec"]["template"]["spec"]["containers"][0] for each in found if each["kind"] == "Deployment"]


def test_both_sides_get_the_connector_their_role_an_address_and_a_port_of_their_own() -> None:
    plan = made(pair())
    assert not plan.refused
    roles = [server.args.engine.stated()["kv_transfer_config"]["kv_role"] for server in plan.servers]
    assert roles == ["kv_producer", "kv_consumer"]
    assert "a router must send each request to both sides" in plan.servers[0].why["kv_transfer_config"].reason
    for container in containers(pair()):
        env = {each["name"]: each for each in container["env"]}
        assert env["VLLM_NIXL_SIDE_CHANNEL_HOST"]["valueFrom"]["fieldRef"]["fieldPath"] == "status.podIP"
        assert env["VLLM_NIXL_SIDE_CHANNEL_PORT"]["value"] == "5600"
        assert [(port["name"], port["containerPort"]) for port in container["ports"]] == [("http", 8000), ("kv-0", 5600)]


def test_each_data_parallel_rank_has_a_port() -> None:
    ports = containers(pair(engine={"data_parallel_size": 2, "max_model_len": 8192}, gpus=2))[1]["ports"]
    assert [port["containerPort"] for port in ports] == [8000, 5600, 5601]


@pytest.mark.parametrize(
    "decode",
    [
        {"engine": {"kv_cache_dtype": "fp8", "max_model_len": 8192}},
        {"image": {"reference": "vllm/vllm-openai:v0.29.0"}},
    ],
    ids=["cache", "version"],
)
def test_sides_that_would_refuse_each_other_are_refused(decode: dict[str, Any]) -> None:
    assert [each.subject.name for each in made(pair(**decode)).refused if each.code == "ARG-022"] == ["decode"]


@pytest.mark.parametrize(
    ("image", "told", "codes"),
    [
        ("vllm/vllm-openai:v0.33.0", "the image holds nixl", []),
        ("mirror.example.org/vllm/vllm-openai:v0.13.0", "not known", ["ARG-023", "ARG-023"]),
        ("ghcr.io/llm-d/llm-d-cuda:v0.7.0", "the image holds nixl", []),
        ("example.org/own:1", "not known", []),
    ],
)
def test_an_image_of_a_family_whose_later_releases_hold_the_library_is_told_with_the_release(
    image: str, told: str, codes: list[str]
) -> None:
    data = pair()
    stated = {"reference": image} if "openai" in image else {"reference": image, "vllm": "0.33.0"}
    plan = made({**data, "servers": [{**server, "image": stated} for server in data["servers"]]})
    assert told in plan.servers[0].why["kv_transfer_config"].reason
    found = [each for each in plan.findings if each.code == "ARG-023"]
    assert [each.code for each in found] == codes
    assert all("0.14.0" in each.summary and each.path.endswith("image.reference") for each in found)


def test_a_stated_connector_is_kept() -> None:
    stated = {"kv_connector": "NixlConnector", "kv_role": "kv_both"}
    plan = made(pair(engine={"kv_transfer_config": stated, "max_model_len": 8192}))
    assert plan.servers[1].args.engine.stated()["kv_transfer_config"] == stated


def test_a_pair_without_a_router_is_told_and_one_with_a_router_is_not() -> None:
    (found,) = [each for each in made(pair()).findings if each.code == "ARG-026"]
    assert (found.severity.value, found.subject.name) == ("warning", "decode")
    assert "prefill (prefill) and decode (decode)" in found.summary
    assert found.remedy.endswith("name its Service as transfer.router")
    for side in (0, 1):
        data = pair()
        data["servers"][side]["transfer"]["router"] = "splitter"
        assert not [each for each in made(data).findings if each.code == "ARG-026"]


@pytest.mark.parametrize(("role", "severity"), [("prefill", "error"), ("decode", "info")])
def test_half_a_pair_is_refused_where_it_answers_nobody(role: str, severity: str) -> None:
    data = pair()
    plan = made({**data, "servers": [each for each in data["servers"] if each["name"] == role]})
    (found,) = [each for each in plan.findings if each.code == "ARG-025"]
    assert (found.severity.value, bool(plan.refused)) == (severity, role == "prefill")
    assert found.remedy.endswith("or remove transfer")
