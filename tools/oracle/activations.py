"""Regenerates tests/engine/activation.jsonl: python -m tools.oracle --activation [--versions V ...] [--models M ...] [--fresh]."""

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from tools.common import ROOT, ToolError, home, say
from tools.oracle import catalog, environment

VERSIONS = ("0.26.0", "0.29.0", "0.33.0")
TARGET = ROOT / "tests" / "engine" / "activation.jsonl"


def answers(version: str) -> Path:
    return home() / "oracle" / "activation" / version


def assemble() -> int:
    """Write all kept lines into the file, by version and in the catalog's order; returns the number of lines."""
    order = [(version, name) for version in VERSIONS for name in catalog.models()]
    texts = [path.read_text(encoding="utf-8") for v, n in order if (path := answers(v) / f"{n}.jsonl").exists()]
    TARGET.write_text("".join(texts), encoding="utf-8")
    return sum(text.count("\n") for text in texts)


def ask(version: str, names: Sequence[str]) -> None:
    """Run the models whose lines are not kept yet."""
    missing = [name for name in names if not (answers(version) / f"{name}.jsonl").exists()]
    if not missing:
        return
    env = environment.ensure(version)
    command = [str(env / "bin" / "python"), "-m", "tools.oracle.activation", str(home() / "oracle" / "models"), str(answers(version))]
    variables = os.environ | {"LD_LIBRARY_PATH": str(env / "driver"), "PYTHONUNBUFFERED": "1"}
    finished = subprocess.run([*command, *missing], cwd=ROOT, env=variables, check=False)
    if finished.returncode:
        raise ToolError(f"the run of vLLM {version} ended with {finished.returncode}", code=1)


def regenerate(versions: Sequence[str], names: Sequence[str], *, fresh: bool) -> None:
    """Ask what is missing (everything when `fresh`) and write the file."""
    for version in (v for v in versions if v in VERSIONS):
        for name in names if fresh else ():
            (answers(version) / f"{name}.jsonl").unlink(missing_ok=True)
        ask(version, names)
    say(f"{TARGET.relative_to(ROOT)}: {assemble()} lines")
