"""What a report shows: findings with their places, and what was not judged."""

import hashlib
from collections import Counter
from dataclasses import dataclass

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
    """In order of file, document and code; files that were not judged stand among them as ``CHECK-000``."""
    files: tuple[str, ...]
    documents: int
    skipped: tuple[str, ...] = ()
    """Documents of judged files that were skipped, with the reason."""

    @property
    def open(self) -> tuple[Located, ...]:
        """Findings that nobody accepted."""
        return tuple(located for located in self.findings if located.open)

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
        files = f"{self.documents} {_plural('document', self.documents)} in {len(self.files)} {_plural('file', len(self.files))}"
        extra = [f"{left} not judged"] * bool(left) + [f"{waived} waived"] * bool(waived) + [f"{baseline} in the baseline"] * bool(baseline)
        return f"{', '.join(said)}: {files}" + (f" ({', '.join(extra)})" if extra else "")


NOT_JUDGED = "CHECK-000"


def _plural(word: str, count: int) -> str:
    return word if count == 1 or word == "info" else f"{word}s"
