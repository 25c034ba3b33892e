"""Reads a stack's configuration with the config.json files that it names, for the program and the command alike. Needs no Pulumi."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from interlock.infra.config import ClusterConfig, load
from interlock.infra.errors import ConfigError, Problem
from interlock.infra.rules.settings import stated_problems
from interlock.stacks.model_config import read_config


def read_cluster(data: object, folder: Path, source: str) -> ClusterConfig:
    """The configuration in ``data``, with every file that it names and every rule that it speaks of. Raises ConfigError."""
    config = load(with_model_configs(data, folder, source), source)
    stated = stated_problems(config.rules, [waiver.code for waiver in config.waivers])
    problems = [Problem(path, text, source) for path, text in stated]
    if problems:
        raise ConfigError(problems)
    return config


def with_model_configs(data: object, folder: Path, source: str) -> object:
    """``data`` with the content in place of every ``servers[].model.config`` that is a path from ``folder``. Raises ConfigError."""
    servers = data.get("servers") if isinstance(data, Mapping) else None
    if not isinstance(data, Mapping) or not isinstance(servers, list):
        return data
    problems: list[Problem] = []
    read = [_server(server, f"servers[{index}].model.config", folder, source, problems) for index, server in enumerate(servers)]
    if problems:
        raise ConfigError(problems)
    return {**data, "servers": read}


def named_files(data: object) -> Iterator[str]:
    """The files that a configuration names, as ``with_model_configs`` reads them: paths from the folder of its own file."""
    servers = data.get("servers") if isinstance(data, Mapping) else None
    for server in servers if isinstance(servers, list) else ():
        if named := _named(server):
            yield named


def _named(server: object) -> str | None:
    model = server.get("model") if isinstance(server, Mapping) else None
    named = model.get("config") if isinstance(model, Mapping) else None
    return named if isinstance(named, str) else None


def _server(server: object, path: str, folder: Path, source: str, problems: list[Problem]) -> object:
    named = _named(server)
    if named is None or not isinstance(server, Mapping):
        return server
    try:
        return {**server, "model": {**server["model"], "config": read_config(folder / named)}}
    except ValueError as error:
        problems.append(Problem(path, f"{named!r} {error}", source))
        return server
