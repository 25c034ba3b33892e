import datetime as dt
from typing import Any

import pytest

from interlock.infra.config import load
from interlock.infra.errors import ConfigError
from interlock.infra.plan.costs import costliest
from interlock.infra.plan.types import ClusterPlan
from interlock.infra.preview import preview
from tests.support import config

TODAY = dt.date(2026, 11, 29)
POOL = {"name": "h100", "gpu": "h100", "nodes": 2, "gpus_per_node": 8, "cpu": "96", "memory": "1Ti"}


def planned(*servers: dict[str, Any], pool: dict[str, Any] | None = None, **more: Any) -> ClusterPlan:
    written = [
        {"name": f"s{index}", "model": {"id": "org/model", "unsized": "a test"}, "pool": "h100", **server}
        for index, server in enumerate(servers)
    ]
    return preview(
        load({"target": {"local": "dev"}, "namespace": "n", "pools": [pool or POOL], "servers": written, **more}), "dev", today=TODAY
    )


def errors(made: ClusterPlan) -> dict[str, str]:
    return {finding.path: finding.summary for finding in made.refused}


def test_tp_is_decided_from_the_gpus_when_only_they_are_given() -> None:
    server = planned({"gpus": 8, "engine": {"pipeline_parallel_size": 2}}).servers[0]
    assert server.args.engine.tp == 4
    assert server.why["tensor_parallel_size"].told == "4: 8 GPUs / (PP 2 x DP 1)"


def test_the_gpus_are_decided_from_the_parallel_sizes_when_only_those_are_given() -> None:
    assert planned({"engine": {"tensor_parallel_size": 4, "data_parallel_size": 2}}).servers[0].gpus == 8


@pytest.mark.parametrize(
    ("server", "path", "arithmetic"),
    [
        ({"gpus": 2, "engine": {"tensor_parallel_size": 4}}, "servers[0].gpus", "TP 4 x PP 1 = 4 GPUs, but the replica asks for 2"),
        ({"gpus": 4, "engine": {"tensor_parallel_size": 2}}, "servers[0].gpus", "TP 2 x PP 1 = 2 GPUs, but the replica asks for 4"),
        (
            {"model": {"id": "org/model", "attention_heads": 28, "unsized": "a test"}, "engine": {"tensor_parallel_size": 8}},
            "servers[0].engine.tensor_parallel_size",
            "28 attention heads are not divisible by tensor parallel size 8",
        ),
        ({"gpus": 16, "nodes": 1}, "servers[0].gpus", "16 GPUs in one pod, but a node of pool h100 has 8"),
        (
            {"gpus": 5, "replicas": 3, "engine": {"tensor_parallel_size": 5}},
            "servers[0].replicas",
            "2 nodes x floor(8 / 5) = 2 pods, but 3 are requested",
        ),
        (
            {"model": {"id": "org/model", "weights_gib": 140}, "startup_seconds": 100},
            "servers[0].startup_seconds",
            "0 + 10 x 10 = 100 s, but the model needs about 614 s",
        ),
    ],
)
def test_a_contradiction_is_refused_at_its_field_with_the_arithmetic(server: dict[str, Any], path: str, arithmetic: str) -> None:
    found = errors(planned(server))
    assert arithmetic in found[path]


@pytest.mark.parametrize(("heads", "size", "way"), [(4, 8, 4), (12, 8, 6), (1, 2, 1)])
def test_the_largest_size_that_divides_the_heads_is_named(heads: int, size: int, way: int) -> None:
    model = {"id": "org/model", "attention_heads": heads, "unsized": "a test"}
    (told,) = [each for each in planned({"model": model, "engine": {"tensor_parallel_size": size}}).findings if each.code == "GPU-002"]
    assert told.remedy.endswith(f"tensor_parallel_size to {way}")


@pytest.mark.parametrize(
    "server",
    [
        {"gpus": 8, "replicas": 2},
        {"gpus": 6, "engine": {"tensor_parallel_size": 6}, "model": {"id": "org/model", "attention_heads": 48, "unsized": "a test"}},
        {"model": {"id": "org/model", "weights_gib": 60}, "engine": {"tensor_parallel_size": 2}, "startup_seconds": 200},
        {"replicas": 0},
        {"engine": {"tensor_parallel_size": 2, "data_parallel_size": 4}, "gpus": 8},
    ],
)
def test_what_fits_is_let_pass(server: dict[str, Any]) -> None:
    assert errors(planned(server)) == {}


def test_two_servers_that_fit_alone_and_not_together_are_refused() -> None:
    made = planned({"gpus": 8}, {"gpus": 8}, {"gpus": 4})
    assert "20 GPUs" in next(iter(errors(made).values()))


def test_autoscaled_servers_count_at_their_most_replicas() -> None:
    made = planned({"gpus": 8, "autoscale": {"max_replicas": 3}})
    assert made.pools[0].asked == 24
    assert any("autoscale.max_replicas" in path for path in errors(made)), errors(made)


@pytest.mark.parametrize(
    ("replicas", "gpus", "surge", "unavailable", "recreate"),
    [(1, 8, 1, 0, False), (2, 8, 0, 1, False), (1, 16, 0, 0, True), (4, 4, 0, 1, False)],
)
def test_a_surge_pod_is_planned_only_where_the_pool_holds_one_more(
    replicas: int, gpus: int, surge: int, unavailable: int, recreate: bool
) -> None:
    server = planned({"gpus": gpus, "replicas": replicas}).servers[0]
    assert (server.surge, server.unavailable, server.recreate) == (surge, unavailable, recreate)


def test_the_users_arguments_are_last_and_judged_by_the_same_rules() -> None:
    made = planned({"extra": {"args": ["--tensor-parallel-size", "4"]}})
    assert made.servers[0].args.to_argv()[-2:] == ("--tensor-parallel-size", "4")
    assert "TP 4" in errors(made)["servers[0].extra.args[1]"]


def test_a_waiver_lets_a_contradiction_pass_and_an_expired_one_does_not() -> None:
    bad = {"gpus": 4, "engine": {"tensor_parallel_size": 2}}
    waiver = {"code": "GPU-001", "path": "servers[0].gpus", "reason": "a second engine runs in the pod"}
    assert errors(planned(bad, waivers=[waiver])) == {}
    expired = planned(bad, waivers=[{**waiver, "expires": "2026-11-28"}])
    assert "expired on 2026-11-28" in expired.refused[0].note


def test_a_store_puts_the_engine_into_offline_mode_and_gives_it_a_folder() -> None:
    made = planned({"weights": "w"}, stores=[{"name": "w", "filled": "a test"}])
    assert made.servers[0].args.model == "/var/lib/interlock/models/org/model"
    assert made.servers[0].env["HF_HUB_OFFLINE"] == "1"


def test_a_mirror_stands_before_the_image() -> None:
    server = planned({"image": {"registry": "mirror.example.org/hub/"}}).servers[0]
    assert server.image == "mirror.example.org/hub/vllm/vllm-openai:v0.33.0"
    assert server.vllm == "0.33.0"


def test_an_image_of_the_user_tells_its_version_by_its_tag() -> None:
    digest = "@sha256:" + "0" * 64
    assert planned({"image": {"reference": "r.example.com/vllm/vllm-openai:v0.29.0" + digest}}).servers[0].vllm == "0.29.0"
    assert planned({"image": {"reference": "rayproject/ray-llm:2.60.0-py312-cu130" + digest}}).servers[0].vllm == "0.29.0"


def test_the_version_in_an_own_image_is_what_the_config_states_and_never_guessed_from_its_tag() -> None:
    reference = "r.example.com/team/chat:v3.1.0@sha256:" + "0" * 64
    assert planned({"image": {"reference": reference}}).servers[0].vllm == ""
    assert planned({"image": {"reference": reference, "vllm": "0.29.0"}}).servers[0].vllm == "0.29.0"


@pytest.mark.parametrize(
    "image", [{"vllm": "0.33.0"}, {"reference": "vllm/vllm-openai:v0.33.0", "vllm": "0.29.0"}, {"reference": "r/x:1", "vllm": "newest"}]
)
def test_a_version_that_the_image_contradicts_is_refused(image: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=r"servers\[0\]\.image"):
        planned({"image": image})
    assert planned({"image": {"reference": "r/vllm:nightly"}}).servers[0].vllm == ""


def test_servers_that_fill_a_pool_together_get_no_surge_pod_although_each_alone_would() -> None:
    made = planned(*({"gpus": 8} for _ in range(2)))
    assert [(server.surge, server.recreate) for server in made.servers] == [(0, True), (0, True)]
    assert errors(made) == {}


@pytest.mark.parametrize(("seconds", "level"), [(90, "error"), (250, "warning"), (330, None)])
def test_a_probe_that_only_a_fast_network_can_meet_is_a_warning_and_one_that_none_can_meet_an_error(
    seconds: int, level: str | None
) -> None:
    server = {"model": {"id": "org/model", "weights_gib": 60}, "engine": {"tensor_parallel_size": 2}, "startup_seconds": seconds}
    made = planned(server)
    times = made.servers[0].start.cold.container
    assert 70 < times.low < 250 < times.likely < 330
    found = {finding.severity.value for finding in made.findings if finding.code == "ROLL-001"}
    assert found == ({level} if level else set())


@pytest.mark.parametrize("version", ["0.9.2", "0.10.2", "0.14.1", "0.17.1", "0.20.0", "0.29.0", "0.33.0"])
def test_the_plan_adds_no_argument_and_no_variable_that_the_images_version_does_not_read(version: str) -> None:
    made = preview(config({"servers[0].image": {"reference": "registry.local/vllm:ours", "vllm": version}}), "dev", today=TODAY)
    assert [finding.text() for finding in made.findings if finding.code in ("ARG-001", "ARG-002", "ARG-007")] == []


def test_the_decisions_that_take_the_most_gpus_are_told_first_whatever_the_order_of_the_servers() -> None:
    large = {"engine": {"tensor_parallel_size": 4}, "replicas": 2, "name": "large"}
    scaled = {"autoscale": {"min_replicas": 2, "max_replicas": 8}, "name": "scaled"}
    pool = {**POOL, "nodes": 3}
    told = costliest(planned(large, scaled, pool=pool))
    assert [(cost.server, cost.decision, cost.gpus) for cost in told] == [
        ("scaled", "replicas", 7),
        ("large", "gpus", 6),
        ("large", "replicas", 4),
    ]
    assert told == costliest(planned(scaled, large, pool=pool))
    assert told[0].told == "2 to 8 replicas, room is kept for all: 8 x 1 GPU = 8"


def test_what_costs_nothing_more_is_no_cost_and_a_rollout_that_stops_the_only_replica_is_one() -> None:
    assert [cost.decision for cost in costliest(planned({}))] == ["rollout"]
    assert costliest(planned({"replicas": 0})) == ()
    alone = costliest(planned({"rollout": {"strategy": "recreate"}}))
    assert "stops 1 replica before the new one starts" in alone[0].told


@pytest.mark.parametrize(
    ("replicas", "way", "told"),
    [(4, "surge", "has at most 4 GPUs free"), (5, "in-place", "23.0 GiB of memory are left there, and it takes")],
)
def test_a_surge_pod_is_planned_only_where_its_memory_has_a_place_too(replicas: int, way: str, told: str) -> None:
    made = planned({"replicas": replicas, "memory": "200Gi"}, pool={**POOL, "nodes": 1, "cpu": "192"}).servers[0]
    assert made.why["rollout"].value == way
    assert told in made.why["rollout"].reason
