"""Checks hostile documents one by one: no traceback, and bounded time and memory.

usage: python -m tools.bench.hostile [--count N] [--first SEED]
"""

import argparse
import resource
import signal
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from interlock.cli.check.config import CheckConfig
from interlock.cli.check.run import check_reading
from interlock.cli.reading import read_paths
from interlock.cli.report import FORMATS, report
from interlock.infra.errors import InterlockError
from tools.bench.hostile_documents import hostile
from tools.common import run_main, say

MOST_SECONDS = 5.0
"""Processor time that one document may take."""
MOST_GIB = 1.0
"""Memory that the whole run may take."""


@dataclass
class Survey:
    """What became of the documents."""

    kinds: Counter[str] = field(default_factory=Counter)
    findings: int = 0
    refused: int = 0
    """Answered with a message instead of findings."""
    seconds: dict[int, float] = field(default_factory=dict)
    faults: dict[int, str] = field(default_factory=dict)
    """Number of a document -> the traceback that it made."""

    @property
    def slow(self) -> list[int]:
        """Documents that took too long."""
        return [seed for seed, seconds in self.seconds.items() if seconds > MOST_SECONDS]


class _TooLongError(Exception):
    """A document took more than twice the time that it may."""


def _stop(number: int, frame: object) -> None:
    raise _TooLongError


def survey(seeds: Iterable[int]) -> Survey:
    """Checks the hostile documents of some numbers, and prints each report in one of the formats."""
    found = Survey()
    signal.signal(signal.SIGVTALRM, _stop)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "hostile.yaml"
        for seed in seeds:
            kind, text = hostile(seed)
            file.write_bytes(text)
            found.kinds[kind] += 1
            started = time.process_time()
            signal.setitimer(signal.ITIMER_VIRTUAL, 2 * MOST_SECONDS)
            try:
                result = check_reading(read_paths([str(file)]), CheckConfig())
                found.findings += len(result.findings)
                report(result, sorted(FORMATS)[seed % len(FORMATS)]).encode("utf-8")
            except InterlockError:
                found.refused += 1
            except Exception:
                found.faults[seed] = traceback.format_exc()[-3000:]
            finally:
                signal.setitimer(signal.ITIMER_VIRTUAL, 0)
            found.seconds[seed] = time.process_time() - started
    return found


def main(arguments: list[str]) -> int:
    """Entry point."""
    parser = argparse.ArgumentParser(prog="python -m tools.bench.hostile", description=__doc__)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--first", type=int, default=0)
    options = parser.parse_args(arguments)
    # What would take more memory ends in a MemoryError, which is told like any other traceback.
    resource.setrlimit(resource.RLIMIT_AS, (int(3 * MOST_GIB * 1024**3),) * 2)
    found = survey(range(options.first, options.first + options.count))
    total, worst = sum(found.seconds.values()), sorted(found.seconds, key=lambda seed: found.seconds[seed])[-3:]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2
    shares = ", ".join(f"{count} {kind}" for kind, count in found.kinds.most_common())
    say(f"{options.count} documents ({shares}): {found.findings} findings, {found.refused} answered with a message")
    slowest = ", ".join(f"{found.seconds[seed]:.2f} s (document {seed})" for seed in reversed(worst))
    say(f"{total:.1f} s of CPU, slowest {slowest}; peak {peak:.2f} GiB")
    for seed, text in list(found.faults.items())[:5]:
        say(f"document {seed}:\n{text}")
    say(f"{len(found.faults)} tracebacks, {len(found.slow)} slower than {MOST_SECONDS:g} s")
    return 1 if found.faults or found.slow or peak > MOST_GIB else 0


if __name__ == "__main__":
    run_main(main)
