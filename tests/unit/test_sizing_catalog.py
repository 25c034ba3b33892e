"""Catalogs: every entry says where it comes from, and names find what people mean."""

import pytest

from interlock.infra.catalog import models
from interlock.infra.catalog.gpus import gpu, gpus, mig_geometries
from interlock.infra.catalog.tables import table
from interlock.infra.catalog.versions import newest, since, value
from interlock.infra.catalog.vllm_defaults import batch_defaults
from interlock.infra.values import Version

ASKED = (
    *("T4", "V100", "A10", "A30", "A40", "A100 40GB", "A100 80GB", "L4", "L20", "L40S", "RTX 3090", "RTX 4090", "RTX 5090", "RTX 6000 Ada"),
    *("RTX PRO 6000", "H20", "H100 SXM", "H100 PCIe", "H100 NVL", "H200", "GH200", "B200", "B300", "GB200", "GB10"),
)


def test_every_gpu_and_slice_has_source_and_date() -> None:
    assert [card.name for card in gpus() if not (card.source and card.date)] == []
    assert [geometry.name for geometry in mig_geometries().values() if not (geometry.source and geometry.date)] == []


def test_every_model_has_source_and_date() -> None:
    entries = [models.entry(name) for name in models.names()]
    assert [found for found in entries if found is None or not (found.source and found.date)] == []


def test_memory_as_reported_is_below_the_nameplate_and_ordered() -> None:
    for card in gpus():
        assert card.memory_gib.low <= card.memory_gib.likely <= card.memory_gib.high
        assert card.nameplate_gb is None or card.memory_gib.high <= card.nameplate_gb


@pytest.mark.parametrize("name", ASKED)
def test_the_gpus_people_use_are_known(name: str) -> None:
    assert gpu(name) is not None


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("NVIDIA-H100-80GB-HBM3", "H100 80GB SXM"),
        ("NVIDIA A100-SXM4-40GB", "A100 40GB"),
        ("NVIDIA A100-SXM4-80GB", "A100 80GB"),
        ("H100-NVL-94GB", "H100 NVL"),
        ("nvidia-geforce-rtx-4090", "RTX 4090"),
        ("RTX PRO 6000 Blackwell 96GB (97,887 MiB)", "RTX PRO 6000 Blackwell"),
    ],
)
def test_labels_and_product_names_find_the_card(name: str, found: str) -> None:
    card = gpu(name)
    assert card is not None
    assert card.name == found


def test_a_model_in_brackets_behind_a_name_of_ones_own_is_found_and_a_word_among_others_is_not() -> None:
    found = models.find("our-chat (v2, Qwen/Qwen3-8B-AWQ)")
    assert found is not None
    assert (found.quantization, found.config["hidden_size"]) == ("awq", 4096)
    assert models.find("our-chat (like Qwen3-8B)") is None
    assert models.find("our-chat ()") is None


def test_a_mig_layout_that_cannot_exist_says_why() -> None:
    card = gpu("A100-80GB")
    assert card is not None
    assert card.geometry is not None
    assert card.geometry.problem({"3g.40gb": 1, "2g.20gb": 1, "1g.10gb": 2}) is None
    assert "memory slices" in (card.geometry.problem({"3g.40gb": 2, "1g.10gb": 1}) or "")
    assert "at most 7" in (card.geometry.problem({"mig-1g.10gb": 8}) or "")
    assert "not a profile" in (card.geometry.problem({"1g.5gb": 1}) or "")


def test_values_move_with_the_version() -> None:
    assert value("utilization", Version(0, 19)) == 0.9
    assert value("utilization", Version(0, 33)) == value("utilization", Version(0, 20, 0)) == 0.92


def test_a_change_is_there_from_its_version_on_and_in_the_builds_before_that_release() -> None:
    assert not since("block_held_back", Version(0, 28, 1))
    assert since("block_held_back", Version(0, 29))
    early = Version.parse("0.29.0rc1")
    assert early is not None
    assert since("block_held_back", early)


def test_a_change_that_was_undone_ends() -> None:
    assert [since("mamba_all_mode", Version(0, minor)) for minor in (13, 14, 27, 28)] == [False, True, True, False]


def test_a_name_that_the_table_does_not_have_is_an_error() -> None:
    with pytest.raises(KeyError):
        since("no_such_change", newest())


def test_every_switch_tells_what_it_changes_and_where_that_was_read() -> None:
    for name, row in table("versions.json")["switches"].items():
        assert row["what"], name
        assert row["source"], name
        versions = [Version.parse(text) for text in (row.get("steps") or {row["since"]: 1, row.get("until", "9999.0"): 2})]
        assert versions == sorted(versions, key=lambda version: version or ()), name
        assert all(str(version) != "None" for version in versions), name


def test_an_a100_keeps_the_small_batch_defaults() -> None:
    assert batch_defaults(newest(), 79.2, "A100 80GB", 8.0) == (2048, 8192, 256)
    assert batch_defaults(newest(), 79.2, "H100 80GB SXM", 9.0) == (8192, 16384, 1024)
    assert batch_defaults(newest(), 178.3, "B200", 10.0) == (16384, 16384, 1024)
    assert batch_defaults(Version(0, 27, 1), 178.3, "B200", 10.0) == (8192, 16384, 1024)


def test_long_lists_of_the_catalog_are_expanded_by_their_period() -> None:
    found = models.entry("openai/gpt-oss-120b")
    assert found is not None
    assert found.config["layer_types"] == ["sliding_attention", "full_attention"] * 18
