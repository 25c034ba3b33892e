"""How long it takes to decide and to judge a stack by its number of servers: validation, plan, and the whole preview with its rules.

usage: python -m tools.bench.plan [SERVERS ...]
"""

import datetime as dt
import statistics
import time
from collections.abc import Callable
from typing import Any

from interlock.infra.config import load
from interlock.infra.plan.plan import plan
from interlock.infra.preview import preview
from tools.bench.goals import Goal
from tools.bench.projects import of_size, stack_config, table
from tools.common import run_main, say

GOAL_MILLISECONDS = 100
GOAL_SERVERS = 100
TIMES = 5


def milliseconds(run: Callable[[], Any], times: int) -> float:
    """Median processor time of ``times`` runs after a first one, which reads the catalogue."""
    run()
    taken = []
    for _ in range(times):
        started = time.process_time()
        run()
        taken.append(time.process_time() - started)
    return 1000 * statistics.median(taken)


def measure(servers: int, times: int = TIMES) -> tuple[float, float, float]:
    """Milliseconds of (validation, plan, preview) of a stack with that many servers."""
    written = of_size(stack_config("dev"), servers)
    config = load(written)
    today = dt.date.today()
    return (
        milliseconds(lambda: load(written), times),
        milliseconds(lambda: plan(config, "bench"), times),
        milliseconds(lambda: preview(config, "bench", "bench", today=today), times),
    )


def main(arguments: list[str]) -> int:
    """Measures and prints the table."""
    rows = {size: measure(size) for size in map(int, arguments or ["10", "100"])}
    say(
        table(
            "Deciding, ms of the processor", ("servers", "validation", "plan", "preview"), [[size, *taken] for size, taken in rows.items()]
        )
    )
    if GOAL_SERVERS in rows:
        say(str(Goal(f"plan of {GOAL_SERVERS} servers", rows[GOAL_SERVERS][1], "ms", GOAL_MILLISECONDS)))
    return 0


if __name__ == "__main__":
    run_main(main)
