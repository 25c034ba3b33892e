"""What order and shares do for the requests of a real engine: vLLM on this machine's processors, with a standing queue.

usage: python -m tools.bench.gate_real [order] [shares] [rate] [N]      (default: all three, 120 short requests in each cell)

`order` and `shares` start the real vLLM (python -m tools.engine_env builds it), `rate` an engine that pretends, on one core.
"""

import asyncio
import contextlib
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from interlock.infra.facts.supervisor import ACCOUNT, ARCHIVE, KEYS, LIMITS, PRIORITY
from interlock.infra.manifests import archive as packer
from interlock.runtime.gate import watched
from tools.bench.goals import Goal
from tools.bench.projects import table
from tools.common import ToolError, run_main, say
from tools.runtime import contract, pace
from tools.runtime.crowd import Crowd, Seen, cpu, part, run
from tools.runtime.real import container
from tools.runtime.testing import Container, pretend

SHORTS = 120
RATE_SECONDS = 10.0
ORDERED = ("--scheduling-policy", "priority")
QUARTERS = "priority, long prompts in quarters"
FULL = 0.95
CLIENTS = 48
RATE = 500
"""Requests in a second."""


@dataclass(frozen=True)
class Stage:
    """What is measured: an engine of so many ``places`` and tokens in a ``step``, and long and short requests.

    ``queues``: long requests that wait at any time, beside those that run; ``held``: how many of these are held against the goals.
    """

    make: Callable[[Path, Path], Container]
    crowd: Mapping[str, Any]
    places: int = 16
    step: int = 256
    queues: tuple[int, ...] = (8, 16, 32)
    held: int = 3
    common: tuple[str, ...] = ()
    """Further arguments of the engine."""
    tries: int = 3
    """How often a cell is measured at most: with less than FULL of a step's tokens in a step there was no standing queue, because the
    clients or the API server were held up by what else the machine does."""

    def ways(self) -> dict[str, tuple[tuple[str, ...], tuple[str, ...]]]:
        """(arguments, further classes) of each way."""
        quarters = (*ORDERED, "--long-prefill-token-threshold", str(self.step // 4))
        return {"fcfs": ((), ()), "priority": (ORDERED, (PRIORITY,)), QUARTERS: (quarters, (PRIORITY,))}


def on_processors(archive: Path, folder: Path) -> Container:
    """The real vLLM of the engine environment, with the tiny model."""
    made = container(archive, folder, access=str(folder))
    made.served, made.patience = "chat", 900
    return made


PROCESSORS = Stage(
    on_processors,
    {"long_prompt": 800, "long_answer": 24, "short_prompt": 16, "short_answer": 8, "padding": 2400},
    common=("--distributed-executor-backend", "uni"),
)
"""The tiny model's tokens are letters: with the padding a request has four bytes for each, as texts of real ones have."""


@contextlib.contextmanager
def engine(stage: Stage, folder: Path, arguments: tuple[str, ...] = (), classes: tuple[str, ...] = ()) -> Iterator[Container]:
    """A ready engine with tenants; ended afterwards."""
    folder.mkdir()
    (folder / ARCHIVE).write_bytes(packer.archive())
    contract.files(folder)
    made = stage.make(folder / ARCHIVE, folder)
    common = (*stage.common, "--max-num-seqs", str(stage.places), "--max-num-batched-tokens", str(stage.step), "--no-enable-prefix-caching")
    made.arguments = (*common, *arguments, *(word for name in (*classes, LIMITS, KEYS, ACCOUNT) for word in ("--middleware", name)))
    try:
        made.start().ready()
        yield made
    finally:
        made.remove()


def order(folder: Path, shorts: int) -> None:
    """Short requests beside a standing queue of long ones, for each way."""
    tell(PROCESSORS, ordered(PROCESSORS, folder, shorts))


def ordered(stage: Stage, folder: Path, shorts: int) -> dict[tuple[str, int], Seen]:
    """What was seen, by way and queue; each cell is said when it is over."""
    found: dict[tuple[str, int], Seen] = {}
    for at, (way, (arguments, classes)) in enumerate(stage.ways().items()):
        with engine(stage, folder / f"order-{at}", arguments, classes) as made:
            for queue in stage.queues:
                crowd = Crowd(stage.places + queue, shorts, short_key=contract.FIRST, long_key=contract.KEY, **stage.crowd)
                for _ in range(stage.tries):
                    seen = found[way, queue] = run(made, crowd)
                    say(f"{way}, {queue} waiting: {' '.join(seen.row())}")
                    if seen.per_step >= FULL * stage.step:
                        break
    return found


def tell(stage: Stage, found: Mapping[tuple[str, int], Seen]) -> None:
    """The table of all cells, and the goals."""
    ways = list(stage.ways())
    rows: list[list[object]] = [[queue, way, *found[way, queue].row()] for queue in stage.queues for way in ways]
    say(table("Short requests beside a standing queue of long ones", ("waiting", "way", *Seen.HEAD), rows))
    for queue in stage.queues[: stage.held]:
        usual = found["fcfs", queue]
        for way in ways[1:]:
            ours, what = found[way, queue], f"{way}, {queue} waiting"
            faster = part(usual.short_steps, 99) / part(ours.short_steps, 99)
            say(str(Goal(f"P99 of short requests, in steps, of fcfs over that of {what}", faster, "", 3, True)))
            say(str(Goal(f"tokens of an engine second over those of fcfs, {what}", ours.per_cpu / usual.per_cpu, "", 0.95, True)))


def shares(folder: Path, shorts: int) -> None:
    """One tenant beside another one with many times its load: alone, with equal shares, and without."""
    equal = {"long_prompt": 32, "long_answer": 64, "short_prompt": 32, "short_answer": 64}
    rows: list[list[object]] = []
    places = PROCESSORS.places
    with engine(PROCESSORS, folder / "shares") as made:
        policy = json.loads((made.folder / watched.POLICY).read_text())
        for way, workers, capacity in (
            ("alone", 0, places),
            ("beside the other", CLIENTS, places),
            ("the same without shares", CLIENTS, 0),
        ):
            (made.folder / watched.POLICY).write_text(json.dumps({**policy, "capacity": capacity}))
            crowd = Crowd(workers, shorts, short_key=contract.FIRST, long_key=contract.KEY, pause=32 if workers else 0.4, **equal)  # type: ignore[arg-type]
            rows.append([way, *run(made, crowd).row()])
    say(table(f"A tenant's requests beside {CLIENTS} clients of another one, {places} places", ("way", *Seen.HEAD), rows))


def rate(folder: Path, shorts: int) -> None:
    """Requests at a fixed rate through all classes, server and engine core on one processor."""
    folder = folder / "rate"
    folder.mkdir()
    (folder / ARCHIVE).write_bytes(packer.archive())
    contract.files(folder)
    made = Container(folder / ARCHIVE, pretend(folder), folder, spec={"access": str(folder)}, patience=120, wrong="step=0.002")
    made.around, made.python = ("taskset", "-c", str(max(os.sched_getaffinity(0)))), (sys.executable,)
    names = (PRIORITY, LIMITS, KEYS, ACCOUNT)
    made.arguments = tuple(word for name in names for word in ("--middleware", name))
    try:
        made.start().ready()
        used = cpu(made.known)
        answered, took = asyncio.run(pace.steady(made.port, contract.KEY, contract.PROMPT | {"max_tokens": 1}, RATE, RATE_SECONDS))
        used = cpu(made.known) - used
    finally:
        made.remove()
    cost = used / max(answered, 1) * 1000
    say(f"{answered / RATE_SECONDS:.0f} requests a second, {cost:.2f} ms of processor each, P99 {part(took, 99):.3f} s")
    say(str(Goal("requests a second through all classes on one core", answered / RATE_SECONDS, "", RATE * 0.99, True)))


PARTS: Mapping[str, Callable[[Path, int], None]] = {"order": order, "shares": shares, "rate": rate}


def main(arguments: list[str]) -> int:
    """Runs the named parts."""
    names = [each for each in arguments if not each.isdigit()] or list(PARTS)
    if unknown := [each for each in names if each not in PARTS]:
        raise ToolError(f"{', '.join(unknown)}: the parts are {', '.join(PARTS)}")
    shorts = next((int(each) for each in arguments if each.isdigit()), SHORTS)
    with tempfile.TemporaryDirectory(prefix="interlock-bench-") as name:
        for each in names:
            PARTS[each](Path(name), shorts)
    return 0


if __name__ == "__main__":
    run_main(main)
