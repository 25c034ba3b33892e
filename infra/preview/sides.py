"""At which side a contradiction is told, and what mends what a person added beside the fields of the config."""

import json
from collections.abc import Sequence
from enum import Enum
from typing import Any

from interlock.infra.config.base import Config
from interlock.infra.config.cluster import ClusterConfig
from interlock.infra.engine.arguments import read_arguments
from interlock.infra.engine.options import MANAGED, options
from interlock.infra.engine.words import Word
from interlock.infra.manifests.placed import Draft, Source
from interlock.infra.paths import at, path_of, steps_of
from interlock.infra.rules.findings import Fix

Side = tuple[Source, Draft | None]
Mended = tuple[str, tuple[Fix, ...]]
_ADDED, _PATCH, _ARGS = ".extra.", ".extra.pod_patch", ".extra.args["


def told_side(sides: Sequence[Side], config: ClusterConfig) -> Side:
    """Where a contradiction is told: at what a person added to the plan's own objects, else at what a person wrote, else at its first side.

    The plan's objects agree with each other, so what was added is what contradicts them, and what was removed comes before all.
    """
    added = [side for side in sides if _ADDED in side[0].field]
    gone = [side for side in added if _PATCH in side[0].field and _takes_away(config, side[0].field)]
    wrote = [side for side in sides if written(config, side[0].field)]
    return (gone or added or wrote or list(sides))[0]


def value_of(config: ClusterConfig, field: str) -> str:
    """What stands in a field, as text; empty for nothing, and for what is not a single value."""
    value = found_at(config, field)
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, str | int | float) else ""


def written(config: ClusterConfig, field: str) -> bool:
    """Whether something stands in the field, be it a mapping or a list; a part of the config with fields of its own does not count."""
    value = found_at(config, field)
    return bool(value_of(config, field)) or (bool(value) and not isinstance(value, Config))


def found_at(config: ClusterConfig, field: str) -> Any:
    """What stands in a field; None for nothing."""
    try:
        return at(config, field)
    except LookupError:
        return None


def mended(told: Source, first: Source, config: ClusterConfig, owner: str) -> Mended | None:
    """(fix in words, as changes) of a contradiction that is told at what a person added; None where the rule's own fix is the better one.

    Without a part of ``pod_patch`` the plan's own value holds again, and an argument that the plan did not count with has a field that it
    does count with.
    """
    field = told.field
    if _PATCH in field and (told is not first or _takes_away(config, field)):
        return overridden(told, owner)
    return _argument(config, field, owner) if _ARGS in field and told is not first else None


def overridden(told: Source, owner: str) -> Mended:
    """The fix of what a patch overrides: without it the plan's own value holds."""
    return f"remove {told.field.removeprefix(f'{owner}.')}", (Fix(path=told.field),)


def _takes_away(config: ClusterConfig, field: str) -> bool:
    """Whether a person wrote null there, which removes what the plan has."""
    *above, last = steps_of(field)
    place = found_at(config, path_of(above))
    return isinstance(place, dict) and last in place and place[last] is None


def _argument(config: ClusterConfig, field: str, owner: str) -> Mended | None:
    args = at(config, f"{owner}.extra.args")
    words = [Word(text, path=f"{owner}.extra.args[{place}]") for place, text in enumerate(args)]
    flag = next((each for each in read_arguments(words).flags if field in (each.path, each.value.path)), None)
    if flag is None:
        return None
    name, said = flag.name.replace("-", "_"), flag.raw.split()[0].partition("=")[0]
    gone = Fix(path=flag.path, flag=said.lstrip("-"))
    if name in MANAGED or name not in options() or not flag.value.known:
        return f"remove {said} from extra.args", (gone,)
    stated = f"state engine.{name}: {flag.value.get()} in place of {said} in extra.args"
    return stated, (Fix(path=f"{owner}.engine.{name}", value=_typed(flag.value.get())), gone)


def _typed(text: str) -> bool | int | float | str:
    """The value as YAML has it."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return value if isinstance(value, bool | int | float) else text
