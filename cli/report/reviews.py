"""Reports for pull requests: GitHub annotations, a Markdown comment, JUnit."""

from itertools import groupby
from xml.etree import ElementTree

from interlock.cli.report.model import NOT_JUDGED, Located, Result
from interlock.infra.rules.findings import Severity

_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}
_LIMIT = 60_000
_ILLEGAL = dict.fromkeys([*range(9), 11, 12, *range(14, 32), 0xFFFE, 0xFFFF])


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def github(result: Result) -> str:
    """Workflow commands that GitHub shows beside the line."""
    lines = []
    for located in (each for each in result.told() if each.open):
        finding = located.finding
        place = f"file={_property(finding.subject.file)},line={located.line},col={located.column},title={_property(finding.code)}"
        message = finding.summary if finding.code == NOT_JUDGED else f"{finding.path}: {finding.summary}\nfix: {finding.remedy}"
        lines.append(f"::{_COMMANDS[finding.severity]} {place}::{_data(message)}\n")
    return "".join(lines)


def markdown(result: Result) -> str:
    """A comment for a pull request, at most 60,000 characters."""
    head = f"### Interlock: {result.summary()}\n"
    body = ""
    judged = [located for located in result.told() if located.open and located.finding.code != NOT_JUDGED]
    order = {file: -index for index, file in enumerate(reversed([located.finding.subject.file for located in judged]))}
    for file, group in groupby(sorted(judged, key=lambda located: order[located.finding.subject.file]), _file):
        table = f"\n**{cell(file)}**\n\n| | line | object | finding | fix |\n| --- | --- | --- | --- | --- |\n"
        rows = "".join(_row(located) for located in group)
        if len(head) + len(body) + len(table) + len(rows) > _LIMIT:
            return f"{head}{body}\n*More findings than a comment holds: see the job's log.*\n"
        body += table + rows
    left = [
        f"- `{cell(item.finding.subject.file)}`: {cell(item.finding.summary)}" for item in result.open if item.finding.code == NOT_JUDGED
    ]
    if left and len(body) + len("\n".join(left)) < _LIMIT:
        body += "\n<details><summary>not judged</summary>\n\n" + "\n".join(left) + "\n\n</details>\n"
    return head + body


def _file(located: Located) -> str:
    return located.finding.subject.file


def _row(located: Located) -> str:
    finding = located.finding
    what = f"**{finding.code}** `{cell(finding.path)}`: {cell(finding.summary)}"
    named = f"{finding.subject.kind}/{finding.subject.name}"
    return f"| {finding.severity.value} | {located.line} | {cell(named)} | {what} | {cell(finding.remedy)} |\n"


def cell(text: str) -> str:
    """A text inside of a table of Markdown: one line, nothing of it is markup, nobody is mentioned."""
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("\n", " ").replace("`", "'").replace("<", "&lt;").replace("@", "@&#8203;")


def junit(result: Result) -> str:
    """One suite per file; a finding is a failed case, a clean file a passed one, a file not judged a skipped one."""
    root = ElementTree.Element("testsuites", name="interlock")
    by_file: dict[str, list[Located]] = {file: [] for file in result.files}
    for located in result.open:
        by_file.setdefault(located.finding.subject.file, []).append(located)
    for file, found in by_file.items():
        failures = [located for located in found if located.finding.severity is not Severity.INFO]
        suite = ElementTree.SubElement(root, "testsuite", name=_legal(file), tests=str(max(len(found), 1)), failures=str(len(failures)))
        if not found:
            ElementTree.SubElement(suite, "testcase", name="no findings", classname=_legal(file))
        for located in found:
            _case(suite, file, located)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _case(suite: ElementTree.Element, file: str, located: Located) -> None:
    finding = located.finding
    name = f"{finding.code} {finding.subject.kind}/{finding.subject.name} {finding.path}"
    case = ElementTree.SubElement(suite, "testcase", name=_legal(name), classname=_legal(file), file=_legal(file), line=str(located.line))
    if finding.code == NOT_JUDGED:
        ElementTree.SubElement(case, "skipped", message=_legal(finding.summary))
    elif finding.severity is Severity.INFO:
        ElementTree.SubElement(case, "system-out").text = _legal(finding.text())
    else:
        failure = ElementTree.SubElement(case, "failure", message=_legal(finding.summary), type=finding.severity.value)
        failure.text = _legal(finding.text())


def _legal(text: str) -> str:
    """Without the characters that XML 1.0 cannot hold."""
    return text.translate(_ILLEGAL)
