"""What a report shows: findings with their places, and what was not judged."""

import hashlib
from collections import Counter
from dataclasses import dataclass, replace

from interlock.infra.rules.findings import Finding, Severity


@dataclass(frozen=True, slots=True)
class Located:
    """A finding and where it stands."""

    finding: Finding
    line: int = 1
    """From 1."""
    column: int = 1
    """From 1."""
    known: bool = False
    """In the baseline: shown by nothing and counted by nothing."""

    @property
    def open(self) -> bool:
        """Neither waived nor in the baseline."""
        return not self.known and self.finding.waiver is None

    @property
    def fingerprint(self) -> str:
        """What stays the same when lines move: file, object, code and path."""
        subject = self.finding.subject
        parts = (subject.file, subject.kind, subject.namespace, subject.name, self.finding.code, self.finding.path)
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:24]


@dataclass(frozen=True, slots=True)
class Result:
    """One check."""

    findings: tuple[Located, ...]
    """The worst first, then by place; files that were not judged stand at the end as ``CHECK-000``."""
    files: tuple[str, ...]
    documents: int
    skipped: tuple[str, ...] = ()
    """Documents of judged files that were skipped, with the reason."""
    judged: int = 0
    """Documents that hold an engine or something around one."""
    every_info: bool = False
    """People see each info, not only the first three of a file."""
    hidden: int = 0
    """Findings that were left out because they are less severe than asked for."""

    @property
    def open(self) -> tuple[Located, ...]:
        """Findings that nobody accepted."""
        return tuple(located for located in self.findings if located.open)

    def at_least(self, level: Severity) -> "Result":
        """The result without findings below ``level``; asked for infos, people see each of them."""
        kept = tuple(located for located in self.findings if located.finding.severity.rank >= level.rank)
        return replace(self, findings=kept, every_info=level is Severity.INFO, hidden=len(self.findings) - len(kept))

    def told(self) -> tuple[Located, ...]:
        """What people are shown of the open findings: of infos the first three of each file, unless each was asked for."""
        infos: Counter[str] = Counter()
        shown = []
        for located in self.findings:
            finding = located.finding
            if not located.known and finding.severity is Severity.INFO and finding.code != NOT_JUDGED:
                infos[finding.subject.file] += 1
                if infos[finding.subject.file] > MOST_INFOS and not self.every_info:
                    continue
            shown.append(located)
        return tuple(located for located in shown if not located.known)

    def counts(self) -> Counter[Severity]:
        """Open findings by severity; files not judged apart."""
        return Counter(located.finding.severity for located in self.open if located.finding.code != NOT_JUDGED)

    def failing(self, at: Severity | None) -> bool:
        """Whether an open finding reaches ``at`` (None: never)."""
        judged = (located.finding for located in self.open if located.finding.code != NOT_JUDGED)
        return at is not None and any(finding.severity.rank >= at.rank for finding in judged)

    def summary(self) -> str:
        """One line for people."""
        counts = self.counts()
        said = [f"{counts[level]} {_plural(level.value, counts[level])}" for level in Severity]
        left = sum(located.finding.code == NOT_JUDGED for located in self.findings)
        waived = sum(located.finding.waiver is not None for located in self.findings)
        baseline = sum(located.known for located in self.findings)
        whole = f"{self.documents} {_plural('document', self.documents)}"
        read = f"{self.judged} of {whole} judged" if self.judged < self.documents else whole
        files = f"{read} in {len(self.files)} {_plural('file', len(self.files))}"
        quiet = len([each for each in self.findings if not each.known]) - len(self.told())
        extra = [f"{left} not judged"] * bool(left) + [f"{waived} waived"] * bool(waived) + [f"{baseline} in the baseline"] * bool(baseline)
        extra += [f"{self.hidden} below --min-severity"] * bool(self.hidden) + [f"{quiet} more with --min-severity info"] * bool(quiet)
        return f"{', '.join(said)}: {files}" + (f" ({', '.join(extra)})" if extra else "")


NOT_JUDGED = "CHECK-000"
UNREAD = "not-judged"
"""Fault of what was not judged, or only in part."""
MOST_INFOS = 3
"""Infos of one file that people see unless they ask for each."""


def worst_first(located: Located) -> tuple[object, ...]:
    """How findings are ordered: by severity, then by place; what was not judged comes last."""
    finding, subject = located.finding, located.finding.subject
    place = (subject.file, subject.document, located.line, located.column, finding.code, finding.path, finding.summary)
    return (finding.code == NOT_JUDGED, finding.waiver is not None, -finding.severity.rank, *place)


def _plural(word: str, count: int) -> str:
    return word if count == 1 or word == "info" else f"{word}s"
