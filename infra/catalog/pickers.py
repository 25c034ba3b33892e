"""What the versions of an endpoint picker and of its sidecar read: flags, plugins and keys of their configuration."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from interlock.infra.catalog.images import image_reference
from interlock.infra.catalog.tables import table
from interlock.infra.values import Version

_FILE = "pickers.json"


@cache
def program_of(image: str) -> Mapping[str, Any]:
    """The row of the program that an image holds; empty for any other image."""
    name = image_reference(image).name if len(image) < 1000 else ""
    return next((row for row in table(_FILE)["programs"] if name and re.search(row["image"], name)), {})


def called(program: str) -> str:
    """A program in words."""
    return str(next((row["called"] for row in table(_FILE)["programs"] if row["program"] == program), program))


def groups_of(program: str) -> tuple[str, ...]:
    """API groups of the objectives that a program reads; where the cluster has several of them, it takes the first alone."""
    return tuple(next((row["groups"] for row in table(_FILE)["programs"] if row["program"] == program), ()))


@cache
def _read() -> tuple[Version, ...]:
    return tuple(found for text in table(_FILE)["read"] if (found := Version.parse(text)))


def was_read(version: Version | None) -> bool:
    """Whether the source of this very minor version was read."""
    return version is not None and any(version.release == each for each in _read())


@dataclass(frozen=True, slots=True)
class Gone:
    """A name that a program does not take any more."""

    what: str
    """``flag`` or ``feature gate``."""
    since: str
    instead: str
    effect: str


@cache
def gone(program: str, version: Version | None) -> Mapping[tuple[str, str], Gone]:
    """What a version (the newest that was read when None) refuses, by (what, name)."""
    release = version.release if version else _read()[-1]
    found: dict[tuple[str, str], Gone] = {}
    for row in table(_FILE)["gone"]:
        since = Version.parse(row["since"])
        if row["program"] == program and since and since <= release:
            found |= {(row["what"], name): Gone(row["what"], row["since"], fix, row["effect"]) for name, fix in row["names"].items()}
    return found


def needs_consent(plugin: str, version: Version | None) -> str:
    """The flag that a picker needs for a plugin; empty where it needs none."""
    row = table(_FILE)["alpha"]
    since = Version.parse(row["since"])
    late = version is None or (since is not None and since <= version.release)
    return str(row["flag"]) if late and plugin in row["names"] else ""


def plugins(version: Version) -> frozenset[str]:
    """Types of plugins that a version has."""
    rows, read = table(_FILE)["plugins"], table(_FILE)["read"]
    here = [text for text in read if (each := Version.parse(text)) and each <= version.release]
    return frozenset(name for text in here for name in rows[text])


def keys(place: str, version: Version) -> frozenset[str] | None:
    """Keys that a configuration may hold at a place; None for a place that the table does not describe."""
    data = table(_FILE)
    if place not in data["keys"]:
        return None
    newer = data["newer"].get(place, {})
    came = (name for name, text in newer.items() if (since := Version.parse(text)) and since <= version.release)
    return frozenset((*data["keys"][place], *came))


def places() -> Iterator[str]:
    """The places of a configuration whose keys are known."""
    yield from table(_FILE)["keys"]


def way_out(key: str) -> str:
    """What to do about a key that no version reads; empty where nothing is known."""
    return str(table(_FILE)["never"].get(key, ""))
