from decimal import Decimal

import pytest

from interlock.infra.values import GIB, binary, bytes_of, gib, quantity, seconds


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
