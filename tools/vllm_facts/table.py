"""Facts of many versions folded into spans: consecutive read versions in which nothing about a name changed."""

from collections.abc import Mapping
from typing import Any

from interlock.infra.values import Version
from tools.common import ToolError
from tools.vllm_facts.env import Variable
from tools.vllm_facts.hints import UNKNOWN, Facts
from tools.vllm_facts.metrics import Metric

Row = dict[str, Any]


def released(version: str) -> Version:
    """Where a release stands in the order. Raises ToolError for a text that is none."""
    found = Version.parse(version)
    if found is None:
        raise ToolError(f"{version} is not a release of vLLM")
    return found


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
    order = sorted(by_version, key=released)
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
