"""Reads a stack's configuration from its file, without the Pulumi CLI. Values under ``secure:`` are never read."""

import difflib
from argparse import ArgumentParser, Namespace
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from interlock.cli.reading.marked import read_stream
from interlock.infra.config import ClusterConfig
from interlock.infra.errors import ConfigError, Problem
from interlock.stacks.model_files import read_cluster

KEY = "interlock:cluster"
_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, slots=True)
class StackFile:
    """A stack's name, file and configuration."""

    stack: str
    source: str
    config: ClusterConfig


def stack_arguments(parser: ArgumentParser) -> None:
    """The options of every command about a stack."""
    parser.add_argument("--stack", "-s", metavar="STACK", help="stack whose Pulumi.STACK.yaml is read")
    parser.add_argument("--file", "-f", metavar="PATH", type=Path, help="any YAML file with the configuration")
    parser.add_argument("--json", action="store_true", help="JSON instead of tables or YAML")


def read_options(options: Namespace) -> StackFile:
    """The stack that the options of ``stack_arguments`` name. Raises ConfigError."""
    return read_stack(options.stack, options.file)


def read_stack(stack: str | None, file: Path | None, folder: Path | None = None) -> StackFile:
    """The configuration of ``stack`` (``Pulumi.<stack>.yaml`` in ``folder``) or of ``file``. Raises ConfigError."""
    folder = folder or Path()
    if (stack is None) == (file is None):
        raise ConfigError([Problem("", "name exactly one of --stack NAME and --file PATH")])
    path = file or folder / f"Pulumi.{stack}.yaml"
    if stack is not None and not path.exists():
        raise ConfigError([Problem("--stack", f"{stack!r} does not exist: there is no {path.name} here; {_known_stacks(folder, stack)}")])
    return StackFile(stack or _stack_name(path), path.name, read_cluster(cluster_data(path), path.parent, path.name))


def _stack_name(path: Path) -> str:
    name = path.name.removeprefix("Pulumi.").removesuffix(path.suffix)
    return "".join(char if char.isalnum() or char == "-" else "-" for char in name.lower()).strip("-") or "stack"


def _known_stacks(folder: Path, wanted: str) -> str:
    names = sorted(path.name.removeprefix("Pulumi.").removesuffix(".yaml") for path in folder.glob("Pulumi.*.yaml"))
    near = difflib.get_close_matches(wanted, names, n=1)
    if not names:
        return "run it in the folder that holds Pulumi.yaml"
    return f"did you mean {near[0]}?" if near else f"stacks here: {', '.join(names)}"


def cluster_data(path: Path) -> Any:
    """What a person wrote as the configuration in the file of a stack, or in any other. Raises ConfigError."""
    data = read_yaml(path)
    if not isinstance(data, dict):
        raise ConfigError([Problem("", "is empty" if data is None else f"holds {type(data).__name__}, not a mapping", path.name)])
    if "config" in data or "encryptionsalt" in data or "secretsprovider" in data:
        config = data.get("config") or {}
        if not isinstance(config, dict) or KEY not in config:
            raise ConfigError([Problem(KEY, "is missing under config:", path.name)])
        value = config[KEY]
        if isinstance(value, dict) and set(value) == {"secure"}:
            raise ConfigError([Problem(KEY, "is encrypted and cannot be read here; keep secrets in keys of their own", path.name)])
        return value
    return data.get(KEY, data)


def read_yaml(path: Path) -> Any:
    """The one document of a YAML file. Raises ConfigError with the place of the fault."""
    try:
        text = path.read_text("utf-8")
    except IsADirectoryError:
        raise ConfigError([Problem("", "is a folder, not a file", str(path))]) from None
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "is not UTF-8 text"
        raise ConfigError([Problem("", f"cannot be read: {reason}", str(path))]) from None
    try:
        documents = list(read_stream(text))
        twice = next((key for document in documents for key in document.duplicates), None)
        if twice:
            raise ConfigError([Problem(twice.path, "stands twice: keep one of them", str(path))])
        data = yaml.load(text, Loader=_Loader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        raise ConfigError([Problem("", f"is not YAML: {place}{getattr(error, 'problem', None) or error}", str(path))]) from None
    except ValueError as error:
        raise ConfigError([Problem("", f"holds a date or a number that does not exist: {error}", str(path))]) from None
    except RecursionError:
        raise ConfigError([Problem("", "is nested too deeply", str(path))]) from None
    # Aliases load as one shared object, but whoever walks or shows the data meets each of them anew.
    if unread := next((document.error for document in documents if document.error), None):
        raise ConfigError([Problem("", f"is not acceptable YAML: line {unread.line}, column {unread.column}: {unread.why}", str(path))])
    return data
