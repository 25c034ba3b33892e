"""``python -m tools.accuracy [--rivals]``: score the planner and write docs/accuracy.md and docs/accuracy.svg."""

import sys
from pathlib import Path

from .cases import ROOT, scored
from .plot import plot
from .report import report
from .rivals import ask_again


def main(arguments: list[str], docs: Path = ROOT / "docs") -> int:
    cases = list(scored())
    if "--rivals" in arguments:
        print(ask_again(cases))
    text = report(cases)
    (docs / "accuracy.md").write_text(text, "utf-8")
    plot(cases, docs / "accuracy.svg")
    print(text)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
