"""`make` needs no uv: where there is none, it fetches the pinned one into the project's own folder, and shows the command."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tools.common import ROOT

pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="there is no make on PATH")


def dry(target: str, path: str, *arguments: str) -> str:
    """What `make TARGET` would run with this PATH."""
    environment = {"PATH": path, "HOME": os.environ.get("HOME", "/")}
    command = [str(shutil.which("make")), "--dry-run", "--no-print-directory", target, *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True).stdout


@pytest.fixture
def bare(tmp_path: Path) -> str:
    """A PATH with the programs of a small machine, and no uv."""
    for name in ("bash", "sh", "dirname"):
        (tmp_path / name).symlink_to(str(shutil.which(name)))
    return str(tmp_path)


@pytest.mark.parametrize("target", ["up", "test", "fast", "lint", "fmt", "doctor", "down", "bench"])
def test_without_uv_every_command_fetches_the_pinned_one_first_and_uses_it(target: str, bare: str) -> None:
    lines = dry(target, bare, f"OWN_UV={bare}/own").splitlines()
    assert re.fullmatch(rf"python3 -m venv {bare}/own && {bare}/own/bin/pip install .*uv==[\d.]+", lines[0])
    assert all(line.startswith(f"{bare}/own/bin/uv ") for line in lines[1:])


def test_a_uv_on_path_is_used(bare: str) -> None:
    Path(bare, "uv").write_text("#!/bin/sh\n")
    Path(bare, "uv").chmod(0o755)
    assert all(line.startswith(f"{bare}/uv ") for line in dry("lint", bare).splitlines())


def test_the_plan_is_shown_before_what_takes_long() -> None:
    lines = dry("up", os.environ["PATH"], "STACK=prod").splitlines()
    shown = next(number for number, line in enumerate(lines) if "tools.up --stack prod --plan" in " ".join(line.split()))
    started = next(number for number, line in enumerate(lines) if line.endswith("--planned"))
    assert shown < started
    assert "--no-default-groups" in lines[shown - 1]


def test_ci_runs_make_test_and_nothing_of_its_own() -> None:
    lines = (ROOT / ".ci" / "run").read_text().splitlines()
    assert [line for line in lines if line.startswith("exec ")] == ["exec make --no-print-directory test"]
    assert not any("pip" in line for line in lines)
