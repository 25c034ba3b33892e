"""A hostile document is answered, quickly and without a traceback."""

from tools.bench.hostile import MOST_SECONDS, survey
from tools.bench.hostile_documents import KINDS, hostile


def test_hostile_documents_end_in_findings_or_a_message() -> None:
    found = survey(range(60))
    assert found.faults == {}
    assert max(found.seconds.values()) < MOST_SECONDS
    assert set(found.kinds) == set(KINDS)
    assert found.findings > 100


def test_the_documents_of_a_number_are_always_the_same() -> None:
    assert [hostile(seed) for seed in range(5)] == [hostile(seed) for seed in range(5)]
    assert len({hostile(seed)[1] for seed in range(20)}) == 20
