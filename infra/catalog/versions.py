"""What changed in which version of vLLM: one table of named switches (versions.json), so that no version stands in code."""

import re
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


# What a build from source calls itself when its clone has no tags (setuptools-scm), and a release of which only the first digit is said.
_UNTAGGED, _ANY_OF = re.compile(r"^v?0\.1\.dev\d+(\+\w+)?"), re.compile(r"^v?\d+\.\d*[xX]")


def meant(text: str) -> tuple[Version, str]:
    """(the release whose rules are taken for what somebody wrote as a version, why it is not the one that stands there).

    ``0.1.dev20500+g1a2b3c4`` is a build from source, ``0.3x`` some release from 0.30 on; ``nightly`` and words say nothing; a release newer
    than those that were read follows the newest of them. The reason is empty where the version is taken as written.
    """
    plain, last = text.strip(), newest()
    if _UNTAGGED.match(plain):
        return last, f"version {plain[:40]} is a build from source without tags: the rules of {last} are taken"
    if _ANY_OF.match(plain):
        return last, f"version {plain[:40]} names no release: the rules of {last} are taken"
    found = Version.find(plain)
    if found is None:
        return last, f"version {plain[:40]!r} cannot be read: the rules of {last} are taken"
    if found.release > last:
        return found.release, f"version {found} is newer than any that was read: the rules of {last} are taken"
    return found.release, ""
