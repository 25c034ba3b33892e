"""A tenant with a hundred times the load of another, in virtual time."""

from pathlib import Path

import pytest

from tools.runtime.fairness import Crowd, waits


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INTERLOCK_BOARD", str(tmp_path))


def test_it_raises_the_others_p99_by_at_most_a_fifth_and_without_limits_by_far_more(tmp_path: Path) -> None:
    crowd = Crowd(requests=300)
    alone = waits(tmp_path, crowd, 0, limited=True)
    crowded = waits(tmp_path, crowd, 100, limited=True)
    bare = waits(tmp_path, Crowd(requests=60), 100, limited=False)
    assert alone == (1.0, 1.0, 0)
    assert crowded[1] <= 1.2 * alone[1]
    assert crowded[2] <= 2  # before anybody knew of it
    assert bare[1] > 20 * alone[1]
