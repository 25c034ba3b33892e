"""Many engines in one set: what is asked of each is asked once, however many there are."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import pytest

from interlock.infra.facts import Bundle, Origin, Workload
from interlock.infra.rules.reading import planner
from tests.unit.test_rules_traps import bundle, server


def test_the_planner_is_asked_once_for_each_engine_of_a_large_set(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: Counter[str] = Counter()

    def refusals(workload: Workload, _: Bundle) -> Iterator[planner.Told]:
        asked[workload.origin.name] += 1
        return iter(())

    monkeypatch.setattr(planner, "_refusals", refusals)
    (engine,) = bundle(server()).workloads
    many = Bundle(workloads=tuple(replace(engine, origin=Origin(name=f"chat-{number}")) for number in range(1500)))
    for _ in range(2):
        for workload in many.workloads:
            planner.refusals(workload, many)
    assert len(asked) == 1500
    assert set(asked.values()) == {1}
