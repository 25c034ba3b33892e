"""``python -m tools.accuracy [--rivals]``: score the planner and write docs/accuracy.md and docs/accuracy.svg."""

from pathlib import Path

from tools.accuracy.cases import scored
from tools.accuracy.plot import plot
from tools.accuracy.report import report
from tools.accuracy.rivals import ask_again
from tools.common import ROOT, run_main


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
    run_main(main)
