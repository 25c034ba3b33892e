"""How many documents a second ``interlock check`` judges on one core.

usage: python -m tools.bench.check [--documents N] [--profile]

The corpus: every form under tests/data/manifests, repeated under other names until N documents stand in files of their own.
"""

import argparse
import cProfile
import os
import pstats
import re
import tempfile
import time
from pathlib import Path

from interlock.cli.check import run as checking
from interlock.cli.check.config import CheckConfig
from interlock.cli.reading import read_paths
from tools.bench.goals import Goal
from tools.common import ROOT, run_main, say

GOAL_PER_SECOND = 400
MANIFESTS = ROOT / "tests" / "data" / "manifests"


def corpus(folder: Path, documents: int) -> int:
    """Writes at least ``documents`` documents; returns how many."""
    sources = [path.read_text() for path in sorted(MANIFESTS.glob("*.yaml"))]
    written = number = 0
    while written < documents:
        text = sources[number % len(sources)]
        renamed = re.sub(r"(?m)^(metadata: \{name: |  name: )([\w.-]+)", rf"\g<1>\g<2>-{number}", text)
        path = folder / f"set{number // len(sources)}" / f"{number}.yaml"
        path.parent.mkdir(exist_ok=True)
        path.write_text(renamed)
        written += text.count("\n---\n") + 1
        number += 1
    return written


def main(arguments: list[str]) -> int:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=2000)
    parser.add_argument("--profile", action="store_true")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        count = corpus(Path(folder), options.documents)
        checking.check_reading(read_paths([str(MANIFESTS)]), CheckConfig())
        profile = cProfile.Profile()
        if options.profile:
            profile.enable()
        wall, cpu = time.perf_counter(), time.process_time()
        result = checking.check_reading(read_paths([folder]), CheckConfig())
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        profile.disable()
    per_second = count / cpu
    say(f"{count} documents in {len(result.files)} files: {wall:.2f} s, {cpu:.2f} s of CPU, {per_second:.0f} documents/s on one core")
    say(f"{os.cpu_count()} cores here, load {os.getloadavg()[0]:.1f}; {len(result.findings)} findings")
    say(str(Goal("interlock check", per_second, "documents/s on one core", GOAL_PER_SECOND, at_least=True)))
    if options.profile:
        pstats.Stats(profile).sort_stats("cumulative").print_stats(35)
    return 0


if __name__ == "__main__":
    run_main(main)
