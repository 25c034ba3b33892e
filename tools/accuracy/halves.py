"""Cross-validation: figures fitted on one half of the logs, split by where they were published, and judged on the other half."""

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from tools.accuracy.cases import Record, Scored, scored
from tools.accuracy.fit import Observation, fit, observations

TIMES = 20


@dataclass(frozen=True, slots=True)
class Judged:
    """The logs of one half with the answers of a planner that was fitted on the other."""

    cases: tuple[Scored, ...]


def halves(records: Sequence[Record], seed: int) -> tuple[list[Record], list[Record]]:
    """Two halves of about as many logs each; what was published together stays together."""
    threads: dict[str, list[Record]] = {}
    for record in records:
        threads.setdefault(record.thread, []).append(record)
    names = sorted(threads)
    random.Random(seed).shuffle(names)
    one: list[Record] = []
    other: list[Record] = []
    for name in names:
        (one if len(one) <= len(other) else other).extend(threads[name])
    return one, other


def judged(records: Sequence[Record], measured: Iterable[Record] = (), times: int = TIMES) -> tuple[Judged, ...]:
    """Each split with its judged half. ``measured``: runs of our own, which every fit may see and no half is judged on."""
    seen: dict[str, tuple[Observation, ...]] = {str(each.log["id"]): observations(each) for each in (*records, *measured)}
    beside = [each for run in measured for each in seen[str(run.log["id"])]]
    found = []
    for seed in range(times):
        learnt, asked = halves(records, seed)
        figures = fit([*beside, *(each for record in learnt for each in seen[str(record.log["id"])])])
        found.append(Judged(tuple(scored(asked, figures))))
    return tuple(found)


def pooled(splits: Iterable[Judged], keep: Callable[[Scored], bool]) -> list[Scored]:
    """The judged logs of all splits that ``keep`` takes, each as often as it was judged."""
    return [case for split in splits for case in split.cases if keep(case)]
