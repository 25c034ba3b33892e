"""The parsers of several versions of vLLM, asked about many command lines at once."""

import json
import os
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tools.common import ToolError, home, locked
from tools.engine_env import env
from tools.mechanisms import artefacts

WORKER = Path(__file__).with_name("worker.py")
INSTALLED = "0.32.0"
"""The version of the engine environment."""
VERSIONS = ("0.26.0", "0.29.0", INSTALLED, "0.33.0")
# Offline, the arguments would look for the model in the cache.
QUIET = {"VLLM_LOGGING_LEVEL": "ERROR", "VLLM_NO_USAGE_STATS": "1", "HF_HUB_OFFLINE": "0", "OMP_NUM_THREADS": "1"}
Argv = tuple[str, ...]


def fetch() -> None:
    """Gets the Python files of the versions that are not installed. Raises ToolError."""
    vllm = next(each for each in artefacts.ARTEFACTS if each.name == "vllm")
    with locked(home() / "mechanisms" / ".lock", "waiting for another fetch of vLLM's Python files to end ..."):
        for version in VERSIONS:
            if version != INSTALLED:
                artefacts.folder(vllm, version)


def missing() -> str:
    """Why the parsers cannot be asked here; empty when they can."""
    if not env.whole(env.folder()):
        return "the engine environment is not built: python -m tools.engine_env"
    absent = [version for version in VERSIONS if version != INSTALLED and not _sources(version).is_dir()]
    return f"the Python files of vLLM {', '.join(absent)} are not here: python -m tools.parsers" if absent else ""


def answers(asked: Mapping[str, Sequence[Argv]]) -> dict[str, list[str]]:
    """By version what its parser says against each command line: empty when it takes it. Raises ToolError."""
    told: dict[str, list[str]] = _answered(asked)
    return told


def fields() -> dict[str, dict[str, list[str]]]:
    """By version each argument that is an object of a class, with the fields of that class. Raises ToolError."""
    told: dict[str, dict[str, list[str]]] = _answered(dict.fromkeys(VERSIONS))
    return told


def _answered(asked: Mapping[str, Sequence[Argv] | None]) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as name:
        folder, jobs = Path(name), []
        for version, lines in asked.items():
            (folder / f"{version}.asked").write_text(json.dumps(lines))
            tree = None if version == INSTALLED else str(_sources(version))
            question = None if lines is None else str(folder / f"{version}.asked")
            jobs.append({"asked": question, "told": str(folder / f"{version}.told"), "folder": tree})
        (folder / "jobs.json").write_text(json.dumps(jobs))
        command = [str(env.python_of(env.folder())), str(WORKER), str(folder / "jobs.json")]
        done = subprocess.run(command, cwd=folder, env=os.environ | QUIET, capture_output=True, text=True, check=False)
        if done.returncode:
            raise ToolError(f"{done.returncode} of vLLM's parsers did not answer:\n{(done.stdout + done.stderr)[-2000:]}", code=1)
        return {version: json.loads((folder / f"{version}.told").read_text()) for version in asked}


def _sources(version: str) -> Path:
    return home() / "mechanisms" / "vllm" / version
