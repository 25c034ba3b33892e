"""The table of program families: what can be built, how, and which installed tool serves instead."""

import hashlib
import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tools.common import TOOLCHAIN, ToolError, home

TABLE = TOOLCHAIN / "families.json"


@dataclass(frozen=True, slots=True)
class OnPath:
    """How an installed tool is recognised: what it prints for ``arguments`` must hold a version in [at_least, below)."""

    arguments: tuple[str, ...]
    pattern: str
    at_least: str
    below: str
    beside: tuple[str, ...] = ()

    def accepts(self, printed: str) -> str | None:
        """The version in ``printed`` when it fits, else None."""
        found = re.search(self.pattern, printed)
        if found and _numbers(self.at_least) <= _numbers(found[1]) < _numbers(self.below):
            return found[1]
        return None


@dataclass(frozen=True, slots=True)
class Family:
    """Programs that are built from one Go module: ``binaries`` maps the file name to its Go package.

    ``minutes`` is what a cold build took on two cores. ``scripts`` are files of the module's folder that go beside the programs.
    ``comes_with`` names a family that brings this one when it is installed.
    ``debian`` are packages that the programs need at run time. ``cgo``: it is built with a C compiler.
    """

    name: str
    version: str
    minutes: float
    binaries: dict[str, str]
    module: Path
    tags: tuple[str, ...] = ()
    defines: dict[str, str] = field(default_factory=dict)
    on_path: OnPath | None = None
    scripts: tuple[str, ...] = ()
    comes_with: str = ""
    debian: tuple[str, ...] = ()
    cgo: bool = False

    @property
    def ldflags(self) -> str:
        """The linker's flags: no symbol tables, and the version where the program reads it."""
        return " ".join(["-s -w", *(f"-X {name}={value.format(version=self.version)}" for name, value in self.defines.items())])

    def fingerprint(self) -> str:
        """12 hex digits over everything that decides what is built: the module's files, packages, tags and linker flags."""
        digest = hashlib.sha256(json.dumps([self.version, self.binaries, self.tags, self.ldflags], sort_keys=True).encode())
        for path in sorted(self.module.rglob("*")):
            relative = path.relative_to(self.module)
            if path.is_file() and relative.parts[0] != "gen" and "__pycache__" not in relative.parts:
                digest.update(str(relative).encode() + b"\0" + path.read_bytes())
        return digest.hexdigest()[:12]

    @property
    def folder(self) -> Path:
        """Where this build of this version lies; it exists only when the build is whole."""
        return home() / "tools" / f"{self.name}-{self.version}-{self.fingerprint()}"


def read_table(path: Path = TABLE) -> tuple[dict[str, Family], dict[str, list[str]]]:
    """All families by name, and the named sets of them."""
    table = json.loads(path.read_text())
    families = {}
    for row in table["families"]:
        defines = row.get("defines", {})
        families[row["name"]] = Family(
            name=row["name"],
            version=row["version"],
            minutes=row["minutes"],
            binaries=row["binaries"],
            module=path.parent / row.get("module", row["name"]),
            tags=tuple(row.get("tags", ())),
            defines=table["defines"][defines] if isinstance(defines, str) else defines,
            on_path=_on_path(row["on_path"]) if "on_path" in row else None,
            scripts=tuple(row.get("scripts", ())),
            comes_with=row.get("comes_with", ""),
            debian=tuple(row.get("debian", ())),
            cgo=row.get("cgo", False),
        )
    return families, table["sets"]


def select(names: Iterable[str], sets: Iterable[str], path: Path = TABLE) -> list[Family]:
    """The families of ``sets`` and ``names``, each once, in the table's order.

    Raises ToolError for a name that is not in the table.
    """
    families, known = read_table(path)
    wanted = list(names)
    for chosen in sets:
        if chosen not in known:
            raise ToolError(f"--for {chosen}: there is no such set; there are {', '.join(known)}")
        wanted += known[chosen]
    for name in wanted:
        if name not in families:
            raise ToolError(f"{name}: there is no such program family; there are {', '.join(families)}")
    return [family for family in families.values() if family.name in wanted]


@dataclass(frozen=True, slots=True)
class Installed:
    """A tool that is on PATH already: its file, and its version."""

    path: Path
    version: str


def installed(family: Family) -> dict[str, Installed]:
    """The programs of ``family`` on PATH when all of them are there in a fitting version, else nothing.

    What this project built or wrapped itself does not count.
    """
    if family.on_path is None:
        return {}
    path = _foreign_path()
    found = {}
    for binary in (*family.binaries, *family.on_path.beside):
        at = shutil.which(binary, path=path)
        if at is None:
            return {}
        if binary in family.on_path.beside:
            continue
        version = family.on_path.accepts(_printed(at, family.on_path.arguments))
        if version is None:
            return {}
        found[binary] = Installed(Path(at), version)
    return found


def _on_path(row: dict[str, Any]) -> OnPath:
    return OnPath(tuple(row["arguments"]), row["pattern"], row["at_least"], row["below"], tuple(row.get("beside", ())))


def _foreign_path() -> str:
    ours = (home().resolve(), TOOLCHAIN.parent)
    folders = os.environ.get("PATH", "").split(os.pathsep)
    return os.pathsep.join(folder for folder in folders if folder and not any(Path(folder).resolve().is_relative_to(at) for at in ours))


def _printed(path: str, arguments: tuple[str, ...]) -> str:
    try:
        done = subprocess.run([path, *arguments], capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout + done.stderr


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version))
