"""What changed in which version of vLLM: one table of named switches (versions.json), so that no version stands in code."""

from functools import cache
from typing import Any

from interlock.infra.catalog.tables import table
from interlock.infra.values import Version

_FILE = "versions.json"


@cache
def newest() -> Version:
    """The newest version whose code was read."""
    return _version(table(_FILE)["newest"])


def _version(text: str) -> Version:
    found = Version.parse(text)
    if found is None:
        raise ValueError(f"{_FILE}: {text!r} is not a version")
    return found


@cache
def since(name: str, version: Version) -> bool:
    """Whether a version has the change of that name; a build before a release counts as the release. Raises KeyError for an unknown
    name, or one that has values."""
    row = table(_FILE)["switches"][name]
    release = version.release
    return _version(row["since"]) <= release and ("until" not in row or release < _version(row["until"]))


@cache
def value(name: str, version: Version) -> Any:
    """The value that a switch has in a version. Raises KeyError for an unknown name, or one that is on or off."""
    steps = table(_FILE)["switches"][name]["steps"]
    return next(setting for start, setting in reversed(steps.items()) if _version(start) <= version.release)


def first(name: str) -> Version:
    """The version that a change came in."""
    return _version(table(_FILE)["switches"][name]["since"])
