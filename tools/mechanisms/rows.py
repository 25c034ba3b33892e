"""A condition that stops a start, as read from an artefact and as judged by a person."""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_SPACE = re.compile(r"\s+")
MOST = 300
"""Characters of a condition or message that are kept; the identifier is made from the whole text."""


@dataclass(frozen=True, slots=True)
class Condition:
    """One refusal in the source of an artefact. Two versions share it when file, symbol, condition and message are the same."""

    file: str
    symbol: str
    """Class and function, or the path of a schema's field."""
    condition: str
    """Source text of what must hold for the refusal, outermost first."""
    message: str

    @property
    def id(self) -> str:
        """Independent of line numbers: the symbol and a digest of condition and message."""
        text = _SPACE.sub("", f"{self.condition}|{self.message}")
        return f"{self.file}::{self.symbol}#{hashlib.sha256(text.encode()).hexdigest()[:8]}"


@dataclass(frozen=True, slots=True)
class Row:
    """A condition with the versions in which it stands and what has been decided about it."""

    id: str
    condition: str
    message: str
    versions: tuple[str, ...]
    kind: str = ""
    """What it relates: see KINDS; empty while open."""
    covered: str = ""
    """Code of the rule that refuses it before the start, or ``relation:ID`` for a row of the relations table."""
    undecidable: str = ""
    """Key of WHY, where no manifest can show it."""
    group: str = ""
    """Name of the mechanism, shared by the rows that state it."""

    @property
    def state(self) -> str:
        """covered, undecidable or open."""
        return "covered" if self.covered else "undecidable" if self.undecidable else "open"

    def line(self) -> str:
        """The row as one line of JSON; empty fields are left out."""
        kept: dict[str, Any] = {"id": self.id, "condition": self.condition, "message": self.message, "versions": list(self.versions)}
        kept |= {name: value for name in ("kind", "covered", "undecidable", "group") if (value := getattr(self, name))}
        return json.dumps(kept, ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class Table:
    """The rows of one artefact."""

    artefact: str
    source: str
    versions: tuple[str, ...]
    rows: tuple[Row, ...] = field(default=())

    def text(self) -> str:
        """The file: one row per line, in the order of the source."""
        head = {"artefact": self.artefact, "source": self.source, "versions": list(self.versions)}
        start = ",\n".join(f" {json.dumps(key)}: {json.dumps(value)}" for key, value in head.items())
        body = ",\n".join(f"  {row.line()}" for row in self.rows)
        return f'{{\n{start},\n "rows": [\n{body}\n ]\n}}\n'


def read(path: Path) -> Table:
    """A stored table. Raises OSError and ValueError (broken JSON)."""
    data = json.loads(path.read_text(encoding="utf-8"))
    rows = tuple(Row(**row | {"versions": tuple(row["versions"])}) for row in data["rows"])
    return Table(data["artefact"], data["source"], tuple(data["versions"]), rows)


def merged(by_version: Mapping[str, Iterable[Condition]]) -> tuple[Row, ...]:
    """The conditions of all versions, each once, with the versions in which it stands; versions in the order given."""
    found: dict[str, tuple[Condition, list[str]]] = {}
    for version, conditions in by_version.items():
        for condition in conditions:
            versions = found.setdefault(condition.id, (condition, []))[1]
            if version not in versions:
                versions.append(version)
    rows = [Row(key, each.condition[:MOST], each.message[:MOST], tuple(versions)) for key, (each, versions) in found.items()]
    return tuple(sorted(rows, key=lambda row: row.id.split("#")[0]))


def judged(fresh: Iterable[Row], stored: Iterable[Row]) -> tuple[Row, ...]:
    """Fresh rows with the verdicts of the stored ones; a row that was not stored stays open."""
    old = {row.id: row for row in stored}
    return tuple(
        Row(row.id, row.condition, row.message, row.versions, before.kind, before.covered, before.undecidable, before.group)
        if (before := old.get(row.id))
        else row
        for row in fresh
    )


def differences(fresh: Iterable[Row], stored: Iterable[Row]) -> list[str]:
    """What a newly read artefact says that the stored table does not, and the reverse; one sentence each."""
    new, old = {row.id: row for row in fresh}, {row.id: row for row in stored}
    said = [f"open: {key}: {new[key].message or new[key].condition}" for key in new if key not in old]
    said += [f"gone: {key}" for key in old if key not in new]
    said += [
        f"versions: {key}: {', '.join(old[key].versions)} -> {', '.join(new[key].versions)}"
        for key in new
        if key in old and new[key].versions != old[key].versions
    ]
    return said
