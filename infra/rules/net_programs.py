"""Programs of llm-d's router: what an endpoint picker or a sidecar does not read any more after an upgrade."""

from collections.abc import Iterable, Iterator

from interlock.infra.catalog import pickers
from interlock.infra.catalog.near import like
from interlock.infra.facts import Bundle, Fact, Objective, RouterProgram
from interlock.infra.rules.findings import Severity
from interlock.infra.rules.net_services import same_namespace
from interlock.infra.rules.rule import Hit, Settings, put, rule
from interlock.infra.values import Version

_LINKS = ("https://github.com/llm-d/llm-d-router/blob/main/RELEASE-NOTES.md",)


def _release(program: RouterProgram) -> Version | None:
    return Version.parse(program.version.get()) if program.version.known else None


def _named(program: RouterProgram) -> str:
    release = _release(program)
    return f"{pickers.called(program.program)} {release}" if release else pickers.called(program.program)


@rule(
    "NET-018",
    Severity.ERROR,
    demand="An endpoint picker and its sidecar are told only what their version reads.",
    reason="A flag, feature gate, plugin or key that it does not have ends it at its start; with failureMode FailClose no request passes.",
    source="infra/catalog/pickers.json: llm-d-router v0.9.0 and v0.10.0, read at the tags",
    remedy="Write what the version takes.",
    fault="picker-upgrade",
    links=_LINKS,
    of="bundle",
)
def told_what_it_reads(bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    for program in bundle.programs:
        # The versions that were read are sure; of later ones, and of tags that name none, it is likely.
        level = Severity.ERROR if pickers.was_read(_release(program)) else Severity.WARNING
        for path, text, remedy, value in (*_gone(program), *_without_consent(program), *_strange(program)):
            yield Hit(path or program.path, f"{_named(program)}: {text}", remedy, value, severity=level, origin=program.origin)


Told = Iterator[tuple[str, str, str, str]]
"""(path, what is wrong, fix, value)."""


def _gone(program: RouterProgram) -> Told:
    table = pickers.gone(program.program, _release(program))
    given = [("flag", name, value.path) for name, value in program.flags]
    given += [("feature gate", gate.get().partition("=")[0], gate.path) for gate in program.gates if gate.known]
    for what, name, path in given:
        row = table.get((what, name))
        if row is not None:
            shown = f"--{name}" if what == "flag" else f"the feature gate {name}"
            remedy = f"write {row.instead}" if row.instead else "remove it"
            yield path, f"{shown} is gone since {row.since}; {row.effect}", remedy, name


def _without_consent(program: RouterProgram) -> Told:
    if program.program != "picker" or not program.complete:
        return
    for plugin in program.plugins:
        flag = pickers.needs_consent(plugin.get(), _release(program)) if plugin.known else ""
        if flag and _off(program.flag(flag)):
            text = f"the plugin {plugin.get()} is an alpha one, which needs --{flag}: it ends at its start"
            yield plugin.path, text, f"add --{flag}=true to its arguments, or remove the plugin", plugin.get()


def _off(value: Fact[str] | None) -> bool:
    return value is None or (value.known and value.get().lower() in ("false", "0", "f"))


def _strange(program: RouterProgram) -> Told:
    release = _release(program)
    if program.program != "picker" or release is None or not pickers.was_read(release):
        return
    types = pickers.plugins(release)
    for plugin in program.plugins:
        if plugin.known and plugin.get() not in types:
            near = like(plugin.get(), types)
            remedy = f"write {near}" if near else "name a plugin of this version, or take the version that has it"
            yield plugin.path, f"it has no plugin of type {plugin.get()}, and ends at its start", remedy, plugin.get()
    for place, key, path in program.keys:
        known_keys = pickers.keys(place, release)
        if known_keys is not None and key not in known_keys:
            near = like(key, known_keys)
            where = f" of {place}" if place else ""
            remedy = pickers.way_out(key) or (f"write {near}" if near else "remove it")
            yield path, f"its configuration has no key {key}{where}, and is read strictly: it ends at its start", remedy, key


@rule(
    "NET-019",
    Severity.WARNING,
    demand="Objectives and model rewrites are of the API group that their picker reads.",
    reason="The picker ignores the others with one line of its log: every request has priority 0, and models are not rewritten.",
    source="infra/catalog/pickers.json: llm-d-router v0.9.0 pkg/epp/server/controller_config.go; gateway-api-inference-extension v1.5.0",
    remedy="Write them in the group that the picker reads.",
    fault="objective-ignored",
    links=_LINKS,
    of="bundle",
)
def objectives_are_read(bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    made = {(each.origin.kind, each.group.value) for each in bundle.objectives if each.group.known}
    for objective in bundle.objectives:
        for program in _pickers(objective, bundle):
            groups = pickers.groups_of(program.program)
            if not groups or not objective.group.known:
                continue
            # A resource of the first group that the set holds says that the cluster knows it: the others are not looked at.
            read = next((group for group in groups if (objective.origin.kind, group) in made), groups[0])
            if objective.group.get() != read:
                text = f"{_named(program)} reads {objective.origin.kind}s of {read}, and ignores those of {objective.group.get()}"
                path, made_of = objective.group.path, f"{read}/v1alpha2"
                yield Hit(path, text, f"write {made_of}", objective.group.get(), origin=objective.origin, fixes=put(path, made_of))


def _pickers(objective: Objective, bundle: Bundle) -> Iterator[RouterProgram]:
    """The pickers of the objective's pool; nothing where several may be meant."""
    if not objective.group.known:
        return
    near = [each for each in bundle.programs if same_namespace(each.origin.namespace, objective.origin.namespace)]
    near = [each for each in near if pickers.groups_of(each.program)]
    named = [each for each in near if (pool := each.flag("pool-name")) and pool.known and pool.get() == objective.pool.value]
    yield from named or (near if len(near) == 1 and near[0].flag("pool-name") is None else [])
