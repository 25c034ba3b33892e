"""Catalogs: every entry says where it comes from, and names find what people mean."""

import pytest

from interlock.infra.catalog import models
from interlock.infra.catalog.gpus import gpu, gpus, mig_geometries
from interlock.infra.catalog.vllm_defaults import batch_defaults, parse_version, switch

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


def test_a_mig_layout_that_cannot_exist_says_why() -> None:
    card = gpu("A100-80GB")
    assert card is not None
    assert card.geometry is not None
    assert card.geometry.problem({"3g.40gb": 1, "2g.20gb": 1, "1g.10gb": 2}) is None
    assert "memory slices" in (card.geometry.problem({"3g.40gb": 2, "1g.10gb": 1}) or "")
    assert "at most 7" in (card.geometry.problem({"mig-1g.10gb": 8}) or "")
    assert "not a profile" in (card.geometry.problem({"1g.5gb": 1}) or "")


@pytest.mark.parametrize(
    ("words", "version"),
    [
        ("0.33.0", (0, 33, 0)),
        ("v0.11", (0, 11, 0)),
        ("0.26.1rc1.dev608", (0, 26, 1)),
        (">=0.27", (0, 27, 0)),
        ("2026-08-22", None),
        ("none", None),
    ],
)
def test_versions_in_words_are_read(words: str, version: tuple[int, int, int] | None) -> None:
    assert parse_version(words) == version


def test_defaults_move_with_the_version() -> None:
    assert switch("utilization", (0, 19, 0)) == 0.9
    assert switch("utilization", (0, 33, 0)) == 0.92


def test_an_a100_keeps_the_small_batch_defaults() -> None:
    assert batch_defaults((0, 33, 0), 79.2, "A100 80GB", 8.0) == (2048, 8192, 256)
    assert batch_defaults((0, 33, 0), 79.2, "H100 80GB SXM", 9.0) == (8192, 16384, 1024)
    assert batch_defaults((0, 33, 0), 178.3, "B200", 10.0) == (16384, 16384, 1024)
    assert batch_defaults((0, 27, 1), 178.3, "B200", 10.0) == (8192, 16384, 1024)


def test_long_lists_of_the_catalog_are_expanded_by_their_period() -> None:
    found = models.entry("openai/gpt-oss-120b")
    assert found is not None
    assert found.config["layer_types"] == ["sliding_attention", "full_attention"] * 18
