"""Applies the changes of a finding to parsed documents, as a tool would."""

import copy
import json
import re
from collections.abc import Iterable
from typing import Any

import yaml

from interlock.infra.rules.findings import Fix

_STEP = re.compile(r'\[(\d+)\]|\["([^"]+)"\]|\.?([^.\[\]]+)')


def applied(document: Any, fixes: Iterable[Fix]) -> Any:
    """A copy of ``document`` with all changes made. Raises when a path leads nowhere."""
    made = copy.deepcopy(document)
    for fix in fixes:
        steps: list[str | int] = [int(number) if number else quoted or name for number, quoted, name in _STEP.findall(fix.path)]
        made = _flag(made, steps, fix) if fix.flag else _changed(made, steps, fix)
    return made


def _changed(node: Any, steps: list[str | int], fix: Fix) -> Any:
    if isinstance(node, str) and steps:  # YAML or JSON inside a text, as in serveConfigV2
        changed = _changed(yaml.safe_load(node), steps, fix)
        return json.dumps(changed) if node.startswith("{") else yaml.safe_dump(changed)
    head, *rest = steps
    if rest:
        if isinstance(node, dict) and head not in node:
            node[head] = {}
        node[head] = _changed(node[head], rest, fix)
    elif fix.value is None:
        del node[head]
    else:
        node[head] = fix.value
    return node


def _flag(document: Any, steps: list[str | int], fix: Fix) -> Any:
    holder = steps[:-1] if isinstance(steps[-1], int) else steps
    node = document
    for step in holder:
        node = node.setdefault(step, []) if isinstance(node, dict) else node[step]
    node[:] = [*_without(node, fix.flag), *_words(fix)]
    return document


def _words(fix: Fix) -> list[str]:
    if fix.value is None:
        return []
    return [f"--{fix.flag}"] if fix.value is True else [f"--{fix.flag}={fix.value}"]


def _without(words: list[str], flag: str) -> list[str]:
    kept: list[str] = []
    skipping = False
    for word in words:
        name, equals, _ = word.partition("=")
        if name.startswith("-") and name.lstrip("-").replace("_", "-").removeprefix("no-") == flag.removeprefix("no-"):
            skipping = not equals
        elif skipping and not word.startswith("-"):
            skipping = False
        else:
            skipping = False
            kept.append(word)
    return kept
