"""The `interlock` command from start to end, in a process of its own: what a person or an editor waits for.

usage: python -m tools.bench.command
"""

import resource
import statistics
import subprocess
import sys

from tools.bench.goals import Goal
from tools.bench.projects import table
from tools.common import ROOT, ToolError, run_main, say

TIMES = 7
SMALL = ROOT / "examples" / "refused" / "chat.yaml"
GOALS = {"check of one small file": 0.5, "plan --stack dev": 2.0}


def seconds(arguments: list[str], times: int = TIMES) -> float:
    """Median processor time of ``interlock ARGUMENTS``, which waits for nothing: on a quiet machine it takes as long.

    Raises ToolError (code 1) when the command ends in anything but an answer.
    """
    taken = []
    for _ in range(times):
        before = _spent()
        command = [sys.executable, "-m", "interlock.cli.main", *arguments]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        taken.append(_spent() - before)
        if done.returncode not in (0, 1):
            raise ToolError(f"`interlock {' '.join(arguments)}` ended with {done.returncode}: {done.stderr.strip()}", 1)
    return statistics.median(taken)


def _spent() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measure(times: int = TIMES) -> dict[str, float]:
    """Seconds by what was asked."""
    asked = {"check of one small file": ["check", str(SMALL)], "plan --stack dev": ["plan", "--stack", "dev"]}
    return {name: seconds(arguments, times) for name, arguments in asked.items()}


def main(arguments: list[str]) -> int:
    """Measures and prints the table."""
    del arguments
    found = measure()
    say(table("The command from start to end, s of the processor", tuple(found), [list(found.values())]))
    for name, taken in found.items():
        say(str(Goal(f"interlock {name}", taken, "s", GOALS[name])))
    return 0


if __name__ == "__main__":
    run_main(main)
