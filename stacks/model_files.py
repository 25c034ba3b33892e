"""Reads a stack's configuration with the config.json files that it names, for the program and the command alike. Needs no Pulumi."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from interlock.infra.config import ClusterConfig, load
from interlock.infra.errors import ConfigError, Problem
from interlock.infra.paths import child_path
from interlock.infra.rules.settings import setting_problems, waiver_problems


def read_cluster(data: object, folder: Path, source: str) -> ClusterConfig:
    """The configuration in ``data``, with every file that it names and every rule that it speaks of. Raises ConfigError."""
    config = load(with_model_configs(data, folder, source), source)
    problems = [Problem(child_path("rules", name), text, source) for name, text in setting_problems(config.rules)]
    codes = [waiver.code for waiver in config.waivers]
    problems += [Problem(f"waivers[{at}].code", text, source) for at, text in waiver_problems(codes)]
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


def read_config(path: Path) -> dict[str, Any]:
    """The object in a config.json, or in the folder that holds one. Raises ValueError with what is wrong."""
    file = path / "config.json" if path.is_dir() else path
    try:
        found = json.loads(file.read_text("utf-8"))
    except OSError as error:
        raise ValueError(f"cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ValueError("is not UTF-8 text") from None
    except ValueError as error:
        raise ValueError(f"is not JSON: {error}") from None
    except RecursionError:
        raise ValueError("is nested too deeply") from None
    if not isinstance(found, dict):
        raise ValueError("does not hold a JSON object")
    return found
