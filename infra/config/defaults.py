"""What every server of a stack has unless it says otherwise: written once, under ``defaults``."""

from collections.abc import Mapping
from typing import Any

from interlock.infra.config.servers import ServerConfig
from interlock.infra.errors import Problem

KEY = "defaults"
ITS_OWN = ("name",)
OPTIONAL = frozenset(name for name, field in ServerConfig.model_fields.items() if field.default is None)
"""Parts that a server has only where it states them: a default route gives no server a route."""


def with_defaults(data: Mapping[str, Any]) -> Mapping[str, Any]:
    """``data`` with its defaults in every server: mappings are merged, everything else of a server's own stands."""
    given, servers = data.get(KEY), data.get("servers")
    if not isinstance(given, Mapping) or not isinstance(servers, list | tuple):
        return data
    return {**data, "servers": [_server(given, each) if isinstance(each, Mapping) else each for each in servers]}


def default_problems(data: Mapping[str, Any], source: str) -> list[Problem]:
    """What ``defaults`` says that is each server's own, or no part of a server."""
    given = data.get(KEY)
    if not isinstance(given, Mapping):
        return [] if given is None else [Problem(KEY, "is not a mapping with fields of a server", source)]
    wrong = [Problem(f"{KEY}.{name}", "is each server's own: state it there", source) for name in ITS_OWN if name in given]
    known = ServerConfig.model_fields
    return wrong + [Problem(f"{KEY}.{name}", "is not a field of a server", source) for name in given if name not in known]


def written(data: Mapping[str, Any], location: tuple[str | int, ...]) -> tuple[str | int, ...]:
    """Where a person wrote what stands at ``location``: in ``defaults`` where the server itself does not say it."""
    if location[:1] != ("servers",) or len(location) < 3 or not isinstance(location[1], int):
        return location
    rest = location[2:]
    own = _at(data.get("servers"), location[1:])
    return (KEY, *rest) if own is None and _at(data.get(KEY), rest) is not None else location


def _server(given: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    absent = [name for name, value in given.items() if name in OPTIONAL and isinstance(value, Mapping) and own.get(name) is None]
    return _merged({name: value for name, value in given.items() if name not in absent}, own)


def _merged(given: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    both = [name for name in own if isinstance(own[name], Mapping) and isinstance(given.get(name), Mapping)]
    return {**given, **own, **{name: _merged(given[name], own[name]) for name in both}}


def _at(data: Any, location: tuple[str | int, ...]) -> Any:
    for step in location:
        if isinstance(data, Mapping):
            data = data.get(step)
        elif isinstance(data, list | tuple) and isinstance(step, int) and step < len(data):
            data = data[step]
        else:
            return None
    return data
