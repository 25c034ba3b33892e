"""All rules in one explicit tuple, and the one function that asks them: plan, program, policy pack and checker call it."""

import datetime as dt
import re
from collections.abc import Iterable, Sequence
from types import MappingProxyType

from interlock.infra.facts import Bundle, Origin
from interlock.infra.rules import arg_flags as args
from interlock.infra.rules import arg_options as options
from interlock.infra.rules import doc_documents as documents
from interlock.infra.rules import gpu_counts as gpu
from interlock.infra.rules import gpu_devices as devices
from interlock.infra.rules import gpu_hardware_rules as hardware_rules
from interlock.infra.rules import gpu_pools as pools
from interlock.infra.rules import gpu_sharing as sharing
from interlock.infra.rules import mem_card as memory
from interlock.infra.rules import mem_host as host_memory
from interlock.infra.rules import net_routes as routes
from interlock.infra.rules import net_services as network
from interlock.infra.rules import obs_metrics as observe
from interlock.infra.rules import ray_rules
from interlock.infra.rules import roll_drain as drain
from interlock.infra.rules import roll_probes as probes
from interlock.infra.rules import roll_rollout as rollout
from interlock.infra.rules import scale_autoscalers as scaling
from interlock.infra.rules import scale_nodepools as nodepools
from interlock.infra.rules import sec_pods as security
from interlock.infra.rules import sec_secrets as secrets
from interlock.infra.rules import sto_placement as placement
from interlock.infra.rules import sto_volumes as storage
from interlock.infra.rules import ver_images as images
from interlock.infra.rules import ver_issues as issues
from interlock.infra.rules.findings import Finding, Severity, Subject, Waiver, apply_waivers
from interlock.infra.rules.rule import Rule, Settings

RULES: tuple[Rule, ...] = (
    *gpu.RULES,
    *sharing.RULES,
    *pools.RULES,
    *devices.RULES,
    *hardware_rules.RULES,
    *nodepools.RULES,
    *memory.RULES,
    *host_memory.RULES,
    *args.RULES,
    *options.RULES,
    *ray_rules.RULES,
    *probes.RULES,
    *rollout.RULES,
    *drain.RULES,
    *network.RULES,
    *routes.RULES,
    *secrets.RULES,
    *security.RULES,
    *storage.RULES,
    *placement.RULES,
    *scaling.RULES,
    *observe.RULES,
    *images.RULES,
    *issues.RULES,
    *documents.RULES,
)
"""Every rule, by subject."""

WAIVE = "interlock.dev/waive"
"""Annotation ``interlock.dev/waive: "GPU-003: reason; expires 2027-01-01"``; several may follow each other."""

# A policy pack judges thousands of objects one by one; most hold no engine.
_OF_SETS = tuple(rule for rule in RULES if rule.bundle is not None)

NO_SETTINGS: Settings = MappingProxyType({})

_WAIVER = re.compile(r"([A-Z]+-[0-9]{3}):\s*(.*?)\s*;?\s*(?=[A-Z]+-[0-9]{3}:|\Z)", re.DOTALL)
_EXPIRES = re.compile(r"[;,]?\s*expires:?\s+(\S+)\s*$")


def judge(
    bundle: Bundle,
    settings: Settings = NO_SETTINGS,
    waivers: Sequence[Waiver] = (),
    today: dt.date | None = None,
) -> tuple[Finding, ...]:
    """All findings over ``bundle``, each once, ordered by file, document, object, code and path.

    ``settings``: thresholds by ``CODE.name``; ``CODE.severity`` is ``error``, ``warning``, ``info`` or ``off``.
    ``waivers`` are those of the config; annotations on the objects themselves count too. ``today`` decides about their last day.
    """
    found: dict[tuple[object, ...], Finding] = {}
    for rule in RULES if bundle.workloads else _OF_SETS:
        level = str(settings.get(f"{rule.code}.severity", "")) if settings else ""
        if level == "off":
            continue
        own = {name: settings.get(f"{rule.code}.{name}", value) for name, value in rule.settings.items()} if settings else rule.settings
        for finding in rule.judge(bundle, own):
            leveled = _level(finding, rule, level)
            found.setdefault((leveled.code, leveled.subject, leveled.path, leveled.value, leveled.summary), leveled)
    stated, unreadable = _annotated(bundle)
    day = today or dt.date.today()
    marked: list[Finding] = []
    for finding in (*found.values(), *unreadable):
        near = stated.get(finding.subject, ())
        marked.extend(apply_waivers([finding], (*waivers, *near), day))
    return tuple(sorted(marked, key=_place))


def _level(finding: Finding, rule: Rule, level: str) -> Finding:
    """The finding at the severity the user chose: it replaces the rule's own level and is a ceiling for softer findings of the rule."""
    if not level:
        return finding
    chosen = Severity(level)
    if finding.severity is rule.severity or finding.severity.rank > chosen.rank:
        return finding.model_copy(update={"severity": chosen})
    return finding


def _place(finding: Finding) -> tuple[object, ...]:
    subject = finding.subject
    return (subject.file, subject.document, subject.kind, subject.name, finding.code, finding.path, finding.value, finding.summary)


def subject_of(origin: Origin) -> Subject:
    """The object of an origin, as findings name it."""
    return Subject(kind=origin.kind, name=origin.name, namespace=origin.namespace, file=origin.file, document=origin.document)


def _origins(bundle: Bundle) -> Iterable[tuple[Origin, Sequence[str]]]:
    """Every object with the texts of its waiver annotations."""
    for workload in bundle.workloads:
        near = [pod.annotations.get(WAIVE, "") for pod in workload.pods]
        yield workload.origin, (workload.origin.annotations.get(WAIVE, ""), *near)
    others = (
        bundle.services,
        bundle.routes,
        bundle.autoscalers,
        bundle.budgets,
        bundle.claims,
        bundle.secrets,
        bundle.quotas,
        bundle.pools,
    )
    for group in (*others, bundle.queries, bundle.scrapes, bundle.sharing, bundle.problems):
        for item in group:
            yield item.origin, (item.origin.annotations.get(WAIVE, ""),)


def _annotated(bundle: Bundle) -> tuple[dict[Subject, tuple[Waiver, ...]], tuple[Finding, ...]]:
    """Waivers by the object that carries them, and a warning for each annotation that cannot be read."""
    waivers: dict[Subject, tuple[Waiver, ...]] = {}
    unreadable: dict[Subject, Finding] = {}
    for origin, texts in _origins(bundle):
        subject = subject_of(origin)
        for text in texts:
            if not text.strip():
                continue
            read = read_waivers(text)
            waivers[subject] = (*waivers.get(subject, ()), *read)
            if not read:
                unreadable[subject] = _unreadable(subject, text)
    return waivers, tuple(unreadable.values())


def read_waivers(text: str) -> tuple[Waiver, ...]:
    """The waivers of an annotation's text; an entry without a reason or with a date that is none is left out."""
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


def _unreadable(subject: Subject, text: str) -> Finding:
    return Finding(
        code="CHECK-001",
        severity=Severity.WARNING,
        path=f"metadata.annotations[{WAIVE}]",
        value=text,
        summary="this waiver cannot be read, so nothing is waived",
        remedy=f'write {WAIVE}: "GPU-003: the reason; expires 2027-01-01" (a code, a reason, and a day if it ends)',
        subject=subject,
    )
