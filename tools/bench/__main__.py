"""`make bench`: every benchmark of this folder, one after another.

usage: python -m tools.bench [NAMES]
"""

import subprocess
import sys
from pathlib import Path

from tools.common import ROOT, ToolError, run_main, say

FOLDER = Path(__file__).parent
HELPERS = {"__init__", "__main__", "goals", "hostile_documents", "projects"}


def main(arguments: list[str]) -> int:
    """Runs the named benchmarks, or all; one that fails does not stop the others. A missed goal is said, not an error."""
    known = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem not in HELPERS)
    unknown = sorted(set(arguments) - set(known))
    if unknown:
        raise ToolError(f"{', '.join(unknown)}: there is no such benchmark; there are {', '.join(known)}")
    failed, goals = [], list[str]()
    for name in arguments or known:
        say(f"# {name}\n")
        code, found = run(name)
        goals += found
        failed += [name] if code else []
    say("\n".join(["# goals", "", *sorted(goals, reverse=True)]))
    if failed:
        raise ToolError(f"could not be measured (see above): {', '.join(failed)}", 1)
    return 0


def run(name: str) -> tuple[int, list[str]]:
    """Runs one benchmark in a process of its own; returns its exit code and what it said of goals."""
    command = [sys.executable, "-m", f"tools.bench.{name}"]
    goals = []
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout or ():
            say(line.rstrip("\n"))
            goals += [line.strip()] if line.startswith("goal ") else []
    return process.returncode, goals


if __name__ == "__main__":
    run_main(main)
