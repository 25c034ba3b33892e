"""Arguments that exclude or need each other, by the table of everything that stops vLLM at its start."""

import re
from collections.abc import Iterable

from interlock.infra.catalog.relations import Refused, refused, relations
from interlock.infra.facts import Bundle, Place, Workload
from interlock.infra.rules.findings import Fix, Severity
from interlock.infra.rules.gpu_devices import official
from interlock.infra.rules.reading.planner import refusals
from interlock.infra.rules.reading.relations import Asked
from interlock.infra.rules.reading.units import where
from interlock.infra.rules.rule import Hit, Settings, drop, put, rule
from interlock.infra.values import Version


@rule(
    "ARG-020",
    Severity.ERROR,
    demand="Arguments, variables, model and devices agree as the engine's version demands.",
    reason="The engine checks the combination before it loads anything, and stops.",
    source="infra/catalog/vllm_relations.json, whose rows name the check in the wheels 0.8.5 to 0.33.0 (docs/mechanisms.md)",
    remedy="Change one of the two.",
    links=("https://docs.vllm.ai/en/latest/cli/serve/",),
)
def agree(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    if not workload.engine.flags and not workload.engine.env:
        return
    facts = Asked(workload, bundle)
    planned = [each.refusal for each in refusals(workload, bundle) if each.sure]
    for found in refused(facts, _judged(workload), written=facts.written()):
        if any(each.field == found.relation.at for each in planned):
            continue  # The planner has told of this argument, with a value that is accepted.
        fact = facts[found.relation.at]
        value = str(fact.value)[:80] if fact.known else ""
        level = Severity(found.relation.severity) if _certain(workload, found) else Severity.WARNING
        text = f"{found.message} ({found.relation.source.removeprefix('vllm/')})"
        place = where(workload, Place.ARGS, fact)
        yield Hit(place, text, found.fix, value, severity=level, fault=found.relation.id, fixes=_change(found, place))


_AWAY = re.compile(r"remove (?:it|--([a-z0-9-]+))")
_SET = re.compile(r"set --([a-z0-9-]+)(?: to at least)? (\d+)")


def _change(found: Refused, place: str) -> tuple[Fix, ...]:
    """The one change that a fix is; none where it is a choice, or inside of JSON."""
    at, away, stated = found.relation.at, _AWAY.fullmatch(found.fix), _SET.fullmatch(found.fix)
    if ":" in at or "." in at:
        return ()
    if away and away[1] in (None, at):
        return drop(place, flag=at)
    return put(place, stated[2], flag=stated[1]) if stated and stated[1] == at else ()


def _judged(workload: Workload) -> str:
    """The version whose rows are asked: the stated one, else the newest that was read, as for versions that came after it."""
    version, read = workload.engine.release, relations().read
    newest = Version.parse(read[-1])
    return read[-1] if version is None or (newest and version > newest) else str(workload.engine.version.value)


def _certain(workload: Workload, found: Refused) -> bool:
    """Whether the engine surely stops: its image is a known publisher's, and its version, or every version that was read, refuses."""
    if not official(workload):
        return False
    version, newest = workload.engine.release, Version.parse(relations().read[-1])
    return found.relation.since == relations().read[0] if version is None else newest is not None and version <= newest
