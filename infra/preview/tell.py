"""Findings on our own objects, told as findings on the config: the field that a person wrote, its value, and a fix that names fields."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from interlock.infra.config.base import Config
from interlock.infra.config.cluster import ClusterConfig
from interlock.infra.engine.options import MANAGED, options
from interlock.infra.manifests.placed import CONFIG_ROOTS, Draft, Source
from interlock.infra.paths import at, steps_of
from interlock.infra.plan.types import ClusterPlan
from interlock.infra.preview.sides import found_at, mended, overridden, told_side, value_of, written
from interlock.infra.rules.findings import Finding, Fix, Subject

_OWNERS = {"servers": "Server", "stores": "Store", "tenants": "Tenant", "pools": "Pool"}
# What has another word in the config than in the manifest.
_PHRASES = (
    ("strategy Recreate, or maxSurge 0 and maxUnavailable 1", "rollout.strategy to recreate or in-place"),
    (
        "use ReadWriteMany (or ReadOnlyMany), or a StatefulSet with a claim of its own per replica",
        "set the store's access to ReadWriteMany",
    ),
    ("set the maximum to", "set autoscale.max_replicas to"),
    ("give the startup probe at least", "set startup_seconds to at least"),
    (" (failureThreshold x periodSeconds)", ""),
    ("set proxy-read-timeout", "set route.timeout_seconds"),
    ("name it in repository and tag, as in own-vllm:vllm0.33.0-7", "state the version as vllm beside this reference"),
    ("strategy Recreate", "rollout.strategy to recreate"),
    ("maxSurge 0 and maxUnavailable 1", "rollout.strategy to in-place"),
    ("maxUnavailable to 1", "rollout.strategy to in-place"),
    ("remove kv_role", "remove transfer"),
    ("choose pool ", "set pool to "),
    ("give HF_TOKEN from a Secret", "set hub_token_secret to a Secret with a token"),
)
# Flags, fields of a part, camelCase names and environment variables, with the number that they are to have.
_NAME = re.compile(
    r"(?<![\w.-])(--[a-z][a-z0-9-]+|[a-z]+\.[a-zA-Z]+|[a-z]+[A-Z][A-Za-z]+|[A-Z]+_[A-Z0-9_]+)(?:( to (?:at least )?)(\d+)(s\b)?)?"
)
_PORT = re.compile(r"(set (?:it|targetPort) to \d+), or start the engine with --port \d+")
_SILENCE = re.compile(r"allow (\d+) s or more(, and hang_seconds \d+ in \w+)?")
_OWN_FIELD = re.compile(r"(?<![\w.])(?:autoscale|engine|image|model|rollout|route|runtime)\.[a-z_]+")
_SECONDS = re.compile(r"(\d+)s")
_PATCHED_ARGS = re.compile(r"\.extra\.pod_patch\..*\.args$")


def told(findings: Iterable[Finding], config: ClusterConfig, plan: ClusterPlan, drafts: Sequence[Draft], source: str) -> list[Finding]:
    """Each finding with the field, the value and the fix in the words of the config; ``drafts[i]`` is document ``i`` of the subjects."""
    return [_told(finding, config, plan, drafts, source) for finding in findings]


def _told(finding: Finding, config: ClusterConfig, plan: ClusterPlan, drafts: Sequence[Draft], file: str) -> Finding:
    draft = None if finding.subject.kind in ("Pool", "") else drafts[finding.subject.document]
    owner = draft.owner if draft else finding.path
    first = Source(finding.path) if finding.path.startswith(CONFIG_ROOTS) else (draft and draft.source(finding.path)) or Source(owner)
    sides = [(first, draft)]
    sides += [(source, drafts[spot.document]) for spot in finding.also if (source := drafts[spot.document].source(spot.path))]
    place, draft = told_side(sides, config)
    # What may be a credential is shown as the rule masked it, never read again.
    masked = finding.code.startswith("SEC-") and place.field != owner
    value = finding.value if masked else value_of(config, place.field)
    remedy, fixes = _fix(finding, place, first, draft, config)
    return replace(
        finding,
        path=place.field,
        value=value,
        remedy=remedy,
        fixes=fixes,
        also=(),
        note="" if value or not place.why or written(config, place.field) else _decision(plan, owner, place.why),
        subject=_subject(finding.subject, config, owner, file),
    )


def _fix(finding: Finding, place: Source, first: Source, draft: Draft | None, config: ClusterConfig) -> tuple[str, tuple[Fix, ...]]:
    """The fix in words and as changes, in the fields of the config."""
    if draft is None:
        return finding.remedy, finding.fixes
    own, fixes = _counted(reworded(finding.remedy, draft), config, draft.owner), _fixes(finding.fixes, draft, config)
    found = mended(place, first, config, draft.owner)
    if found is None and ".extra.pod_patch" in place.field:
        # A field that the patch overrides would change nothing.
        elsewhere = _OWN_FIELD.search(own) and place.field.removeprefix(f"{draft.owner}.") not in own
        return overridden(place, draft.owner) if elsewhere else (own, fixes)
    # Two numbers that a person wrote, of which neither follows from the other: the rule says how they may meet.
    weighed = ".extra.args[" in place.field and written(config, first.field) and not fixes
    if found is None or weighed:
        return own, fixes
    # A field that a person wrote, too, has to follow what was added.
    kept = tuple(each for each in fixes if place is not first and written(config, each.path) and ".extra." not in each.path)
    return (f"{found[0]}, and {own}" if kept else found[0]), (*found[1], *kept)


def _subject(subject: Subject, config: ClusterConfig, owner: str, file: str) -> Subject:
    """What a person called the owner of the object; an object without one keeps its own name."""
    steps = steps_of(owner)
    kind = _OWNERS.get(str(steps[0])) if steps else None
    if kind is None or len(steps) < 2:
        return replace(subject, file=file, document=0)
    name = at(config, f"{steps[0]}[{steps[1]}].name")
    return Subject(kind=kind, name=name, namespace=subject.namespace, file=file)


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
        # A word that a person wrote, and what follows from no field of its own, keep their names.
        if source is None or ".extra.args[" in source.field or source.field in (draft.owner, f"{draft.owner}.engine"):
            return match[0]
        field = source.field.removeprefix(f"{draft.owner}.")
        return field + (f"{match[2]}{max(int(match[3]) - source.plus, 0)}" if match[2] else "")

    # The port is the plan's: what asks another one has to follow.
    remedy = _PORT.sub(r"\1", remedy) if draft.owner.startswith("servers[") else remedy
    remedy = _SILENCE.sub(r"set runtime.hang_seconds to \1 or more", remedy) if draft.owner.startswith("servers[") else remedy
    for phrase, words in _PHRASES if draft.owner.startswith("servers[") else ():
        remedy = remedy.replace(phrase, words)
    return _NAME.sub(name, remedy)


_GPUS = re.compile(r"( and )?ask for (\d+) GPUs? per replica")


def _counted(remedy: str, config: ClusterConfig, owner: str) -> str:
    """The fix with the field of a number of GPUs that a person wrote; one that the plan counts follows by itself."""
    stated = written(config, f"{owner}.gpus")
    return _GPUS.sub(lambda found: f"{found[1] or 'set '}gpus to {found[2]}" if stated or not found[1] else "", remedy)


def _fixes(fixes: Sequence[Fix], draft: Draft, config: ClusterConfig) -> tuple[Fix, ...]:
    """The same changes of the config's fields, each once; none when one of them has no field of its own, or removes what nobody wrote."""
    fields, made = _fields(draft), []
    for fix in fixes:
        source = (fields.get(f"--{fix.flag}") if fix.flag else None) or draft.source(fix.path)
        if source is None or (fix.value is None and not value_of(config, source.field) and not written(config, source.field)):
            return ()
        if fix.value is not None and isinstance(found_at(config, source.field), Mapping | list | tuple | Config):
            return ()  # One of several, of which a person has to choose.
        own = ".extra.args" in source.field
        made.append(Fix(path=source.field, value=_number(fix.value, source, config), flag=fix.flag if own else ""))
    return tuple({(each.path, each.flag): each for each in made}.values())


def _number(value: bool | int | float | str | None, source: Source, config: ClusterConfig) -> bool | int | float | str | None:
    """The value as the field writes it: seconds without a unit, a number without quotes, less what the plan adds."""
    seconds = _SECONDS.fullmatch(value) if isinstance(value, str) and source.field.endswith("_seconds") else None
    if seconds or ((source.plus or source.times > 1) and isinstance(value, int)):
        return max(int(seconds[1] if seconds else value or 0) * source.times - source.plus, 0)
    counted = isinstance(value, str) and value.isdigit() and isinstance(found_at(config, source.field), int)
    return int(value or 0) if counted else value


def _fields(draft: Draft) -> dict[str, Source]:
    """Sources by the names that fixes use: a field's last key, a variable, a flag; one that stands for two fields is left out."""
    # Arguments that a patch put in place of the plan's follow no field.
    replaced = any(_PATCHED_ARGS.search(source.field) for source in draft.sources.values())
    stated = () if replaced else (name for name in options() if name not in MANAGED)
    found = {f"--{name.replace('_', '-')}": Source(f"{draft.owner}.engine.{name}") for name in stated}
    several: dict[str, set[Source]] = {}
    # What makes a number only together with others (tries of a probe) has another field under the same name elsewhere.
    for path, source in ((path, source) for path, source in draft.sources.items() if source.times == 1):
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
