"""The policies: one on each resource before it is made, two on the whole stack. What they find comes from the rules of infra."""

import datetime as dt
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import yaml
from pulumi_policy import (
    EnforcementLevel,
    Policy,
    PolicyConfigSchema,
    ReportViolation,
    ResourceValidationArgs,
    ResourceValidationPolicy,
    StackValidationArgs,
    StackValidationPolicy,
)
from pydantic import TypeAdapter

from interlock.infra.catalog.kinds import kinds
from interlock.infra.recognise import Document, recognise
from interlock.infra.rules.findings import Finding, Severity, Waiver
from interlock.infra.rules.judge import RULES, judge
from interlock.policies.adapt import document

Level = EnforcementLevel
LEVELS = {Severity.ERROR: Level.MANDATORY, Severity.WARNING: Level.ADVISORY, Severity.INFO: Level.DISABLED}
"""What a finding does when the pack's config says nothing about its rule."""

_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
Key = tuple[str, str, str, str]


@dataclass(slots=True)
class Settings:
    """The pack's config: levels and thresholds of rules, and waivers."""

    levels: Mapping[str, Level] = field(default_factory=dict)
    thresholds: Mapping[str, Any] = field(default_factory=dict)
    waivers: Sequence[Waiver] = ()

    @classmethod
    def read(cls, given: Mapping[str, Any]) -> "Settings":
        """The settings in a policy's config, which the engine has checked against ``SCHEMA``."""
        return cls(
            {code: Level(level) for code, level in given.get("rules", {}).items()},
            given.get("settings", {}),
            TypeAdapter(tuple[Waiver, ...]).validate_python(given.get("waivers", ())),
        )

    def level(self, finding: Finding) -> Level:
        """What happens for a finding; a waived one is shown and stops nothing."""
        if finding.waiver:
            return Level.ADVISORY
        return self.levels.get(finding.code, LEVELS[finding.severity])


class Judge:
    """What one run of the pack remembers: its settings, the objects it saw before they were made, and what it reported on each."""

    def __init__(self, today: Callable[[], dt.date] = dt.date.today) -> None:
        self._today = today
        self._settings = Settings()
        self._documents: dict[str, Document] = {}
        self._reported: set[Key] = set()
        self._judged: tuple[Finding, ...] | None = None

    def resource(self, args: ResourceValidationArgs, report: ReportViolation) -> None:
        """Judges one resource alone, before it is made."""
        self._settings = Settings.read(args.get_config() or {})
        self._judged = None
        seen = document(args.resource_type, args.props, args.urn)
        if seen is None:
            return
        self._documents[args.urn] = seen
        # Kinds that start nothing are judged with the stack alone: programs have many of them.
        kind = kinds().get(args.resource_type.rpartition(":")[2])
        if kind and kind.runs_nothing:
            return
        for finding in self._at(Level.MANDATORY, self._findings([seen], closed=False)):
            self._reported.add(_key(finding))
            report(finding.text(), args.urn)

    def stack(self, args: StackValidationArgs, report: ReportViolation) -> None:
        """Judges the whole stack and reports what no resource alone shows."""
        for finding in self._at(Level.MANDATORY, self._whole(args)):
            if _key(finding) not in self._reported:
                report(finding.text(), finding.subject.file)

    def advice(self, args: StackValidationArgs, report: ReportViolation) -> None:
        """Reports what is advisory on the whole stack, waived findings among it."""
        for finding in self._at(Level.ADVISORY, self._whole(args)):
            report(finding.text(), finding.subject.file)

    def _whole(self, args: StackValidationArgs) -> tuple[Finding, ...]:
        if self._judged is None:
            # What was asked for says more than what came back: the API server fills in defaults and a status.
            seen = [self._documents.get(each.urn) or document(each.resource_type, each.props, each.urn) for each in args.resources]
            self._judged = self._findings([each for each in seen if each], closed=True)
        return self._judged

    def _findings(self, documents: Sequence[Document], *, closed: bool) -> tuple[Finding, ...]:
        bundle = recognise(documents, closed=closed, parse=_parse)
        return judge(bundle, self._settings.thresholds, self._settings.waivers, today=self._today())

    def _at(self, level: Level, findings: Iterable[Finding]) -> Iterable[Finding]:
        return (finding for finding in findings if self._settings.level(finding) is level)


def _key(finding: Finding) -> Key:
    return finding.subject.file, finding.code, finding.path, finding.summary


def _parse(text: str) -> Any:
    try:
        return yaml.load(text, Loader=_Loader)
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from None


LEVEL_SCHEMA = {"type": "string", "enum": [level.value for level in (Level.MANDATORY, Level.ADVISORY, Level.DISABLED)]}
SCHEMA = PolicyConfigSchema(
    {
        "rules": {
            "type": "object",
            "description": "Level of single rules by code.",
            "additionalProperties": False,
            "properties": {rule.code: LEVEL_SCHEMA for rule in RULES},
        },
        "settings": {
            "type": "object",
            "description": "Thresholds by CODE.name.",
            "additionalProperties": {"type": ["string", "number", "boolean"]},
        },
        "waivers": {
            "type": "array",
            "description": "Findings accepted with a reason.",
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["code", "reason"],
                "properties": {
                    "code": {"type": "string", "pattern": "^[A-Z]+-[0-9]{3}$"},
                    "path": {"type": "string"},
                    "reason": {"type": "string", "minLength": 3},
                    "expires": {"type": "string", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"},
                },
            },
        },
    }
)


def policies() -> list[Policy]:
    """The pack's policies, in the order in which they see a resource. Rules, thresholds and waivers are configured on the first."""
    judge_ = Judge()
    return [
        ResourceValidationPolicy(
            "contradictions",
            "What Kubernetes, Ray and vLLM are told in this object contradicts itself.",
            judge_.resource,
            Level.MANDATORY,
            SCHEMA,
        ),
        StackValidationPolicy(
            "contradictions-across",
            "Objects of this stack contradict each other.",
            judge_.stack,
            Level.MANDATORY,
        ),
        StackValidationPolicy("advice", "Works, but not well; or accepted by a waiver.", judge_.advice, Level.ADVISORY),
    ]
