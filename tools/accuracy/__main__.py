"""``python -m tools.accuracy [--fit] [--rivals]``: score the planner and write docs/accuracy.md and docs/accuracy.svg."""

from pathlib import Path

from tools.accuracy.cases import records, scored
from tools.accuracy.fit import write
from tools.accuracy.halves import judged
from tools.accuracy.plot import plot
from tools.accuracy.report import report
from tools.accuracy.rivals import ask_again
from tools.common import ROOT, run_main


def main(arguments: list[str], docs: Path = ROOT / "docs") -> int:
    """``--fit`` fits the catalogue's figures on all logs and ends; the report is then another run, with the new figures."""
    known = list(records())
    if "--fit" in arguments:
        print(write(known))
        return 0
    cases = list(scored(known))
    if "--rivals" in arguments:
        print(ask_again(cases))
    public = [each for each in known if each.group == "logs"]
    text = report(cases, judged(public, [each for each in known if each.group == "h200"]))
    (docs / "accuracy.md").write_text(text, "utf-8")
    plot(cases, docs / "accuracy.svg")
    print(text)
    return 0


if __name__ == "__main__":
    run_main(main)
