"""SARIF 2.1.0, as code scanning services read it."""

import json
from typing import Any

from interlock.cli.report.model import NOT_JUDGED, Located, Result
from interlock.infra.rules.findings import Severity

_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


def sarif(result: Result) -> str:
    """One run with the rules that were asked and a result per finding; waived findings are suppressed results."""
    shown = [located for located in result.findings if located.finding.code != NOT_JUDGED]
    rules = _rules({located.finding.code: located for located in shown})
    left = [located for located in result.findings if located.finding.code == NOT_JUDGED]
    notes = [{"level": "note", "message": {"text": located.finding.summary}, "locations": [_place(located)]} for located in left]
    run: dict[str, Any] = {
        "tool": {"driver": {"name": "interlock", "rules": rules}},
        "results": [_result(located) for located in shown],
        "invocations": [{"executionSuccessful": True, "toolExecutionNotifications": notes}],
        "columnKind": "unicodeCodePoints",
    }
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2, ensure_ascii=False) + "\n"


def _rules(found: dict[str, Located]) -> list[dict[str, Any]]:
    from interlock.infra.rules.judge import RULES

    known = {rule.code: rule for rule in RULES}
    rules = []
    for code in sorted(known | found):
        rule = known.get(code)
        entry: dict[str, Any] = {"id": code}
        if rule:
            entry |= {
                "shortDescription": {"text": rule.demand},
                "fullDescription": {"text": rule.reason},
                "help": {"text": f"{rule.remedy} Source: {rule.source}"},
                "defaultConfiguration": {"level": _LEVELS[rule.severity]},
                "properties": {"tags": [rule.fault]} if rule.fault else {},
            }
            if rule.links:
                entry["helpUri"] = rule.links[0]
        rules.append(entry)
    return rules


def _place(located: Located) -> dict[str, Any]:
    finding = located.finding
    region = {"startLine": located.line, "startColumn": located.column}
    logical = [{"fullyQualifiedName": f"{finding.subject.kind}/{finding.subject.name}:{finding.path}"}]
    return {"physicalLocation": {"artifactLocation": {"uri": finding.subject.file}, "region": region}, "logicalLocations": logical}


def _result(located: Located) -> dict[str, Any]:
    finding = located.finding
    entry: dict[str, Any] = {
        "ruleId": finding.code,
        "level": _LEVELS[finding.severity],
        "message": {"text": f"{finding.summary}. {finding.detail} Fix: {finding.remedy}"},
        "locations": [_place(located)],
        "partialFingerprints": {"interlock/v1": located.fingerprint},
    }
    if finding.waiver:
        entry["suppressions"] = [{"kind": "external", "justification": finding.waiver.reason}]
    elif located.known:
        entry["suppressions"] = [{"kind": "external", "justification": "in the baseline"}]
    return entry
