"""Findings and waivers: what a rule says, in one shape for the plan, the program, the policy pack and the checker."""

import datetime as dt
import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

CODE = re.compile(r"[A-Z]+-[0-9]{3}")
"""The code of a finding."""


class Severity(StrEnum):
    """How bad: an error stops a deployment, a warning is shown, an info tells what could not be decided."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"

    @property
    def rank(self) -> int:
        """0 for info, 1 for warning, 2 for error."""
        return ("info", "warning", "error").index(self.value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """The object a finding is about."""

    kind: str = ""
    """Kubernetes kind, or ``Server`` / ``Pool`` for our own config."""
    name: str = ""
    """Its name."""
    namespace: str = ""
    """Its namespace; empty when not stated."""
    file: str = ""
    """File or stack it was read from."""
    document: int = 0
    """Index of the document in the file, from 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fix:
    """One change of a document that a machine can make."""

    path: str
    """Where, inside the subject's document; for an engine argument one item of the command line, or the list that holds it."""
    value: bool | int | float | str | None = None
    """What to set there; None removes what stands there."""
    flag: str = ""
    """The engine argument that is set (``true`` for a bare switch) or removed, where ``path`` is in a command line."""


@dataclass(frozen=True, slots=True)
class Spot:
    """A further place that a contradiction is between."""

    document: int
    """Index of its document in the subject's file."""
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiver:
    """A finding accepted by a person, with the reason and the day it ends."""

    code: str
    """The finding's code."""
    path: str = "*"
    """The path it covers; ``*`` matches any run of characters."""
    reason: str
    """Why it is accepted, in three characters or more."""
    expires: dt.date | None = None
    """The last day it holds; without one it holds until removed."""

    def __post_init__(self) -> None:
        """Raises ValueError for a code that is none, and for a missing reason."""
        if not CODE.fullmatch(self.code):
            raise ValueError(f"code: {self.code!r} is not one of a finding, such as GPU-001")
        if len(self.reason) < 3:
            raise ValueError(f"reason: {self.reason!r} says nothing; write why the finding is accepted")


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One contradiction or risk: field, value, arithmetic and the fix."""

    code: str
    """Stable code, listed in docs/findings.md."""
    severity: Severity
    """error, warning or info."""
    path: str
    """The field: ``servers[1].gpus`` in our config, ``spec.template...`` in a manifest."""
    value: str = ""
    """The value found there, as text."""
    summary: str
    """One sentence with the arithmetic."""
    detail: str = ""
    """What happens if it is ignored, and why."""
    remedy: str
    """The fix: a change that removes the finding."""
    fixes: tuple[Fix, ...] = ()
    """The remedy as changes to make together, where it is mechanical; empty where a person has to choose."""
    fault: str = ""
    """Kind of fault in plain words (docs/findings.md); empty where none fits."""
    also: tuple[Spot, ...] = ()
    """The other sides of the contradiction: a stack's preview tells it at the side that a person wrote."""
    subject: Subject = Subject()
    """The object it is about."""
    waiver: Waiver | None = None
    """The waiver that covers it, when one does; a waived finding never stops anything."""
    note: str = ""
    """A remark about a waiver that does not hold (expired)."""

    def text(self) -> str:
        """One block for people: code, field, value, arithmetic, fix."""
        where = f"{self.path} = {self.value}" if self.value else self.path
        lines = [f"{self.code} {self.severity}: {where}: {self.summary}"]
        if self.detail:
            lines.append(f"  why: {self.detail}")
        lines.append(f"  fix: {self.remedy}")
        if self.waiver:
            until = f" until {self.waiver.expires}" if self.waiver.expires else ""
            lines.append(f"  waived{until}: {self.waiver.reason}")
        if self.note:
            lines.append(f"  note: {self.note}")
        return "\n".join(lines)


def blocking(findings: Iterable[Finding], at: Severity = Severity.ERROR) -> tuple[Finding, ...]:
    """The findings at or above ``at`` that nobody waived."""
    return tuple(finding for finding in findings if finding.waiver is None and finding.severity.rank >= at.rank)
