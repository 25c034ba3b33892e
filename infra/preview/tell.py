"""Findings on our own objects, told as findings on the config: the field that a person wrote, its value, and a fix that names fields."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from enum import Enum

from interlock.infra.config.base import Config
from interlock.infra.config.cluster import ClusterConfig
from interlock.infra.engine.options import MANAGED, options
from interlock.infra.manifests.placed import CONFIG_ROOTS, Draft, Source
from interlock.infra.paths import at, steps_of
from interlock.infra.plan.types import ClusterPlan
from interlock.infra.rules.findings import Finding, Fix, Subject

_OWNERS = {"servers": "Server", "stores": "Store", "tenants": "Tenant", "pools": "Pool"}
# What has another word in the config than in the manifest.
_PHRASES = (
    ("give the startup probe at least", "set startup_seconds to at least"),
    (" (failureThreshold x periodSeconds)", ""),
    ("set proxy-read-timeout", "set route.timeout_seconds"),
    ("name it in repository and tag, as in own-vllm:vllm0.33.0-7", "state the version as vllm beside this reference"),
    ("strategy Recreate", "rollout.strategy to recreate"),
    ("maxSurge 0 and maxUnavailable 1", "rollout.strategy to in-place"),
    ("maxUnavailable to 1", "rollout.strategy to in-place"),
)
# Flags, fields of a part, camelCase names and environment variables, with the number that they are to have.
_NAME = re.compile(
    r"(?<![\w.-])(--[a-z][a-z0-9-]+|[a-z]+\.[a-zA-Z]+|[a-z]+[A-Z][A-Za-z]+|[A-Z]+_[A-Z0-9_]+)(?:( to (?:at least )?)(\d+)(s\b)?)?"
)
_PORT = re.compile(r"(set (?:it|targetPort) to \d+), or start the engine with --port \d+")
_SECONDS = re.compile(r"(\d+)s")


def told(findings: Iterable[Finding], config: ClusterConfig, plan: ClusterPlan, drafts: Sequence[Draft], source: str) -> list[Finding]:
    """Each finding with the field, the value and the fix in the words of the config; ``drafts[i]`` is document ``i`` of the subjects."""
    return [_told(finding, config, plan, drafts, source) for finding in findings]


def _told(finding: Finding, config: ClusterConfig, plan: ClusterPlan, drafts: Sequence[Draft], file: str) -> Finding:
    written = finding.path.startswith(CONFIG_ROOTS)
    draft = None if finding.subject.kind in ("Pool", "") else drafts[finding.subject.document]
    owner = draft.owner if draft else finding.path
    place = Source(finding.path) if written else (draft and draft.source(finding.path)) or Source(owner)
    # What may be a credential is shown as the rule masked it, never read again.
    value = finding.value if finding.code.startswith("SEC-") else _value(config, place.field)
    return replace(
        finding,
        path=place.field,
        value=value,
        remedy=_counted(reworded(finding.remedy, draft), config, draft.owner) if draft else finding.remedy,
        fixes=_fixes(finding.fixes, draft) if draft else finding.fixes,
        note="" if value or not place.why or _written(config, place.field) else _decision(plan, owner, place.why),
        subject=_subject(finding.subject, config, owner, file),
    )


def _subject(subject: Subject, config: ClusterConfig, owner: str, file: str) -> Subject:
    """What a person called the owner of the object; an object without one keeps its own name."""
    steps = steps_of(owner)
    kind = _OWNERS.get(str(steps[0])) if steps else None
    if kind is None or len(steps) < 2:
        return replace(subject, file=file, document=0)
    name = at(config, f"{steps[0]}[{steps[1]}].name")
    return Subject(kind=kind, name=name, namespace=subject.namespace, file=file)


def _value(config: ClusterConfig, field: str) -> str:
    """What stands in a field, as text; empty for nothing, and for what is not a single value."""
    try:
        value = at(config, field)
    except LookupError:
        return ""
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, str | int | float) else ""


def _written(config: ClusterConfig, field: str) -> bool:
    """Whether something stands in the field, be it a mapping or a list; a part of the config with fields of its own does not count."""
    try:
        value = at(config, field)
    except LookupError:
        return False
    return bool(value) and not isinstance(value, Config)


def _decision(plan: ClusterPlan, owner: str, why: str) -> str:
    steps = steps_of(owner)
    server = plan.servers[int(steps[1])] if steps[0] == "servers" else None
    reason = server.why.get(why) if server else None
    return f"decided by the plan: {reason.told}" if reason else "decided by the plan"


def reworded(remedy: str, draft: Draft) -> str:
    """The fix with the fields of the config in place of flags, manifest fields and variables that follow from them."""
    fields = _fields(draft)

    def name(match: re.Match[str]) -> str:
        source = fields.get(match[1]) or fields.get(match[1].partition(".")[0] + ".")
        if source is None:
            return match[0]
        field = source.field.removeprefix(f"{draft.owner}.")
        return field + (f"{match[2]}{max(int(match[3]) - source.plus, 0)}" if match[2] else "")

    # The port is the plan's: it differs by a word among the arguments, or by a patch of what asks it.
    port = fields.get("--port")
    own = "remove --port from extra.args" if port and ".extra.args[" in port.field else None
    remedy = _PORT.sub(lambda found: own or found[1], remedy) if port and draft.owner.startswith("servers[") else remedy
    for phrase, words in _PHRASES if draft.owner.startswith("servers[") else ():
        remedy = remedy.replace(phrase, words)
    return remedy if own and own in remedy else _NAME.sub(name, remedy)


_GPUS = re.compile(r"( and )?ask for (\d+) GPUs? per replica")


def _counted(remedy: str, config: ClusterConfig, owner: str) -> str:
    """The fix with the field of a number of GPUs that a person wrote; one that the plan counts follows by itself."""
    written = _written(config, f"{owner}.gpus")
    return _GPUS.sub(lambda found: f"{found[1] or 'set '}gpus to {found[2]}" if written else "" if found[1] else found[0], remedy)


def _fixes(fixes: Sequence[Fix], draft: Draft) -> tuple[Fix, ...]:
    """The same changes of the config's fields, each once; none when one of them has no field of its own."""
    fields, made = _fields(draft), []
    for fix in fixes:
        source = fields.get(f"--{fix.flag}") if fix.flag else draft.source(fix.path)
        if source is None:
            return ()
        own = ".extra.args" in source.field
        made.append(Fix(path=source.field, value=_number(fix.value, source), flag=fix.flag if own else ""))
    return tuple({(each.path, each.flag): each for each in made}.values())


def _number(value: bool | int | float | str | None, source: Source) -> bool | int | float | str | None:
    """The value as the field writes it: seconds without a unit, less what the plan adds."""
    seconds = _SECONDS.fullmatch(value) if isinstance(value, str) and source.field.endswith("_seconds") else None
    if seconds or (source.plus and isinstance(value, int)):
        return max(int(seconds[1] if seconds else value or 0) - source.plus, 0)
    return value


def _fields(draft: Draft) -> dict[str, Source]:
    """Sources by the names that fixes use: a field's last key, a variable, a flag; one that stands for two fields is left out."""
    found = {f"--{name.replace('_', '-')}": Source(f"{draft.owner}.engine.{name}") for name in options() if name not in MANAGED}
    several: dict[str, set[Source]] = {}
    for path, source in draft.sources.items():
        last = steps_of(path)[-1] if path else ""
        entry = at(draft.manifest, path) if isinstance(last, int) else last
        entry = entry.get("name") if isinstance(entry, dict) else entry
        name = str(entry).partition("=")[0]
        if name.isidentifier() and isinstance(last, str):
            several.setdefault(f"{name}.", set()).add(source)
        if _NAME.fullmatch(name) and ".extra.env." not in source.field:
            if name.startswith("--"):
                several.pop(name, None)  # of an argument that is given twice the last one counts
            several.setdefault(name, set()).add(source)
    return found | {name: next(iter(sources)) for name, sources in several.items() if len(sources) == 1}
