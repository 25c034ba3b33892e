"""Defaults and behaviours of vLLM by version: one table of switches, each with the version it changed in."""

import re
from functools import cache
from typing import Any

from interlock.infra.catalog.tables import table

Version = tuple[int, int, int]
_FILE = "vllm_defaults.json"


@cache
def parse_version(words: str) -> Version | None:
    """The version in a text such as ``0.33.0``, ``v0.11``, ``0.26.1rc1.dev608``, ``>=0.27``; None when there is none.

    A range counts as its first version, a development build as the release it precedes.
    """
    match = re.search(r"(?<![\d.])(\d{1,2})\.(\d+)(?:\.(\d+))?", words)
    if not match:
        return None
    major, minor, patch = match.groups()
    return int(major), int(minor), int(patch or 0)


def newest() -> Version:
    """The newest version whose code was read."""
    found = parse_version(table(_FILE)["newest"])
    assert found is not None
    return found


@cache
def switch(name: str, version: Version) -> Any:
    """The value that a switch has in a version. Raises KeyError for an unknown switch."""
    value = None
    for since, setting in table(_FILE)["switches"][name]:
        start = parse_version(since)
        if start is not None and version >= start:
            value = setting
    return value


def batch_defaults(version: Version, memory_gib: float, gpu_name: str, capability: float | None) -> tuple[int, int, int]:
    """(batched tokens of a server, of the offline class, sequences) for a device
    (vLLM: ``engine/arg_utils.py::get_batch_defaults``)."""
    for row in table(_FILE)["batches"]:
        if memory_gib < row["memory_gib"] or ("needs" in row and not switch(row["needs"], version)):
            continue
        if any(word in gpu_name.lower() for word in row.get("not_names", ())) or capability == row.get("not_capability", -1):
            continue
        return int(row["server"]), int(row["offline"]), int(row["sequences"])
    return 2048, 8192, 256


def v2_architectures() -> frozenset[str]:
    """MoE architectures that the V2 model runner took before it took everything."""
    return frozenset(table(_FILE)["v2_dense_and"])
