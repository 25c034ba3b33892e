"""The examples of each rule: one document with the fault, and the same with the remedy applied."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml

from tools.common import ROOT

FOLDER = ROOT / "cli" / "examples"


@dataclass(frozen=True, slots=True)
class Example:
    """``form`` is ``manifest`` (YAML as anybody writes it) or ``case`` (facts as ``tools.cases`` reads them)."""

    code: str
    form: str
    bad: str
    good: str


def example(path: Path) -> Example:
    data = yaml.safe_load(path.read_text(encoding="utf-8"))
    return Example(path.stem, data["form"], data["bad"], data["good"])


def examples() -> Mapping[str, Example]:
    return {path.stem: example(path) for path in sorted(FOLDER.glob("*.yaml"))}
