"""``interlock rollback``: a server goes back to how it was when an update of its stack last succeeded with it otherwise."""

import difflib
import json
import subprocess
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from interlock.cli.stackfile import KEY, cluster_data, read_stack
from interlock.infra.errors import ConfigError, Problem

LOOKED = 50
"""Updates of the stack's history that are looked at."""


def arguments(parser: ArgumentParser) -> None:
    """The command's options."""
    parser.add_argument("server", metavar="SERVER", help="name of the server in the stack")
    parser.add_argument("--stack", "-s", metavar="STACK", required=True, help="stack whose Pulumi.STACK.yaml is changed")
    parser.add_argument("--write-only", action="store_true", help="change the file, and leave the update to you")


def run(options: Namespace) -> int:
    """Put a server back as it stood in the last good update of its stack, in the stack's file, and deploy it."""
    path = Path(f"Pulumi.{options.stack}.yaml")
    read_stack(options.stack, None)
    now = _block(cluster_data(path), options.server)
    if now is None:
        raise ConfigError([Problem("SERVER", f"{options.server!r} is not a server of this stack", path.name)])
    good = next((each for each in earlier(history(options.stack), options.server) if each[1] != now), None)
    if good is None:
        told = f"the last {LOOKED} updates that succeeded have the server {options.server!r} as it is now, or not at all"
        raise ConfigError([Problem("SERVER", f"{told}: change {path.name} by hand", options.stack)])
    before = path.read_text("utf-8")
    after = with_block(before, options.server, ordered(good[1], now))
    path.write_text(after, "utf-8")
    print(f"{options.server} as in the update of {good[0]}:")
    print("".join(difflib.unified_diff(before.splitlines(keepends=True), after.splitlines(keepends=True), path.name, path.name, n=1)))
    return 0 if options.write_only else _pulumi("up", "--yes", "--skip-preview", "--stack", options.stack).returncode


def earlier(updates: Sequence[Mapping[str, Any]], server: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """(time, the server's part of the config) of every update that succeeded, the newest first."""
    for each in updates:
        value = each.get("config", {}).get(KEY, {})
        if each.get("kind") == "update" and each.get("result") == "succeeded" and not value.get("secret"):
            stated = value.get("objectValue") or json.loads(value.get("value") or "null")
            block = _block(stated, server)
            if block is not None:
                yield str(each.get("startTime", "")), block


def ordered(block: Mapping[str, Any], like: Mapping[str, Any]) -> dict[str, Any]:
    """``block`` with its keys in the order in which a person wrote ``like``: the history keeps none."""
    order = ["name", *like]
    return {key: block[key] for key in sorted(block, key=lambda key: order.index(key) if key in order else len(order))}


def history(stack: str) -> list[Mapping[str, Any]]:
    """The stack's updates as Pulumi keeps them, the newest first. Raises ConfigError where it has none to tell."""
    done = _pulumi("stack", "history", "--stack", stack, "--json", "--page-size", str(LOOKED), quiet=True)
    if done.returncode:
        raise ConfigError([Problem("--stack", f"pulumi tells no history of {stack!r}: {done.stderr.strip() or done.stdout.strip()}")])
    found: list[Mapping[str, Any]] = json.loads(done.stdout or "[]")
    return found


def with_block(text: str, server: str, block: Mapping[str, Any]) -> str:
    """The file's text with the server's part replaced; everything else stays as it was written, comments too."""
    node = _node(yaml.compose(text, Loader=yaml.SafeLoader), server)
    start, lines = node.start_mark, text.splitlines(keepends=True)
    indent = " " * start.column
    written = yaml.safe_dump(dict(block), sort_keys=False, width=140, allow_unicode=True).splitlines(keepends=True)
    last = max(_last_line(node), start.line)
    head = lines[start.line][: start.column]
    body = [f"{head}{written[0]}", *(f"{indent}{line}" for line in written[1:])]
    return "".join([*lines[: start.line], *body, *lines[last + 1 :]])


def _last_line(node: yaml.Node) -> int:
    """The last line on which anything of ``node`` stands: the end of a block is where the next thing begins."""
    if isinstance(node, yaml.MappingNode) and not node.flow_style and node.value:
        return max(_last_line(part) for pair in node.value for part in pair)
    if isinstance(node, yaml.SequenceNode) and not node.flow_style and node.value:
        return max(map(_last_line, node.value))
    end = node.end_mark
    return int(end.line - 1 if end.column == 0 and end.line > node.start_mark.line else end.line)


def _node(root: Any, server: str) -> yaml.MappingNode:
    config = _child(root, "config")
    servers = _child(_child(root if config is None else config, KEY) or root, "servers")
    for item in servers.value if isinstance(servers, yaml.SequenceNode) else ():
        name = _child(item, "name")
        if isinstance(item, yaml.MappingNode) and isinstance(name, yaml.ScalarNode) and name.value == server:
            return item
    raise ConfigError([Problem("servers", f"{server!r} stands in the file by an anchor or in another form: change it by hand")])


def _child(node: Any, key: str) -> Any:
    pairs = node.value if isinstance(node, yaml.MappingNode) else ()
    return next((value for name, value in pairs if isinstance(name, yaml.ScalarNode) and name.value == key), None)


def _block(stated: Any, server: str) -> dict[str, Any] | None:
    servers = stated.get("servers") if isinstance(stated, Mapping) else None
    found = [each for each in servers or () if isinstance(each, dict) and each.get("name") == server]
    return found[0] if found else None


def _pulumi(*words: str, quiet: bool = False) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(["pulumi", *words], capture_output=quiet, text=True, check=False)
    except FileNotFoundError:
        raise ConfigError([Problem("pulumi", "is not on PATH: install the Pulumi CLI, which keeps the history")]) from None
