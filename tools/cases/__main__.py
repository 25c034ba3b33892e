"""One JSON line per case: ``{"id", "verdict", "codes", "why"}``. Reads each case's ``input``, never its ``expected``."""

import datetime as dt
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from interlock.infra.catalog.relations import relations
from interlock.infra.facts import Bundle
from interlock.infra.rules.findings import Finding, Severity
from interlock.infra.rules.judge import judge
from tools.cases.facts import bundle_of
from tools.cases.model import shape
from tools.cases.values import mapping
from tools.cases.watched import Watched
from tools.common import ToolError, run_main

# Between the two lies every start-up check that is known: what both say holds for a version that is not stated.
VERSIONS = ("0.8.5", relations().read[-1])


def verdict(case: Mapping[str, Any]) -> dict[str, Any]:
    """What planner and rules say about one case; what a missing fact decides is not judged."""
    stated = mapping(case.get("input"))
    given = Watched(stated)
    bundle = bundle_of(given)
    if bundle is None or not bundle.workloads:
        return _unsupported(case, "the input speaks of nothing that is known here")
    if unread := given.unread():
        return _unsupported(case, f"not read: {', '.join(unread)}")
    word, found = judged(bundle)
    if word == "accept" and not stated.get("gpu") and shape(mapping(stated.get("model"))):
        return _unsupported(case, "whether the model fits: no card is stated")
    if not mapping(stated.get("vllm")).get("version") and len(words := by_version(stated)) > 1:
        return _unsupported(case, "the vLLM version decides: " + ", ".join(f"{each} in {version}" for each, version in words.items()))
    return {"id": case.get("id"), "verdict": word, "codes": codes(found), "why": why(found)}


def _unsupported(case: Mapping[str, Any], why: str) -> dict[str, Any]:
    return {"id": case.get("id"), "verdict": "unsupported", "codes": [], "why": why}


def judged(bundle: Bundle) -> tuple[str, list[Finding]]:
    """The verdict in a word, and the findings that it rests on."""
    said = [finding for finding in judge(bundle, today=dt.date.today()) if finding.severity is not Severity.INFO]
    errors = [finding for finding in said if finding.severity is Severity.ERROR]
    return ("reject" if errors else "warn" if said else "accept"), errors or said


def by_version(stated: Mapping[str, Any]) -> dict[str, str]:
    """Acceptance and refusal, each with a version that says it."""
    words = {}
    for version in VERSIONS:
        bundle = bundle_of({**stated, "vllm": {**mapping(stated.get("vllm")), "version": version}})
        words[judged(bundle)[0] if bundle else "accept"] = version
    words.pop("warn", None)
    return words


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
