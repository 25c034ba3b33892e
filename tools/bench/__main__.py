"""`make bench`: every benchmark of this folder, one after another.

usage: python -m tools.bench [NAMES]
"""

import subprocess
import sys
from pathlib import Path

from tools.common import ROOT, ToolError, run_main, say

FOLDER = Path(__file__).parent
HELPERS = {"__init__", "__main__", "projects"}


def main(arguments: list[str]) -> int:
    """Runs the named benchmarks, or all; one that fails does not stop the others."""
    known = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem not in HELPERS)
    unknown = sorted(set(arguments) - set(known))
    if unknown:
        raise ToolError(f"{', '.join(unknown)}: there is no such benchmark; there are {', '.join(known)}")
    failed = []
    for name in arguments or known:
        say(f"# {name}\n")
        if subprocess.run([sys.executable, "-m", f"tools.bench.{name}"], cwd=ROOT, check=False).returncode:
            failed.append(name)
    if failed:
        raise ToolError(f"failed: {', '.join(failed)}", 1)
    return 0


if __name__ == "__main__":
    run_main(main)
