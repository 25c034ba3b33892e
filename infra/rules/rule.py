"""What a rule is: one pure function over facts, with the words that explain it right above it."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import ModuleType
from typing import Literal, NotRequired, TypedDict, Unpack, overload

from interlock.infra.facts import Bundle, Origin, Workload
from interlock.infra.rules.findings import Finding, Fix, Severity, Spot, Subject


@dataclass(frozen=True, slots=True)
class Hit:
    """What a rule's function yields; the rule adds code, severity and subject."""

    path: str
    summary: str
    remedy: str = ""
    """Empty: the rule's own remedy."""
    value: str = ""
    detail: str = ""
    severity: Severity | None = None
    """Overrides the rule's own, for example info when a fact is unknown; an info is never raised."""
    origin: Origin | None = None
    """For whole-set rules: the object it is about."""
    fault: str = ""
    """Overrides the rule's own fault kind."""
    fixes: tuple[Fix, ...] = ()
    """The remedy as changes, where it is mechanical: ``put`` and ``drop`` make them."""
    also: tuple[tuple[Origin | None, str], ...] = ()
    """The other sides of a contradiction, by object (None: the one that it is about) and path."""


def put(path: str, value: bool | int | float | str, *, flag: str = "") -> tuple[Fix, ...]:
    """The change that sets ``value`` at ``path``, or the engine argument ``flag`` of the command line there."""
    return (Fix(path=path, value=value, flag=flag),)


def drop(path: str, *, flag: str = "") -> tuple[Fix, ...]:
    """The change that removes what stands at ``path``, or the engine argument ``flag`` of the command line there."""
    return (Fix(path=path, flag=flag),)


Settings = Mapping[str, float | int | str | bool]
OfWorkload = Callable[[Workload, Bundle, Settings], Iterable[Hit]]
OfBundle = Callable[[Bundle, Settings], Iterable[Hit]]


class Words(TypedDict):
    """What the decorator takes beside code and severity; each is a field of ``Rule``."""

    demand: str
    reason: str
    source: str
    remedy: str
    fault: NotRequired[str]
    links: NotRequired[tuple[str, ...]]
    settings: NotRequired[Settings]
    ours: NotRequired[Severity]


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
    """The usual fix."""
    fault: str = ""
    """Kind of fault as in docs/findings.md."""
    links: tuple[str, ...] = ()
    workload: OfWorkload | None = None
    bundle: OfBundle | None = None
    settings: Settings = field(default_factory=dict)
    """Thresholds with their defaults; the user may set them by ``CODE.name``."""
    ours: Severity | None = None
    """For objects of our own config, where nothing is unknown: findings are at least this severe, but for those that say info."""
    module: str = ""
    """Name of the module that it stands in: ``gpu_counts``."""

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

    def levels(self) -> tuple[Severity, ...]:
        """The rule's own severities: of anybody's objects, and of ours where they differ."""
        return (self.severity,) if self.ours is None else (self.severity, self.ours)

    def _level(self, hit: Hit, origin: Origin) -> Severity:
        stated = hit.severity or self.severity
        if not origin.ours or self.ours is None or hit.severity is Severity.INFO:
            return stated
        return max(stated, self.ours, key=lambda level: level.rank)

    def _finding(self, hit: Hit, origin: Origin) -> Finding:
        subject = Subject(kind=origin.kind, name=origin.name, namespace=origin.namespace, file=origin.file, document=origin.document)
        return Finding(
            code=self.code,
            severity=self._level(hit, origin),
            path=hit.path,
            value=hit.value,
            summary=hit.summary,
            detail=hit.detail or self.reason,
            remedy=hit.remedy or self.remedy,
            fixes=hit.fixes,
            fault=hit.fault or self.fault,
            also=tuple(Spot((other or origin).document, path) for other, path in hit.also if path),
            subject=subject,
        )


@overload
def rule(code: str, severity: Severity, *, of: Literal["workload"] = ..., **words: Unpack[Words]) -> Callable[[OfWorkload], Rule]: ...
@overload
def rule(code: str, severity: Severity, *, of: Literal["bundle"], **words: Unpack[Words]) -> Callable[[OfBundle], Rule]: ...
def rule(
    code: str, severity: Severity, *, of: Literal["workload", "bundle"] = "workload", **words: Unpack[Words]
) -> Callable[[OfWorkload], Rule] | Callable[[OfBundle], Rule]:
    """Makes a rule of the function below: it is asked once per vLLM workload, or once per set of documents (``of="bundle"``)."""
    if of == "bundle":
        return lambda function: Rule(code, severity, bundle=function, module=_module(function), **words)
    return lambda function: Rule(code, severity, workload=function, module=_module(function), **words)


def _module(function: Callable[..., object]) -> str:
    return function.__module__.rpartition(".")[2]


def rules_of(module: ModuleType) -> tuple[Rule, ...]:
    """The rules that stand in a module, in the order of its text."""
    own = module.__name__.rpartition(".")[2]
    return tuple(value for value in vars(module).values() if isinstance(value, Rule) and value.module == own)
