from decimal import Decimal

import pytest

from interlock.infra.values import GIB, Version, binary, bytes_of, gib, quantity, seconds


@pytest.mark.parametrize(
    ("text", "number"),
    [("2", "2"), ("500m", "0.5"), ("2Gi", str(2 * GIB)), ("1e3", "1000"), ("1.5", "1.5"), (4, "4"), ("100k", "100000"), (".5", "0.5")],
)
def test_a_kubernetes_quantity_becomes_its_plain_number(text: str | int, number: str) -> None:
    assert quantity(text) == Decimal(number)


@pytest.mark.parametrize("text", ["", "abc", "1GB", "2 Gi", "1Gib", "--1", True])
def test_what_is_no_quantity_is_refused_with_examples(text: str) -> None:
    with pytest.raises(ValueError, match=r"quantity"):
        quantity(text)


def test_sizes_are_written_as_the_shortest_exact_quantity() -> None:
    assert [binary(size) for size in (16 * GIB, 512 * 1024**2, 1023, 0)] == ["16Gi", "512Mi", "1023", "0"]
    assert gib(1.5 * GIB) == "1.5 GiB"
    assert bytes_of("1.5Gi") == 1610612736


@pytest.mark.parametrize(
    ("text", "number"), [("600s", 600), ("10m", 600), ("1h30m", 5400), ("500ms", 0.5), ("60", 60), (15, 15), ("1m30s", 90)]
)
def test_a_duration_becomes_seconds(text: str | int, number: float) -> None:
    assert seconds(text) == number


@pytest.mark.parametrize("text", ["", "s", "ten minutes", "5x"])
def test_what_is_no_duration_is_refused_with_examples(text: str) -> None:
    with pytest.raises(ValueError, match="not a duration"):
        seconds(text)


def test_versions_sort_as_releases_do() -> None:
    order = [
        "0.8.5",
        "0.8.5.post1",
        "0.9.0.dev3",
        "0.9.0a1",
        "0.9.0rc1",
        "0.9.0rc2",
        "0.9.0",
        "0.10.1",
        "0.10.1.1",
        "0.10.2",
        "v0.33.0-cu129",
    ]
    read = [Version.parse(text) for text in order]
    assert None not in read
    assert read == sorted(read, key=lambda version: version or ())


@pytest.mark.parametrize("tag", ["v0.33.0-cu129", "0.33.0+cu130", "0.33.0", "0.33", "0.33.0-amd64", "v0.33.0-rocm7", "0.33.0-devel"])
def test_what_follows_a_release_in_a_tag_is_no_part_of_it(tag: str) -> None:
    assert Version.parse(tag) == Version(0, 33)


@pytest.mark.parametrize("text", ["latest", "nightly-0.33.0", "", "v", "sha256:0a", "12"])
def test_a_tag_without_a_version_at_its_start_has_none(text: str) -> None:
    assert Version.parse(text) is None


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("v0.11", Version(0, 11)),
        ("v0.9.0.1-cu124", Version(0, 9, 0, 1)),
        (">=0.27", Version(0, 27)),
        ("vllm 0.11.0 on H100", Version(0, 11)),
        ("2026-08-22", None),
        ("2024.05", None),
        ("none", None),
    ],
)
def test_a_version_is_found_in_a_text(text: str, version: Version | None) -> None:
    assert Version.find(text) == version


@pytest.mark.parametrize("text", ["0.33.0", "0.26.1rc1", "0.9.0.1", "0.8.5.post1", "0.27.0.dev12"])
def test_a_version_is_told_as_it_is_written(text: str) -> None:
    assert str(Version.parse(text)) == text


def test_a_build_belongs_to_its_release() -> None:
    built = Version.find("0.26.1rc1.dev608")
    assert built is not None
    assert built < built.release == Version(0, 26, 1)
