"""Text for a terminal, and JSON for programs."""

import json
from collections.abc import Iterator, Sequence
from itertools import groupby

from interlock.cli.report.model import NOT_JUDGED, Located, Result
from interlock.infra.values import some


def text(result: Result) -> str:
    """The worst findings first, under file and object, each with line and column; one of several files once, with its places."""
    lines: list[str] = []
    for (file, kind, name), group in groupby(_blocks(result.told()), lambda block: _object(block[0])):
        blocks = list(group)
        if blocks[0][0].finding.code == NOT_JUDGED:
            lines += [f"{file}: not judged: {blocks[0][0].finding.summary}", ""]
            continue
        lines.append(f"{file}" + (f"  {kind}/{name}" if kind or name else ""))
        for first, *others in blocks:
            lines += [f"  {first.line}:{first.column}  {line}" if head else f"    {line}" for head, line in _lines(first)]
            if others:
                places = [f"{each.finding.subject.file}:{each.line}" for each in others]
                lines.append(f"      also: {some(places, _MOST_PLACES)}")
        lines.append("")
    lines += [f"skipped: {skipped}" for skipped in result.skipped]
    return "\n".join([*lines, result.summary(), ""])


_MOST_PLACES = 20


def _blocks(told: Sequence[Located]) -> list[list[Located]]:
    """Findings that say the same of several files are one block, where the first of them stands."""
    blocks: dict[tuple[object, ...], list[Located]] = {}
    for located in told:
        finding = located.finding
        key: tuple[object, ...] = (
            finding.code,
            finding.severity,
            finding.path,
            finding.value,
            finding.summary,
            finding.waiver,
            finding.note,
        )
        same = blocks.get(key)
        files = {each.finding.subject.file for each in same or ()}
        if finding.code == NOT_JUDGED or finding.subject.file in files:
            key = (*key, finding.subject.file, finding.subject.document, len(blocks))
        blocks.setdefault(key, []).append(located)
    return list(blocks.values())


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
