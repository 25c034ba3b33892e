"""Facts of many versions folded into spans: consecutive read versions in which nothing about a name changed."""

import re
from collections.abc import Mapping
from typing import Any

from tools.vllm_facts.env import Variable
from tools.vllm_facts.hints import UNKNOWN, Facts
from tools.vllm_facts.metrics import Metric

Row = dict[str, Any]


def version_key(version: str) -> tuple[int, ...]:
    """Sort key of a release: '0.10.1.1' -> (0, 10, 1, 1), '0.8.5.post1' -> (0, 8, 5, 0, 1)."""
    release, _, post = version.partition(".post")
    numbers = tuple(int(n) for n in re.findall(r"\d+", release))
    return numbers if not post else (*(numbers + (0,) * (4 - len(numbers))), int(post))


def flag_row(facts: Facts) -> Row:
    row: Row = {"kind": facts.kind}
    if facts.type and facts.kind in ("value", "list"):
        row["type"] = facts.type
    if facts.choices is not None:
        row["choices"] = list(facts.choices)
    if facts.default is not UNKNOWN:
        row["default"] = facts.default
    if facts.config:
        row["config"] = facts.config
    if facts.aliases:
        row["aliases"] = list(facts.aliases)
    if facts.deprecated:
        row["deprecated"] = True
    return row


def env_row(variable: Variable) -> Row:
    row: Row = {"declared": variable.declared}
    if variable.type:
        row["type"] = variable.type
    if variable.default is not UNKNOWN:
        row["default"] = variable.default
    return row


def metric_row(metric: Metric) -> Row:
    row: Row = {}
    if metric.type:
        row["type"] = metric.type
    if metric.labels:
        row["labels"] = list(metric.labels)
    if metric.hidden:
        row["hidden"] = True
    if metric.engine == "v0":
        row["engine"] = "v0"
    return row


def metric_key(name: str, metric: Metric) -> str:
    """Counters are exposed with `_total` whether or not the source writes it: kept without."""
    return name.removesuffix("_total") if metric.type == "counter" else name


def spans(by_version: Mapping[str, Mapping[str, Row]]) -> dict[str, list[Row]]:
    """{version: {name: row}} -> {name: [{since, until, ...row}]}, versions in release order."""
    order = sorted(by_version, key=version_key)
    names = sorted({name for rows in by_version.values() for name in rows})
    return {name: _spans_of(name, order, by_version) for name in names}


def _spans_of(name: str, order: list[str], by_version: Mapping[str, Mapping[str, Row]]) -> list[Row]:
    found: list[Row] = []
    previous: Row | None = None
    for version in order:
        row = by_version[version].get(name)
        if row is not None and row == previous:
            found[-1]["until"] = version
        elif row is not None:
            found.append({"since": version, "until": version, **row})
        previous = row
    return found
