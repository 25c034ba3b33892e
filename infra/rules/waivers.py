"""Waivers: as an annotation writes them, which findings they cover, and the objects that carry them."""

import datetime as dt
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from fnmatch import fnmatchcase

from interlock.infra.facts import Bundle, Origin, Workload
from interlock.infra.rules.findings import Finding, Severity, Subject, Waiver

WAIVE = "interlock.dev/waive"
"""Annotation ``interlock.dev/waive: "GPU-003: reason; expires 2027-01-01"``; several may follow each other."""

UNREADABLE = "CHECK-001"
"""Code of the finding on a waiver that cannot be read."""

_WAIVER = re.compile(r"([A-Z]+-[0-9]{3}):\s*(.*?)\s*;?\s*(?=[A-Z]+-[0-9]{3}:|\Z)", re.DOTALL)
_EXPIRES = re.compile(r"[;,]?\s*expires:?\s+(\S+)\s*$")


def waiver_text(waiver: Waiver) -> str:
    """The waiver as the annotation writes it: ``GPU-001: the reason; expires 2027-01-01``."""
    return f"{waiver.code}: {waiver.reason}" + (f"; expires {waiver.expires}" if waiver.expires else "")


def read_waivers(text: str) -> tuple[Waiver, ...]:
    """The waivers of an annotation's text; an entry without a reason, or with a date that cannot be read, is left out."""
    read = []
    for code, rest in _WAIVER.findall(text):
        match = _EXPIRES.search(rest)
        reason = (rest[: match.start()] if match else rest).strip(" ;,")
        try:
            expires = dt.date.fromisoformat(match.group(1)) if match else None
        except ValueError:
            continue
        if len(reason) >= 3:
            read.append(Waiver(code=code, reason=reason, expires=expires))
    return tuple(read)


def covers(waiver: Waiver, finding: Finding) -> bool:
    """Whether ``waiver`` speaks of ``finding`` (dates apart)."""
    subject = finding.subject
    names = (finding.path, subject.name, f"{subject.kind}/{subject.name}", f"{subject.name}.{finding.path}")
    pattern = waiver.path.replace("[", "[[]")
    return waiver.code == finding.code and any(fnmatchcase(name, pattern) for name in names)


def expired(waiver: Waiver, today: dt.date) -> bool:
    """Whether the waiver's last day has passed."""
    return waiver.expires is not None and today > waiver.expires


def apply_waivers(findings: Iterable[Finding], waivers: Sequence[Waiver], today: dt.date) -> tuple[Finding, ...]:
    """Marks each finding with the first valid waiver that covers it; an expired one counts as absent and is noted."""
    marked = []
    for finding in findings:
        covering = [waiver for waiver in waivers if covers(waiver, finding)]
        valid = next((waiver for waiver in covering if not expired(waiver, today)), None)
        if valid:
            marked.append(replace(finding, waiver=valid))
        elif covering:
            ended = max(waiver.expires for waiver in covering if waiver.expires)
            marked.append(replace(finding, note=f"a waiver for this expired on {ended} and counts as absent"))
        else:
            marked.append(finding)
    return tuple(marked)


def subject_of(origin: Origin) -> Subject:
    """The object of an origin, as findings name it."""
    return Subject(kind=origin.kind, name=origin.name, namespace=origin.namespace, file=origin.file, document=origin.document)


def _origins(bundle: Bundle) -> Iterator[tuple[Origin, Sequence[str]]]:
    """Every object of every group with the texts of its waiver annotations."""
    for group in (getattr(bundle, field.name) for field in fields(bundle)):
        for item in group if isinstance(group, tuple) else ():
            pods = item.pods if isinstance(item, Workload) else ()
            yield item.origin, (item.origin.annotations.get(WAIVE, ""), *(pod.annotations.get(WAIVE, "") for pod in pods))


def annotated(bundle: Bundle) -> tuple[Mapping[Subject, tuple[Waiver, ...]], tuple[Finding, ...]]:
    """Waivers by the object that carries them, and a warning for each annotation that cannot be read."""
    waivers: dict[Subject, dict[Waiver, None]] = {}
    unreadable: dict[Subject, Finding] = {}
    for origin, texts in _origins(bundle):
        subject = subject_of(origin)
        for text in texts:
            if not text.strip():
                continue
            read = read_waivers(text)
            waivers.setdefault(subject, {}).update(dict.fromkeys(read))
            if not read:
                unreadable[subject] = _unreadable(subject, text)
    return {subject: tuple(each) for subject, each in waivers.items()}, tuple(unreadable.values())


def _unreadable(subject: Subject, text: str) -> Finding:
    return Finding(
        code=UNREADABLE,
        severity=Severity.WARNING,
        path=f"metadata.annotations[{WAIVE}]",
        value=text,
        summary="this waiver cannot be read, so nothing is waived",
        remedy=f'write {WAIVE}: "GPU-003: the reason; expires 2027-01-01" (a code, a reason, and a day if it ends)',
        subject=subject,
    )
