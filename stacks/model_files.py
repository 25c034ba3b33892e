"""Reads a stack's configuration with the config.json files that it names, for the program and the command alike. Needs no Pulumi."""

from collections.abc import Mapping
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


def _server(server: object, path: str, folder: Path, source: str, problems: list[Problem]) -> object:
    model = server.get("model") if isinstance(server, Mapping) else None
    named = model.get("config") if isinstance(model, Mapping) else None
    if not isinstance(server, Mapping) or not isinstance(model, Mapping) or not isinstance(named, str):
        return server
    try:
        return {**server, "model": {**model, "config": read_config(folder / named)}}
    except ValueError as error:
        problems.append(Problem(path, f"{named!r} {error}", source))
        return server
