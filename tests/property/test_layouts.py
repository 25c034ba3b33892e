"""Laws of shares and MIG layouts."""

import json
from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from interlock.infra.catalog.gpus import MigGeometry, gpus, mig_geometries
from interlock.infra.catalog.placements import layout_problem, place, starts
from interlock.infra.config.platform import GpuLayerConfig
from interlock.infra.config.pools import PoolConfig
from interlock.infra.manifests.mig import mig_config
from interlock.infra.manifests.plugin_config import plugin_config
from interlock.infra.manifests.simulated import simulated_node
from interlock.infra.plan.pools import resource_name
from interlock.infra.plan.shares import node_labels, plugin_class
from tests.support.device_plugin import advertised, config_problems

GEOMETRIES = sorted(mig_geometries().values(), key=lambda each: each.name)
CUT = [gpu for gpu in gpus() if gpu.geometry]


@st.composite
def layouts(draw: st.DrawFn) -> tuple[MigGeometry, dict[str, int]]:
    geometry = draw(st.sampled_from(GEOMETRIES))
    counts = draw(st.dictionaries(st.sampled_from([each.name for each in geometry.profiles]), st.integers(1, 7), min_size=1))
    return geometry, counts


@given(layouts())
@settings(max_examples=250, deadline=None)
def test_a_placed_layout_never_exceeds_the_slices_and_uses_only_places_that_nvidia_lists(drawn: tuple[MigGeometry, dict[str, int]]) -> None:
    geometry, layout = drawn
    placed = place(geometry, layout)
    if placed is None:
        assert layout_problem(geometry, layout)
        return
    assert layout_problem(geometry, layout) is None
    assert Counter(each.profile for each in placed) == Counter(layout)
    taken: list[int] = []
    for each in placed:
        profile = geometry.profile(each.profile)
        assert profile is not None
        assert each.size == profile.memory
        assert each.start in starts(geometry, profile)
        taken += range(each.start, each.start + each.size)
    assert len(set(taken)) == len(taken)
    assert max(taken) < geometry.memory_slices
    compute = sum(count * found.compute for name, count in layout.items() if (found := geometry.profile(name)))
    assert compute <= geometry.compute_slices


@given(layouts())
@settings(max_examples=200, deadline=None)
def test_less_of_a_layout_that_has_a_place_has_one_too(drawn: tuple[MigGeometry, dict[str, int]]) -> None:
    geometry, layout = drawn
    if place(geometry, layout) is not None:
        for name in layout:
            fewer = {key: count - (key == name) for key, count in layout.items() if count - (key == name)}
            assert not fewer or place(geometry, fewer) is not None


def test_the_most_of_each_profile_alone_has_a_place_and_one_more_has_none() -> None:
    for geometry in GEOMETRIES:
        for profile in geometry.profiles:
            assert starts(geometry, profile), (geometry.name, profile.name)
            assert place(geometry, {profile.name: profile.max_count}) is not None, (geometry.name, profile.name)
            assert place(geometry, {profile.name: profile.max_count + 1}) is None


@st.composite
def pools(draw: st.DrawFn) -> PoolConfig:
    kind = draw(st.sampled_from(["exclusive", "time-slicing", "mps", "mig"]))
    gpu = draw(st.sampled_from(CUT if kind == "mig" else list(gpus())))
    share: dict[str, object] = {"kind": kind}
    if kind in ("time-slicing", "mps"):
        share["replicas"] = draw(st.integers(2, 48))
    if kind == "mig":
        assert gpu.geometry
        profile = draw(st.sampled_from(gpu.geometry.profiles))
        share |= {"profile": profile.name, "per_card": draw(st.one_of(st.none(), st.integers(1, profile.max_count)))}
    cards = draw(st.integers(1, 16))
    return PoolConfig.model_validate({"name": "pool", "gpu": gpu.name, "nodes": 1, "gpus_per_node": cards, "share": share})


@given(pools())
@settings(max_examples=300, deadline=None)
def test_replicas_times_cards_are_the_units_that_a_node_advertises(pool: PoolConfig) -> None:
    units = int(simulated_node(pool, 0)["status"]["allocatable"][resource_name(pool)])
    config = plugin_config(pool, GpuLayerConfig())
    assert config_problems(config) == []
    if pool.share.kind == "mig":
        name, rows = next((name, rows) for name, rows in mig_config([pool])["mig-configs"].items() if name != "all-disabled")
        assert units == pool.gpus_per_node * rows[0]["mig-devices"][pool.share.profile]
        assert node_labels(pool)["nvidia.com/mig.config"] == name
    else:
        assert units == advertised(config, pool.gpus_per_node) == pool.gpus_per_node * (pool.share.replicas or 1)
    assert node_labels(pool)["nvidia.com/device-plugin.config"] == plugin_class(pool)


@given(pools(), pools())
@settings(max_examples=200, deadline=None)
def test_pools_of_one_class_have_one_config(one: PoolConfig, other: PoolConfig) -> None:
    layer = GpuLayerConfig()
    same = json.dumps(plugin_config(one, layer)) == json.dumps(plugin_config(other, layer))
    assert same == (plugin_class(one) == plugin_class(other))


@given(pools())
@settings(max_examples=300, deadline=None)
def test_labels_are_values_that_kubernetes_takes(pool: PoolConfig) -> None:
    for key, value in node_labels(pool).items():
        assert len(value) <= 63, key
        assert all(letter.isalnum() or letter in "-_." for letter in value), key
