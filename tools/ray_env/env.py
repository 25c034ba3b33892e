"""Builds the environment of the real Ray once per content of its lock file, and runs Ray in it."""

import hashlib
import json
import os
import shutil
import subprocess
import time
from pathlib import Path

from tools.common import ToolError, home, locked, say
from tools.engine_env.env import interpreter, python_of, require_disk, whole

HERE = Path(__file__).parent
LOCK = HERE / "requirements.txt"
NEEDED_BYTES = 2 * 10**9
QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "PYTHONWARNINGS": "ignore"}


def ensure() -> Path:
    """The environment's folder, built when it is not whole. Raises ToolError without uv or disk space (2), or when installing fails (1)."""
    if shutil.which("uv") is None:
        raise ToolError("no uv on PATH, which installs the Ray environment: see https://docs.astral.sh/uv")
    at = folder()
    if not whole(at):
        with locked(home() / "ray" / ".lock", "waiting for another build of the Ray environment to end ..."):
            if not whole(at):
                require_disk(home(), NEEDED_BYTES, "the Ray environment and its download cache")
                _build(at)
    return at


def folder() -> Path:
    """Where the environment lies or will lie. Needs uv, to find the Python."""
    told = f"{interpreter()}\n{LOCK.read_text()}"
    return home() / "ray" / hashlib.sha256(told.encode()).hexdigest()[:12]


def missing() -> str:
    """Why Ray cannot be run here; empty when it can."""
    if shutil.which("uv") is None or not whole(folder()):
        return "the Ray environment is not built: python -m tools.ray_env"
    return ""


def run(script: Path, *arguments: str, timeout: float = 120, **variables: str) -> subprocess.CompletedProcess[str]:
    """Runs a script of this folder by the environment's Python."""
    command = [str(python_of(folder())), str(script), *arguments]
    environment = os.environ | QUIET | variables | {"PATH": f"{folder() / 'bin'}{os.pathsep}{os.environ['PATH']}"}
    return subprocess.run(command, cwd=HERE, env=environment, capture_output=True, text=True, timeout=timeout, check=False)


def _build(at: Path) -> None:
    started = time.monotonic()
    say(f"Ray environment {at.name}: installing; about 20 s when nothing is cached")
    for command in (
        ["uv", "venv", "--quiet", "--allow-existing", "--python", interpreter(), str(at)],
        ["uv", "pip", "install", "--quiet", "--no-deps", "--python", str(python_of(at)), "-r", str(LOCK)],
    ):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise ToolError(f"the Ray environment was not installed: {done.stderr.strip()}", 1)
    spare = at / ".complete.json"
    spare.write_text(json.dumps({"seconds": round(time.monotonic() - started)}))
    spare.replace(at / "complete.json")
    say(f"Ray environment {at.name}: done after {time.monotonic() - started:.0f} s")
