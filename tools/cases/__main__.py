"""One JSON line per case: ``{"id", "verdict", "codes", "why"}``. Reads each case's ``input``, never its ``expected``."""

import datetime as dt
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from interlock.infra.rules.findings import Finding, Severity
from interlock.infra.rules.judge import judge
from tools.cases.facts import bundle_of
from tools.cases.values import mapping
from tools.cases.watched import Watched
from tools.common import ToolError, run_main


def verdict(case: Mapping[str, Any]) -> dict[str, Any]:
    """What planner and rules say about one case."""
    given = Watched(mapping(case.get("input")))
    bundle = bundle_of(given)
    if bundle is None or not bundle.workloads:
        return {"id": case.get("id"), "verdict": "unsupported", "codes": [], "why": "the input speaks of nothing that is known here"}
    if unread := given.unread():
        return {"id": case.get("id"), "verdict": "unsupported", "codes": [], "why": f"not read: {', '.join(unread)}"}
    said = [finding for finding in judge(bundle, today=dt.date.today()) if finding.severity is not Severity.INFO]
    errors = [finding for finding in said if finding.severity is Severity.ERROR]
    word = "reject" if errors else "warn" if said else "accept"
    return {"id": case.get("id"), "verdict": word, "codes": codes(errors or said), "why": why(errors or said)}


def codes(findings: list[Finding]) -> list[str]:
    return list(dict.fromkeys(finding.code for finding in findings))


def why(findings: list[Finding]) -> str:
    return "; ".join(dict.fromkeys(finding.summary for finding in findings)) or "nothing contradicts"


def main(arguments: list[str]) -> int:
    if len(arguments) != 1:
        raise ToolError("usage: python -m tools.cases FILE")
    try:
        lines = Path(arguments[0]).read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise ToolError(f"{arguments[0]}: {error.strerror}") from None
    for line in lines:
        if line.strip():
            print(json.dumps(verdict(json.loads(line)), ensure_ascii=False))
    return 0


if __name__ == "__main__":
    run_main(main)
