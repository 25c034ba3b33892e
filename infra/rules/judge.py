"""All rules in one explicit tuple, and the one function that asks them: plan, program, policy pack and checker call it."""

import datetime as dt
from collections.abc import Sequence
from dataclasses import replace
from types import MappingProxyType

from interlock.infra.facts import Bundle
from interlock.infra.rules import (
    arg_flags,
    arg_options,
    arg_quantization,
    arg_relations,
    arg_transfer,
    arg_values,
    doc_documents,
    gpu_counts,
    gpu_devices,
    gpu_hardware,
    gpu_nccl,
    gpu_placement,
    gpu_plugin,
    gpu_pools,
    gpu_sharing,
    mem_card,
    mem_host,
    mem_known,
    mem_transfer,
    net_addresses,
    net_hosts,
    net_pickers,
    net_programs,
    net_routes,
    net_services,
    obs_metrics,
    ray_clusters,
    ray_gpus,
    ray_memory,
    ray_placement,
    ray_serve,
    roll_advice,
    roll_drain,
    roll_probes,
    roll_rollout,
    roll_supervisor,
    scale_autoscalers,
    scale_behaviour,
    scale_limits,
    scale_nodepools,
    scale_quota,
    sec_access,
    sec_pods,
    sec_secrets,
    sec_standards,
    sto_files,
    sto_filled,
    sto_placement,
    sto_preload,
    sto_room,
    sto_volumes,
    ver_images,
    ver_issues,
)
from interlock.infra.rules.findings import Finding, Severity, Waiver
from interlock.infra.rules.rule import Rule, Settings, rules_of
from interlock.infra.rules.waivers import annotated, apply_waivers

MODULES = (
    gpu_counts,
    gpu_sharing,
    gpu_pools,
    gpu_devices,
    gpu_plugin,
    gpu_hardware,
    gpu_nccl,
    gpu_placement,
    mem_card,
    mem_host,
    mem_known,
    mem_transfer,
    arg_flags,
    arg_options,
    arg_quantization,
    arg_relations,
    arg_transfer,
    arg_values,
    ray_gpus,
    ray_clusters,
    ray_memory,
    ray_placement,
    ray_serve,
    roll_advice,
    roll_probes,
    roll_rollout,
    roll_drain,
    roll_supervisor,
    net_services,
    net_addresses,
    net_pickers,
    net_programs,
    net_routes,
    net_hosts,
    sec_access,
    sec_secrets,
    sec_pods,
    sec_standards,
    sto_volumes,
    sto_room,
    sto_files,
    sto_filled,
    sto_placement,
    sto_preload,
    scale_autoscalers,
    scale_behaviour,
    scale_limits,
    scale_nodepools,
    scale_quota,
    obs_metrics,
    ver_images,
    ver_issues,
    doc_documents,
)
"""Every module of rules, by subject: a rule's code begins like the name of its module."""

RULES: tuple[Rule, ...] = tuple(rule for module in MODULES for rule in rules_of(module))
"""Every rule, by subject."""

# A policy pack judges thousands of objects one by one; most hold no engine.
_OF_SETS = tuple(rule for rule in RULES if rule.bundle is not None)

NO_SETTINGS: Settings = MappingProxyType({})


def judge(
    bundle: Bundle,
    settings: Settings = NO_SETTINGS,
    waivers: Sequence[Waiver] = (),
    *,
    today: dt.date,
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
    stated, unreadable = annotated(bundle)
    marked: list[Finding] = []
    for finding in (*found.values(), *unreadable):
        near = stated.get(finding.subject, ())
        marked.extend(apply_waivers([finding], (*waivers, *near), today))
    return tuple(sorted(marked, key=_place))


def _level(finding: Finding, rule: Rule, level: str) -> Finding:
    """The finding at the severity the user chose: it replaces the rule's own level and is a ceiling for softer findings of the rule."""
    if not level:
        return finding
    chosen = Severity(level)
    if finding.severity in rule.levels() or finding.severity.rank > chosen.rank:
        return replace(finding, severity=chosen)
    return finding


def _place(finding: Finding) -> tuple[object, ...]:
    subject = finding.subject
    return (subject.file, subject.document, subject.kind, subject.name, finding.code, finding.path, finding.value, finding.summary)
