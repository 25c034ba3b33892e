"""`make doctor` names everything that a person has to install, what would be built, and nothing else."""

import subprocess
import sys
from pathlib import Path

import pytest

from tools import build, doctor, toolchain_families
from tools.common import ROOT


def on_path(folder: Path, name: str, printed: str) -> None:
    (folder / name).write_text(f"#!/bin/sh\necho '{printed}'\n")
    (folder / name).chmod(0o755)


@pytest.fixture
def empty_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


def by_name(rows: list[doctor.Line]) -> dict[str, doctor.Line]:
    return {row.name: row for row in rows}


def test_a_missing_go_counts_only_when_something_has_to_be_built(empty_path: Path) -> None:
    assert by_name(doctor.requirements(builds=True))["go"].missing
    assert not by_name(doctor.requirements(builds=False))["go"].missing


def test_a_missing_uv_is_nothing_to_install_and_a_missing_openssl_is(empty_path: Path) -> None:
    rows = by_name(doctor.requirements(builds=False))
    assert not rows["uv"].missing
    assert ".local" in rows["uv"].then
    assert rows["openssl"].missing


@pytest.mark.parametrize(("printed", "missing"), [("go version go1.25.9 linux/amd64", True), ("go version go1.26.0 linux/amd64", False)])
def test_a_go_that_is_too_old_is_missing(empty_path: Path, printed: str, missing: bool) -> None:
    on_path(empty_path, "go", printed)
    assert doctor.go(needed=True).missing is missing


def test_a_family_is_used_from_path_taken_as_built_or_to_be_built() -> None:
    (etcd,) = toolchain_families.select(["etcd"], [])
    found = toolchain_families.Installed(Path("/opt/etcd"), etcd.version)
    decisions = [
        build.Decision(etcd, {"etcd": found}, False, ""),
        build.Decision(etcd, {}, True, ""),
        build.Decision(etcd, {}, False, ""),
    ]
    assert [row.found for row in doctor.toolchain(decisions)] == [f"{etcd.version} on PATH", "built", "not built"]


def test_the_command_ends_with_what_is_missing_and_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INTERLOCK_HOME", str(tmp_path / "home"))
    done = subprocess.run([sys.executable, "-m", "tools.doctor"], cwd=ROOT, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode in (0, 1), done.stderr
    last = done.stdout.strip().splitlines()[-1]
    assert last == "nothing is missing" if done.returncode == 0 else last.startswith("missing: ")
    assert not (tmp_path / "home").exists()
