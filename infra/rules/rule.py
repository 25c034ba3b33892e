"""What a rule is: one pure function over facts, with the words that explain it."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from interlock.infra.facts import Bundle, Origin, Workload
from interlock.infra.rules.findings import Finding, Severity, Subject


@dataclass(frozen=True, slots=True)
class Hit:
    """What a rule's function yields; the rule adds code, severity and subject."""

    path: str
    summary: str
    remedy: str
    value: str = ""
    detail: str = ""
    severity: Severity | None = None
    """Overrides the rule's own, for example info when a fact is unknown."""
    origin: Origin | None = None
    """For whole-set rules: the object it is about."""
    fault: str = ""
    """Overrides the rule's own fault kind."""


Settings = Mapping[str, float | int | str | bool]


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule with its published words. Exactly one of ``workload`` and ``bundle`` is given."""

    code: str
    """Stable, ``GPU-001``."""
    severity: Severity
    demand: str
    """One line: what must hold."""
    reason: str
    """Why, with what happens otherwise."""
    source: str
    """Where that is known from: a source file of vLLM, Kubernetes documentation, a public issue, a measurement."""
    remedy: str
    """The usual way out."""
    fault: str = ""
    """Kind of fault as in docs/findings.md."""
    links: tuple[str, ...] = ()
    workload: Callable[[Workload, Bundle, Settings], Iterable[Hit]] | None = None
    bundle: Callable[[Bundle, Settings], Iterable[Hit]] | None = None
    settings: Settings = field(default_factory=dict)
    """Thresholds with their defaults; the user may set them by ``CODE.name``."""

    def judge(self, facts: Bundle, settings: Settings) -> Iterable[Finding]:
        """All findings of this rule over ``facts``. Workload rules hold for vLLM only; other engines are named and skipped."""
        if self.bundle:
            for hit in self.bundle(facts, settings):
                yield self._finding(hit, hit.origin or Origin())
        elif self.workload:
            for workload in facts.workloads:
                if workload.engine.name != "vllm":
                    continue
                for hit in self.workload(workload, facts, settings):
                    yield self._finding(hit, hit.origin or workload.origin)

    def _finding(self, hit: Hit, origin: Origin) -> Finding:
        subject = Subject(kind=origin.kind, name=origin.name, namespace=origin.namespace, file=origin.file, document=origin.document)
        return Finding(
            code=self.code,
            severity=hit.severity or self.severity,
            path=hit.path,
            value=hit.value,
            summary=hit.summary,
            detail=hit.detail or self.reason,
            remedy=hit.remedy,
            fault=hit.fault or self.fault,
            subject=subject,
        )
