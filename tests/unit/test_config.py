import copy
from pathlib import Path
from typing import Any

import pytest

from interlock.infra.config import ClusterConfig, load
from interlock.infra.errors import ConfigError
from interlock.stacks.model_files import read_cluster

GOOD: dict[str, Any] = {
    "target": {"local": "dev"},
    "namespace": "dev",
    "pools": [{"name": "l4", "gpu": "l4", "gpus_per_node": 1, "nodes": 1}],
    "stores": [{"name": "weights", "filled": "a test"}],
    "servers": [{"name": "chat", "model": {"id": "m", "unsized": "a test"}, "pool": "l4"}],
}


def changed(path: tuple[str | int, ...], value: object) -> dict[str, Any]:
    data = copy.deepcopy(GOOD)
    place: Any = data
    for part in path[:-1]:
        place = place[part]
    place[path[-1]] = value
    return data


def messages(data: object) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        load(data, "Pulumi.dev.yaml")
    assert caught.value.exit_code == 2
    return [str(problem) for problem in caught.value.problems]


def test_a_good_configuration_loads_and_survives_json() -> None:
    config = load(GOOD)
    assert ClusterConfig.model_validate_json(config.model_dump_json()) == config


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("pools", 0, "gpus_per_node"), "many", "pools[0].gpus_per_node: 'many'"),
        (("pools", 0, "gpus_per_node"), 17, "pools[0].gpus_per_node: 17 is out of range: it must be at most 16"),
        (
            ("servers", 0, "engine"),
            {"max_model_len": 10**21},
            "engine.max_model_len: 1000000000000000000000 is out of range: it must be at most",
        ),
        (("servers", 0, "engine"), {"max_num_seqs": 10**21}, "engine.max_num_seqs: 1000000000000000000000 is out of range"),
        (("pools", 0, "name"), 5, "pools[0].name: 5 is not text: put it in quotes"),
        (("pools", 0, "memory"), "1024", "pools[0].memory: '1024' is less than 1Mi: a unit is missing"),
        (("pools", 0, "memory"), "1e30", "is larger than Kubernetes can hold"),
        (("pools", 0, "gpu_memory"), "80Mi", "'80Mi' is not the memory of a GPU: between 1Gi and 4Ti"),
        (("pools", 0, "labels"), {"a b": "c"}, "pools[0].labels.a b: 'a b' is not a key such as team"),
        (("pools", 0, "labels"), {"a": "b c"}, "'b c' cannot be a label's value"),
        (("pools", 0, "taints"), "nvidia.com/gpu", "pools[0].taints: 'nvidia.com/gpu' is not a list"),
        (("pools", 0, "node_names"), ["Node 1"], "'Node 1' cannot name an object"),
        (("pools",), None, "pools: is empty: a list belongs here"),
        (("servers", 0, "model"), "org/model", "servers[0].model: 'org/model' is not a mapping"),
        (("servers", 0, "model", "id"), "org/model ", "begins or ends with a space"),
        (("servers", 0, "model", "weights_gib"), 1e300, "must be at most 100000"),
        (("servers", 0, "image"), {"reference": "vllm openai"}, "'vllm openai' is not an image reference"),
        (("servers", 0, "image"), {"pull_policy": "allways"}, "is not one of 'Always', 'IfNotPresent' or 'Never'"),
        (("servers", 0, "autoscale"), {"max_replicas": 1.5}, "1.5 is not an integer"),
        (("namespace",), "kube-system", "'kube-system' is there in every cluster and cannot be made"),
        (("waivers",), [{"code": "GPU-1", "reason": "because"}], "'GPU-1' is not a code such as GPU-001"),
        (("waivers",), [{"code": "GPU-001", "reason": "because", "expires": "tomorrow"}], "'tomorrow' is not a date such as 2027-01-31"),
        (("pools", 0, "shar"), {}, "pools[0].shar: unknown key; did you mean share?"),
        (
            ("servers", 0, "engine"),
            {"tensor_parallel": 2},
            "servers[0].engine.tensor_parallel: unknown key; did you mean tensor_parallel_size?",
        ),
        (("servers", 0, "pool"), "h100", "servers[0].pool: 'h100' is not a pool of this stack; pools: l4"),
        (("servers", 0, "weights"), "nfs", "servers[0].weights: 'nfs' is not a store of this stack; stores: weights"),
        (("servers", 0, "name"), "Chat", "servers[0].name: 'Chat' is not a DNS label"),
        (("servers", 0, "name"), "c" * 64, "servers[0].name: '" + "c" * 64 + "' has 64 characters; at most 63 fit"),
        (("servers", 0, "name"), "c" * 60, "at most 47 leave room for what we append"),
        (("namespace",), "x" * 64, "namespace: '" + "x" * 64 + "' has 64 characters"),
        (("target",), {"local": "dev", "context": "prod"}, "target: name exactly one of local"),
        (("target",), {}, "target: name exactly one of local"),
        (("pools", 0, "memory"), "16 gigs", "pools[0].memory: '16 gigs' is not a Kubernetes quantity"),
        (("pools",), [], "pools"),
        (("servers", 0, "model"), {}, "servers[0].model.id: is required and missing"),
        (
            ("servers", 0, "autoscale"),
            {"min_replicas": 3, "max_replicas": 2},
            "servers[0].autoscale: min_replicas 3 is above max_replicas 2",
        ),
        (("servers", 0, "replicas"), True, "servers[0].replicas: True: a number is meant"),
        (("servers", 0, "wishes"), {"concurrent": 10**9}, "servers[0].wishes.concurrent: 1000000000 is out of range: it must be at most"),
        (("servers", 0, "engine"), {"max_model_len": "32kk"}, "servers[0].engine.max_model_len: '32kk' is not an integer such as 32768"),
        (
            ("servers", 0, "engine"),
            {"max_model_len": "-1k"},
            "servers[0].engine.max_model_len: -1000 is out of range: it must be at least -1",
        ),
        (("waivers",), [{"code": "GPU-001"}], "waivers[0].reason: is required and missing"),
        (("servers", 0, "engine"), {"max_loras": 4}, "without enable_lora"),
        (("version",), 2, "version"),
    ],
)
def test_a_fault_is_named_by_field_value_and_reason(path: tuple[str | int, ...], value: object, message: str) -> None:
    found = messages(changed(path, value))
    assert any(message in each for each in found), found
    assert all(each.endswith("(Pulumi.dev.yaml)") for each in found)


@pytest.mark.parametrize(("written", "meant"), [("32k", 32000), ("32K", 32768), ("16384", 16384), (8192, 8192)])
def test_a_length_of_a_stack_is_read_as_vllms_parser_reads_it(written: object, meant: int) -> None:
    assert load(changed(("servers", 0, "engine"), {"max_model_len": written})).servers[0].engine.max_model_len == meant


def test_replicas_outside_the_bounds_of_the_autoscaler_are_refused_where_they_were_written() -> None:
    data = changed(("servers", 0, "autoscale"), {"min_replicas": 2, "max_replicas": 3})
    load(data)
    data["servers"][0]["replicas"] = 4
    (found,) = messages(data)
    assert "replicas 4 is not between autoscale.min_replicas 2 and max_replicas 3" in found


def test_a_plain_number_is_a_quantity_and_existing_namespaces_may_be_used() -> None:
    assert load(changed(("pools", 0, "cpu"), 96)).pools[0].cpu == "96"
    assert load({**GOOD, "namespace": "default", "create_namespace": False}).namespace == "default"


@pytest.mark.parametrize("config", [{}, {"hidden_size": "big"}, {"hidden_size": 64, "num_hidden_layers": -1, "vocab_size": 10}])
def test_an_own_config_without_the_shapes_of_a_model_is_refused(config: dict[str, Any]) -> None:
    (found,) = messages(changed(("servers", 0, "model"), {"id": "m", "config": config}))
    assert found.startswith("servers[0].model.config: does not say the shapes of a model (")
    assert "num_hidden_layers" in found
    load(changed(("servers", 0, "model"), {"id": "m", "config": config, "unsized": "a test"}))


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("ROLL-001.least_seconds", "many", "'many' is not a number of 0 or more, such as 120"),
        ("ROLL-001.least_secs", 5, "ROLL-001 has no setting 'least_secs'; it has: least_seconds, cap_seconds, severity"),
        ("ROL-001.least_seconds", 5, "'ROL-001' is not the code of a rule (near: ROLL-001"),
        ("GPU-001.severity", "low", "'low' is not one of error, warning, info, off"),
    ],
)
def test_a_setting_of_no_rule_or_of_another_type_is_refused(name: str, value: object, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_cluster({**GOOD, "rules": {name: value}}, Path(), "Pulumi.dev.yaml")
    assert message in str(caught.value)


def test_a_waiver_of_no_finding_is_refused_and_those_of_findings_are_taken() -> None:
    waivers = [{"code": code, "reason": "because"} for code in ("XXX-999", "GPU-001", "GPU-108", "CHECK-001")]
    with pytest.raises(ConfigError) as caught:
        read_cluster({**GOOD, "waivers": waivers}, Path(), "Pulumi.dev.yaml")
    assert [problem.path for problem in caught.value.problems] == ["waivers[0].code"]


def test_every_problem_is_listed_and_not_only_the_first() -> None:
    data = changed(("pools", 0, "nodes"), 0)
    data["servers"][0]["gpus"] = -1
    data["surprise"] = True
    assert len(messages(data)) == 3


@pytest.mark.parametrize("kind", ["pools", "stores", "servers"])
def test_a_name_that_is_used_twice_is_refused(kind: str) -> None:
    data = copy.deepcopy(GOOD)
    data[kind].append(copy.deepcopy(data[kind][0]))
    assert any(f"{kind}[1].name" in each and "is already the name of" in each for each in messages(data))


@pytest.mark.parametrize(("data", "kind"), [("text", "text"), ([], "a list"), (None, "empty"), (3, "a number"), (True, "true or false")])
def test_a_configuration_that_is_no_mapping_is_refused(data: object, kind: str) -> None:
    assert messages(data) == [f"interlock:cluster: is {kind}, not a mapping with keys such as pools and servers (Pulumi.dev.yaml)"]


def test_a_platform_stack_has_no_servers() -> None:
    assert any("scope serving" in each for each in messages({**GOOD, "scope": "platform"}))


DIGEST = "@sha256:" + "0" * 64
UNPINNED: list[tuple[str, dict[str, Any]]] = [
    ("servers[0].image.reference", changed(("servers", 0, "image"), {"reference": "r.example.com/vllm:v1"})),
    ("stores[0].image", changed(("stores", 0), {"name": "weights", "kind": "image", "image": "r.example.com/weights:1"})),
    ("stores[0].prefetch[0].image", changed(("stores", 0, "prefetch"), [{"model": "a/b", "revision": "0123456", "image": "python:3.12"}])),
    ("platform.gpu_layer.image", changed(("platform",), {"gpu_layer": {"kind": "device-plugin", "image": "r.example.com/plugin"}})),
]


@pytest.mark.parametrize(("path", "data"), UNPINNED, ids=[path for path, _ in UNPINNED])
def test_production_refuses_an_image_that_is_named_without_a_digest(path: str, data: dict[str, Any]) -> None:
    (found,) = messages({**data, "production": True})
    assert found.startswith(f"{path}: ")
    assert "has no digest" in found
    assert "@sha256:..." in found
    load(data)


def test_production_takes_images_with_a_digest_and_those_of_the_tracks() -> None:
    load({**GOOD, "production": True})
    load({**changed(("servers", 0, "image"), {"reference": "r.example.com/vllm:v1" + DIGEST}), "production": True})


@pytest.mark.parametrize("value", ["0", "-1Gi", "0m", "many"])
@pytest.mark.parametrize("path", [("servers", 0, "memory"), ("servers", 0, "shm"), ("pools", 0, "cpu"), ("stores", 0, "size")])
def test_a_quantity_is_above_zero_wherever_one_is_written(path: tuple[str | int, ...], value: str) -> None:
    assert "is not above zero" in messages(changed(path, value))[0] or "is not a Kubernetes quantity" in messages(changed(path, value))[0]
