"""The check itself: documents to located findings, with settings, waivers, hints and a baseline."""

import datetime as dt
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from interlock.cli.check.config import CheckConfig
from interlock.cli.check.sets import file_sets
from interlock.cli.check.stated import with_stated
from interlock.cli.reading import Reading, load_text
from interlock.cli.report import NOT_JUDGED, UNREAD, Located, Result, worst_first
from interlock.infra.errors import ConfigError, Problem
from interlock.infra.facts import PARTLY, Bundle, DocumentProblem, NotJudged
from interlock.infra.recognise import Document, recognise
from interlock.infra.rules.findings import Finding, Severity, Subject, Waiver
from interlock.infra.rules.judge import judge

BASELINE_VERSION = 1


def check_reading(reading: Reading, config: CheckConfig, waivers: Sequence[Waiver] = (), today: dt.date | None = None) -> Result:
    """Judges everything that was read."""
    accepted, day = (*config.waivers, *waivers), today or dt.date.today()
    judged = Judged()
    for files in file_sets(reading.documents, list(reading.files)):
        judged = judged.joined(_set(reading, files, config, accepted, day))
    bundle, found, broken = judged.bundle, judged.findings, judged.broken
    left = _not_judged(reading, bundle, {finding.subject.file for finding in found}, broken)
    unjudged = {finding.subject.file for finding in left}
    beside = [item for item in bundle.not_judged if item.origin.file not in unjudged]
    partly = [_partly(item) for item in beside if item.code == PARTLY]
    located = [Located(finding, *_place(reading, finding)) for finding in (*found, *left, *partly)]
    skipped = tuple(f"{item.origin.file}: {item.origin.kind}/{item.origin.name}: {item.why}" for item in beside if item.code != PARTLY)
    return Result(tuple(sorted(located, key=worst_first)), tuple(reading.files), len(reading.documents), skipped, _read(bundle))


def _partly(item: NotJudged) -> Finding:
    origin = item.origin
    subject = Subject(kind=origin.kind, name=origin.name, file=origin.file, document=origin.document)
    remedy = "check what the chart renders: helm template ... | interlock check -"
    return Finding(code=PARTLY, severity=Severity.INFO, path=origin.path, summary=item.why, remedy=remedy, fault=UNREAD, subject=subject)


def _read(bundle: Bundle) -> int:
    """How many documents something was known of: an engine, or an object around one."""
    groups = (getattr(bundle, name) for name in _tuples(bundle) if name != "not_judged")
    return len({(item.origin.file, item.origin.document) for group in groups for item in group})


def _judged(
    documents: Sequence[Document],
    problems: Sequence[DocumentProblem],
    config: CheckConfig,
    waivers: Sequence[Waiver],
    today: dt.date,
) -> tuple[Bundle, tuple[Finding, ...]]:
    bundle = recognise(documents, parse=load_text)
    bundle = replace(bundle, problems=(*bundle.problems, *problems))
    bundle = with_stated(bundle, config)
    return bundle, judge(bundle, config.settings, waivers, today=today)


@dataclass(frozen=True, slots=True)
class Judged:
    """Facts and findings of one or several sets of files."""

    bundle: Bundle = Bundle()
    findings: tuple[Finding, ...] = ()
    broken: Mapping[str, str] = field(default_factory=dict)
    """Files on which we failed, with the reason."""

    def joined(self, other: "Judged") -> "Judged":
        """Both together."""
        facts: dict[str, Any] = {name: (*getattr(self.bundle, name), *getattr(other.bundle, name)) for name in _tuples(self.bundle)}
        return Judged(replace(self.bundle, **facts), (*self.findings, *other.findings), {**self.broken, **other.broken})


def _set(reading: Reading, files: Sequence[str], config: CheckConfig, waivers: Sequence[Waiver], today: dt.date) -> Judged:
    """One set judged together; a mistake of ours in one rule or reader must not cost the findings of its other files."""
    names = set(files)
    documents = [document for document in reading.documents if document.file in names]
    problems = [problem for problem in reading.problems if problem.origin.file in names]
    try:
        return Judged(*_judged(documents, problems, config, waivers, today))
    except Exception as error:
        if len(files) == 1:
            return Judged(broken={files[0]: f"interlock failed on it ({type(error).__name__}: {str(error)[:200]}): please report this"})
    alone = Judged()
    for file in files:
        alone = alone.joined(_set(reading, [file], config, waivers, today))
    return alone


def _tuples(bundle: Bundle) -> list[str]:
    return [each.name for each in fields(bundle) if isinstance(getattr(bundle, each.name), tuple)]


def _place(reading: Reading, finding: Finding) -> tuple[int, int]:
    file = reading.files.get(finding.subject.file)
    return file.place(finding.subject.document, finding.path, finding.value) if file else (1, 1)


def _around(bundle: Bundle) -> tuple[tuple[Any, ...], ...]:
    objects = (bundle.services, bundle.routes, bundle.autoscalers, bundle.budgets, bundle.claims, bundle.secrets, bundle.quotas)
    return (*objects, bundle.pools, bundle.queries, bundle.scrapes, bundle.sharing)


def _not_judged(reading: Reading, bundle: Bundle, found: set[str], broken: Mapping[str, str]) -> list[Finding]:
    judged = {item.origin.file for item in bundle.workloads} | {item.origin.file for item in bundle.problems} | found
    seen = {str(item.origin.file) for group in _around(bundle) for item in group}
    reasons = {item.origin.file: item.why for item in reversed(bundle.not_judged)} | dict(broken)
    left = []
    for name, file in reading.files.items():
        why = file.why or reasons.get(name, "") or ("" if name in seen else "no vLLM workload or related object found")
        if name not in judged and why:
            left.append(
                Finding(
                    code=NOT_JUDGED,
                    severity=Severity.INFO,
                    path="",
                    summary=why,
                    remedy="nothing to do unless it should be judged: then give the rendered manifest of a vLLM workload",
                    fault=UNREAD,
                    subject=Subject(file=name),
                )
            )
    return left


def apply_baseline(result: Result, path: Path) -> Result:
    """The result with every finding of the baseline marked as known. Raises ConfigError."""
    try:
        data = json.loads(path.read_text("utf-8"))
        prints = set(data["findings"])
        if data.get("version") != BASELINE_VERSION:
            raise ValueError(f"version {data.get('version')!r}, not {BASELINE_VERSION}")
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        problem = Problem("--baseline", f"is not a baseline ({error}): write one with --write-baseline", str(path))
        raise ConfigError([problem]) from None
    return replace(result, findings=tuple(replace(item, known=item.fingerprint in prints) for item in result.findings))


def write_baseline(result: Result, path: Path) -> int:
    """Writes all open findings as accepted; returns how many."""
    prints = sorted({located.fingerprint for located in result.open if located.finding.code != NOT_JUDGED})
    try:
        path.write_text(json.dumps({"version": BASELINE_VERSION, "findings": prints}, indent=1) + "\n", "utf-8")
    except OSError as error:
        raise ConfigError([Problem("--write-baseline", f"cannot be written: {error.strerror}", str(path))]) from None
    return len(prints)
