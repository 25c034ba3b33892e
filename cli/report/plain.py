"""Text for a terminal, and JSON for programs."""

import json
from collections.abc import Iterator
from itertools import groupby

from interlock.cli.report.model import NOT_JUDGED, Located, Result


def text(result: Result) -> str:
    """Findings grouped by file and object, each with line and column, and a summary."""
    lines: list[str] = []
    for (file, kind, name), group in groupby(result.findings, _object):
        shown = [located for located in group if not located.known]
        if not shown:
            continue
        if shown[0].finding.code == NOT_JUDGED:
            lines += [f"{file}: not judged: {shown[0].finding.summary}", ""]
            continue
        lines.append(f"{file}" + (f"  {kind}/{name}" if kind or name else ""))
        for located in shown:
            lines += [f"  {located.line}:{located.column}  {line}" if first else f"    {line}" for first, line in _lines(located)]
        lines.append("")
    lines += [f"skipped: {skipped}" for skipped in result.skipped]
    return "\n".join([*lines, result.summary(), ""])


def _object(located: Located) -> tuple[str, str, str]:
    subject = located.finding.subject
    return subject.file, subject.kind, subject.name


def _lines(located: Located) -> Iterator[tuple[bool, str]]:
    whole = located.finding.text()
    # A finding about a whole document has no path to name.
    for index, line in enumerate((whole if located.finding.path else whole.replace(": : ", ": ", 1)).splitlines()):
        yield index == 0, line


def row(located: Located) -> dict[str, object]:
    """The published line of one finding. Its keys are a contract: docs/check.md."""
    finding = located.finding
    return {
        "file": finding.subject.file,
        "document": finding.subject.document,
        "kind": finding.subject.kind,
        "name": finding.subject.name,
        "code": finding.code,
        "fault": finding.fault,
        "severity": finding.severity.value,
        "path": finding.path,
        "line": located.line,
        "summary": finding.summary,
        "remedy": finding.remedy,
    }


def jsonl(result: Result) -> str:
    """One JSON line per open finding and per file that was not judged."""
    return "".join(json.dumps(row(located), ensure_ascii=False) + "\n" for located in result.open)


def as_json(result: Result) -> str:
    """One JSON object with everything, waived findings included."""
    findings = [
        {
            **row(located),
            "column": located.column,
            "value": located.finding.value,
            "detail": located.finding.detail,
            "namespace": located.finding.subject.namespace,
            "waived": located.finding.waiver.reason if located.finding.waiver else None,
            "baseline": located.known,
            "note": located.finding.note,
        }
        for located in result.findings
    ]
    counts = {level.value: count for level, count in result.counts().items()}
    whole = {"version": 1, "summary": counts, "files": list(result.files), "documents": result.documents, "skipped": list(result.skipped)}
    return json.dumps({**whole, "findings": findings}, indent=2, ensure_ascii=False) + "\n"
