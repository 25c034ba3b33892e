"""The GPU layer: plugin configs, their checks, the DaemonSets, and the labels that nodes carry."""

import json
from typing import Any

import pytest

from interlock.infra.config import ClusterConfig, load
from interlock.infra.manifests.bundles import gpu_layer, missing_classes
from interlock.infra.manifests.device_plugin import device_plugin_objects
from interlock.infra.manifests.plugin_config import plugin_configs
from interlock.infra.plan.shares import discovered_labels, our_labels, plugin_class
from tests.support.device_plugin import advertised, config_problems

SLICED = {"name": "sliced", "gpu": "l4", "nodes": 2, "gpus_per_node": 1, "share": {"kind": "time-slicing", "replicas": 4}}
WHOLE = {"name": "whole", "gpu": "h100", "nodes": 1, "gpus_per_node": 8}
SERVED = {"name": "served", "gpu": "l40s", "nodes": 1, "gpus_per_node": 4, "share": {"kind": "mps", "replicas": 2}}
CUT = {"name": "cut", "gpu": "a100", "nodes": 1, "gpus_per_node": 8, "share": {"kind": "mig", "profile": "1g.10gb"}}


def platform(*pools: dict[str, Any], **layer: Any) -> ClusterConfig:
    chosen = {"kind": "device-plugin", "mig": "manager"} | layer
    base = {"target": {"local": "dev"}, "namespace": "ml", "scope": "platform"}
    return load(base | {"pools": list(pools), "platform": {"gpu_layer": chosen}})


def objects(*pools: dict[str, Any], **layer: Any) -> dict[tuple[str, str], dict[str, Any]]:
    made = device_plugin_objects(platform(*pools, **layer), "plat")
    return {(each["kind"], each["metadata"]["name"]): each for each in made}


def only(made: dict[tuple[str, str], dict[str, Any]], kind: str) -> dict[str, Any]:
    found = [each for (of, _), each in made.items() if of == kind]
    assert len(found) == 1
    return found[0]


def test_each_class_of_nodes_has_its_entry_and_pools_of_one_class_share_it() -> None:
    config = platform(WHOLE, SLICED, SERVED, CUT, {**SLICED, "name": "more"})
    assert list(plugin_configs(config.pools, config.platform.gpu_layer)) == ["exclusive", "mig", "mps-2", "time-slicing-4"]


def test_a_sliced_class_refuses_requests_above_one_and_renames_nothing() -> None:
    config = platform(SLICED)
    made = json.loads(plugin_configs(config.pools, config.platform.gpu_layer)["time-slicing-4"])
    sharing = made["sharing"]["timeSlicing"]
    assert sharing == {
        "renameByDefault": False,
        "failRequestsGreaterThanOne": True,
        "resources": [{"name": "nvidia.com/gpu", "replicas": 4}],
    }
    assert advertised(made, cards=8) == 32


def test_a_mig_class_uses_the_mixed_strategy() -> None:
    config = platform(CUT)
    made = json.loads(plugin_configs(config.pools, config.platform.gpu_layer)["mig"])
    assert made["flags"]["migStrategy"] == "mixed"
    assert "sharing" not in made


def test_devices_go_by_cdi_unless_it_is_switched_off() -> None:
    for cdi, strategy in ((True, ["cdi-cri"]), (False, ["envvar"])):
        config = platform(WHOLE, cdi=cdi)
        made = json.loads(plugin_configs(config.pools, config.platform.gpu_layer)["exclusive"])
        assert made["flags"]["plugin"]["deviceListStrategy"] == strategy


def test_every_config_that_we_render_passes_our_own_checks() -> None:
    config = platform(WHOLE, SLICED, SERVED, CUT)
    for text in plugin_configs(config.pools, config.platform.gpu_layer).values():
        assert config_problems(json.loads(text)) == []


VALID: dict[str, Any] = {
    "version": "v1",
    "flags": {"migStrategy": "none", "plugin": {"deviceListStrategy": "envvar", "deviceIDStrategy": "uuid"}},
    "sharing": {"timeSlicing": {"resources": [{"name": "nvidia.com/gpu", "replicas": 2}]}},
}


def mutated(path: str, value: Any) -> dict[str, Any]:
    made = json.loads(json.dumps(VALID))
    *parents, last = path.split("/")
    place = made
    for part in parents:
        place = place[int(part)] if part.isdigit() else place.setdefault(part, {})
    place[last] = value
    return dict(made)


ROW = "sharing/timeSlicing/resources/0"


@pytest.mark.parametrize(
    ("path", "value", "where", "says"),
    [
        ("version", "v2", "version", "not a version"),
        ("sharings", {}, "sharings", "does not know"),
        ("flags/migStrategi", "none", "flags.migStrategi", "does not know"),
        ("flags/plugin/deviceListStrategi", "envvar", "flags.plugin.deviceListStrategi", "does not know"),
        ("flags/migStrategy", "all", "flags.migStrategy", "not one of none, single, mixed"),
        ("flags/plugin/deviceListStrategy", ["cdi"], "flags.plugin.deviceListStrategy", "not one of envvar"),
        ("resources", {"gpus": []}, "resources", "ignores it"),
        (f"{ROW}/replicas", 1, "sharing.timeSlicing.resources[0].replicas", "at least 2"),
        (f"{ROW}/replicas", True, "sharing.timeSlicing.resources[0].replicas", "at least 2"),
        (f"{ROW}/rename", "nvidia.com/shared", "sharing.timeSlicing.resources[0].rename", "ignores it"),
        (f"{ROW}/devices", [0], "sharing.timeSlicing.resources[0].devices", "ignores it"),
        (f"{ROW}/replica", 4, "sharing.timeSlicing.resources[0].replica", "does not know"),
        (f"{ROW}/name", "nvidia.com/cards", "sharing.timeSlicing.resources[0].name", "cannot be shared"),
        ("sharing/timeSlicing/resources", [], "sharing.timeSlicing.resources", "does not start"),
        ("sharing/mps", {"resources": [{"name": "nvidia.com/gpu", "replicas": 2}]}, "sharing", "exclude each other"),
    ],
)
def test_what_the_plugin_refuses_or_ignores_is_a_problem_at_its_field(path: str, value: Any, where: str, says: str) -> None:
    assert config_problems(VALID) == []
    problems = [(problem.path, says in problem.message) for problem in config_problems(mutated(path, value))]
    assert (where, True) in problems


def test_mps_shares_whole_cards_only_and_serves_at_most_48_clients() -> None:
    for row, says in (
        ({"name": "nvidia.com/mig-1g.10gb", "replicas": 2}, "cannot be shared"),
        ({"name": "nvidia.com/gpu", "replicas": 49}, "48"),
    ):
        problems = config_problems({"version": "v1", "sharing": {"mps": {"resources": [row]}}})
        assert [problem for problem in problems if says in problem.message]


def test_a_changed_config_makes_another_config_map_and_restarts_the_plugin() -> None:
    before, after = objects(SLICED), objects({**SLICED, "share": {"kind": "time-slicing", "replicas": 2}})
    assert only(before, "ConfigMap")["metadata"]["name"] != only(after, "ConfigMap")["metadata"]["name"]
    templates = [only(made, "DaemonSet")["spec"]["template"]["metadata"]["annotations"] for made in (before, after)]
    assert templates[0] != templates[1]
    assert only(before, "ConfigMap")["immutable"] is True


def test_the_plugin_runs_on_the_nodes_of_its_pools_and_tolerates_their_taints() -> None:
    made = only(objects(WHOLE, {**SLICED, "taints": ["gpu.example/l4"]}), "DaemonSet")
    pod = made["spec"]["template"]["spec"]
    row = pod["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"][0]["matchExpressions"][0]
    assert row == {"key": "interlock.dev/pool", "operator": "In", "values": ["sliced", "whole"]}
    assert [each["key"] for each in pod["tolerations"]] == ["gpu.example/l4", "nvidia.com/gpu", "CriticalAddonsOnly"]
    assert pod["runtimeClassName"] == "nvidia"


def test_each_selector_matches_exactly_its_own_pods() -> None:
    sets = [each for (kind, _), each in objects(WHOLE, SERVED).items() if kind == "DaemonSet"]
    assert len(sets) == 2
    for one in sets:
        wanted = one["spec"]["selector"]["matchLabels"].items()
        matching = [other for other in sets if wanted <= other["spec"]["template"]["metadata"]["labels"].items()]
        assert matching == [one]


def test_the_mps_daemon_comes_only_with_a_pool_that_needs_it() -> None:
    assert ("DaemonSet", "plat-mps-control-daemon") not in objects(WHOLE, SLICED)
    daemon = objects(WHOLE, SERVED)["DaemonSet", "plat-mps-control-daemon"]
    assert daemon["spec"]["template"]["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][
        "nodeSelectorTerms"
    ][0]["matchExpressions"][0]["values"] == ["served"]


def test_an_installed_layer_makes_nothing() -> None:
    assert objects(WHOLE, SLICED, kind="installed") == {}


def test_an_installed_layer_must_have_the_class_of_every_shared_pool_as_a_key() -> None:
    layer = gpu_layer(platform(WHOLE, SLICED, SERVED, kind="installed", namespace="gpu-operator", config_map="plugin"), "plat")
    assert layer.check == "gpu-operator/plugin"
    assert missing_classes(layer, frozenset({"time-slicing-4", "mps-2"})) == []
    assert missing_classes(layer, frozenset({"default", "mps-2"})) == [
        "pool sliced needs the plugin config 'time-slicing-4', which is not a key of ConfigMap gpu-operator/plugin; it has default, mps-2"
    ]


def test_a_pool_of_claims_is_not_the_plugins() -> None:
    assert objects({**WHOLE, "allocation": "claim"}) == {}


@pytest.mark.parametrize(
    ("pool", "expected"),
    [
        (WHOLE, {"product": "NVIDIA-H100-80GB-HBM3", "replicas": "1", "sharing-strategy": "none", "count": "8", "memory": "81559"}),
        (
            SLICED,
            {"product": "NVIDIA-L4-SHARED", "replicas": "4", "sharing-strategy": "time-slicing", "count": "1", "family": "ada-lovelace"},
        ),
        (SERVED, {"product": "NVIDIA-L40S-SHARED", "replicas": "2", "sharing-strategy": "mps", "count": "4"}),
        (CUT, {"product": "NVIDIA-A100-SXM4-80GB", "replicas": "0", "sharing-strategy": "none", "family": "ampere"}),
    ],
)
def test_nodes_carry_what_gpu_feature_discovery_would_write(pool: dict[str, Any], expected: dict[str, str]) -> None:
    labels = discovered_labels(platform(pool).pools[0])
    assert {key: labels[f"nvidia.com/gpu.{key}"] for key in expected} == expected


def test_a_mig_node_names_its_instances_by_their_own_resource() -> None:
    labels = discovered_labels(platform(CUT).pools[0])
    assert labels["nvidia.com/mig-1g.10gb.count"] == "56"
    assert labels["nvidia.com/mig-1g.10gb.product"] == "NVIDIA-A100-SXM4-80GB-MIG-1g.10gb"
    assert labels["nvidia.com/mig.strategy"] == "mixed"


def test_we_write_our_own_labels_and_the_two_config_labels_only() -> None:
    for pool in platform(WHOLE, SLICED, SERVED, CUT).pools:
        ours = our_labels(pool)
        assert {key for key in ours if not key.startswith("interlock.dev/")} <= {"nvidia.com/device-plugin.config", "nvidia.com/mig.config"}
        assert not ours.keys() & discovered_labels(pool).keys()
        assert ours["nvidia.com/device-plugin.config"] == plugin_class(pool)


def test_layouts_go_into_a_namespace_that_is_there_or_named() -> None:
    from interlock.infra.manifests.mig import mig_objects

    made = {kind: mig_objects(platform(CUT, kind=kind), "plat") for kind in ("installed", "device-plugin")}
    assert made["installed"] == []
    assert [each["metadata"]["namespace"] for each in made["device-plugin"]] == ["gpu-system"]
    named = mig_objects(platform(CUT, kind="installed", namespace="gpu-operator"), "plat")
    assert [(each["metadata"]["namespace"], each["metadata"]["name"]) for each in named] == [("gpu-operator", "plat-mig-parted")]
