"""The artefacts whose refusals are read, their versions and files, and how to get them from their registries."""

import json
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools.common import ToolError, home
from tools.mechanisms import crds, go_source, python_source
from tools.mechanisms.rows import Condition
from tools.wheels import python_files

Reader = Callable[[Path, str], Iterator[Condition]]


@dataclass(frozen=True, slots=True)
class Part:
    """Files of an artefact that one reader reads."""

    files: tuple[str, ...]
    """Patterns below the artefact's folder."""
    only: str = ""
    """Functions that are read; empty for all."""


@dataclass(frozen=True, slots=True)
class Artefact:
    """One wheel or Go module."""

    name: str
    registry: str
    """``wheel`` or ``module``."""
    package: str
    versions: tuple[str, ...]
    """Oldest first."""
    parts: tuple[Part, ...]
    base: str = ""
    """Folder inside the artefact from which paths are told."""

    def conditions(self, version: str) -> list[Condition]:
        """All refusals of one version, which is fetched if it is not there. Raises ToolError."""
        top = folder(self, version) / self.base
        found: dict[str, Condition] = {}
        for part in self.parts:
            for path in sorted({path for pattern in part.files for path in top.glob(pattern)}):
                name = str(path.relative_to(top))
                found |= {each.id: each for each in _reader(path, part)(path, name)}
        if not found:
            raise ToolError(f"{self.name} {version}: none of its files has a refusal; have they moved?", code=1)
        return list(found.values())


def _reader(path: Path, part: Part) -> Reader:
    if path.suffix == ".py":
        return python_source.refusals
    if path.suffix == ".go":
        return lambda file, name: go_source.refusals(file, name, part.only)
    return crds.refusals


def folder(artefact: Artefact, version: str) -> Path:
    """Where one version lies, fetched once, or put there by hand where no registry hands it out. Raises ToolError."""
    own = home() / "mechanisms" / artefact.name / version
    if own.is_dir():
        return own
    if artefact.registry == "wheel":
        return python_files(artefact.package, version, home() / "mechanisms" / artefact.name / version)
    return _module(f"{artefact.package}@{version}")


def _module(module: str) -> Path:
    """The folder of a module in Go's cache. A module that asks for a newer Go is unpacked all the same: it is only read."""
    done = subprocess.run(["go", "mod", "download", "-json", module], capture_output=True, text=True, check=False)
    told = json.loads(done.stdout or "{}")
    if "Dir" in told:
        return Path(told["Dir"])
    cache = subprocess.run(["go", "env", "GOMODCACHE"], capture_output=True, text=True, check=True).stdout.strip()
    unpacked = Path(cache) / module
    if not unpacked.is_dir():
        raise ToolError(f"{module}: {told.get('Error') or done.stderr}", code=1)
    return unpacked


def _read(row: dict[str, Any]) -> Artefact:
    parts = tuple(Part(tuple(part["files"]), part.get("only", "")) for part in row["parts"])
    return Artefact(row["name"], row["registry"], row["package"], tuple(row["versions"]), parts, row.get("base", ""))


ARTEFACTS = tuple(_read(row) for row in json.loads((Path(__file__).parent / "artefacts.json").read_text(encoding="utf-8")))
"""All artefacts, in the order of the page."""
