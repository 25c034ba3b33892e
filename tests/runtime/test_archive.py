"""The archive: the same bytes for the same source, small, and complete."""

import io
import json
import os
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest

from interlock.infra.manifests import archive as packer


def test_the_same_source_gives_the_same_bytes_whenever_and_wherever_it_is_packed(tmp_path: Path) -> None:
    for name, data in packer.content().items():
        path = tmp_path / name.removeprefix("interlock/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        os.utime(path, (time.time() - 10**6, 10**9))
    (tmp_path / "runtime" / "__pycache__").mkdir()
    (tmp_path / "runtime" / "__pycache__" / "main.py").write_text("x")
    assert packer.pack(packer.content(tmp_path)) == packer.archive()


def test_a_changed_source_gives_other_bytes() -> None:
    files = packer.content()
    assert packer.pack(files | {"interlock/runtime/main.py": b"x"}) != packer.pack(files)


def test_an_archive_that_no_longer_fits_a_stacks_state_is_refused() -> None:
    with pytest.raises(ValueError, match="262144 is the most"):
        packer.pack({"x": bytes(packer.MOST_BYTES)})


def test_it_holds_every_module_and_only_top_level_names_of_ours(archive: Path) -> None:
    assert archive.stat().st_size <= packer.MOST_BYTES
    with zipfile.ZipFile(io.BytesIO(archive.read_bytes())) as packed:
        names = packed.namelist()
    assert {name.split("/")[0] for name in names} == {"__main__.py", "interlock", "interlock_runtime-0.1.0.dist-info"}
    assert "interlock/runtime/preflight/drivers.json" in names


def test_every_module_but_the_heartbeat_imports_from_the_archive_with_the_standard_library_alone(archive: Path) -> None:
    program = f"""
import importlib, sys, zipfile
sys.path.insert(0, {str(archive)!r})
names = [name[:-3].replace("/", ".") for name in zipfile.ZipFile({str(archive)!r}).namelist() if name.endswith(".py") and "/" in name]
for name in names:
    if not name.endswith((".beat", ".__main__")):
        importlib.import_module(name.removesuffix(".__init__"))
assert "vllm" not in sys.modules
print(len(names))
"""
    done = subprocess.run([sys.executable, "-I", "-S", "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 25


def test_the_entry_point_is_found_on_the_path(archive: Path) -> None:
    program = "from importlib.metadata import entry_points; print(*entry_points(group='vllm.stat_logger_plugins'))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env={"PYTHONPATH": str(archive)}, check=True)
    assert "interlock.runtime.beat:Beat" in done.stdout


def call(archive: Path, *arguments: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([sys.executable, "-I", str(archive), *arguments], capture_output=True, text=True, env=environment, check=False)


@pytest.mark.parametrize("arguments", [(), ("nonsense",), ("--help",)])
def test_a_command_that_is_not_there_lists_those_that_are(archive: Path, arguments: tuple[str, ...]) -> None:
    done = call(archive, *arguments)
    assert done.returncode == 2
    for name in ("run", "drain", "live", "preflight", "weights"):
        assert f"\n  {name} " in done.stderr


def test_the_weights_program_is_in_it(archive: Path, tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "config.json").write_text("{}")
    done = call(archive, "weights", "sync", "--source", str(tmp_path / "a"), "--target", str(tmp_path / "b"))
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "b" / "config.json").read_text() == "{}"


def test_preflight_runs_from_it_and_reads_its_table(archive: Path, tmp_path: Path) -> None:
    plan = {"preflight": {"cuda": "13.0", "writable": [str(tmp_path)]}}
    done = call(archive, "preflight", "--json", INTERLOCK_RUNTIME=json.dumps(plan))
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["problems"] == 0


def test_no_wall_clock_decides_anything() -> None:
    """A clock that jumps changes the time stamps of log lines, and whether a key with a date has expired."""
    users = [name for name, data in packer.content().items() if name.endswith(".py") and b"time.time(" in data]
    assert sorted(users) == ["interlock/runtime/gate/keys.py", "interlock/runtime/words.py"]
