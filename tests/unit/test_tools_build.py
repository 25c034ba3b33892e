"""The builder finds, builds and remembers; it never takes half a build for a whole one."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tools import build, toolchain_families
from tools.common import ROOT, ToolError, locked
from tools.toolchain_families import Family

GO_PROGRAM = 'package main\n\nimport "fmt"\n\nvar version string\n\nfunc main() { fmt.Println("hello", version) }\n'
needs_go = pytest.mark.skipif(shutil.which("go") is None, reason="there is no Go on PATH")


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A table with one tiny family, and a home of its own."""
    monkeypatch.setenv("INTERLOCK_HOME", str(tmp_path / "home"))
    module = tmp_path / "table" / "hello"
    module.mkdir(parents=True)
    (module / "go.mod").write_text("module example.test/hello\n\ngo 1.21\n")
    (module / "main.go").write_text(GO_PROGRAM)
    row = {"name": "hello", "version": "1.2.3", "minutes": 0.1, "defines": {"main.version": "{version}"}, "binaries": {"hello": "."}}
    on_path = {"arguments": ["--version"], "pattern": "hello ([0-9.]+)", "at_least": "1.2", "below": "2"}
    brought = {"name": "extra", "version": "1", "minutes": 0.1, "binaries": {"extra": "."}, "module": "hello", "comes_with": "hello"}
    path = tmp_path / "table" / "families.json"
    path.write_text(json.dumps({"sets": {"up": ["hello"], "all": ["hello", "extra"]}, "families": [row | {"on_path": on_path}, brought]}))
    return path


def only(table: Path) -> Family:
    return toolchain_families.select(["hello"], [], table)[0]


def put_on_path(monkeypatch: pytest.MonkeyPatch, folder: Path, printed: str, name: str = "hello") -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\necho '{printed}'\n")
    (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")


@needs_go
def test_a_family_is_built_once_and_linked(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = build.ensure([only(table)])
    assert subprocess.run([folder / "hello"], capture_output=True, text=True, check=True).stdout == "hello 1.2.3\n"
    assert "[1/1] hello 1.2.3: building hello" in capsys.readouterr().out
    assert build.ensure([only(table)]) == folder
    assert "building" not in capsys.readouterr().out
    assert not list((only(table).module).glob("go.sum"))


@needs_go
def test_a_changed_source_is_another_build_beside_the_first(table: Path) -> None:
    first = only(table).folder
    build.ensure([only(table)])
    (only(table).module / "main.go").write_text(GO_PROGRAM.replace("hello", "changed"))
    second = only(table).folder
    assert second != first
    folder = build.ensure([only(table)])
    assert subprocess.run([folder / "hello"], capture_output=True, text=True, check=True).stdout == "changed 1.2.3\n"
    assert first.exists()


def test_version_flags_and_programs_are_part_of_the_fingerprint(table: Path) -> None:
    import dataclasses

    family = only(table)
    others = [{"version": "1.2.4"}, {"tags": ("x",)}, {"defines": {}}, {"binaries": {"hello": "./cmd"}}]
    prints = {family.fingerprint(), *(dataclasses.replace(family, **other).fingerprint() for other in others)}  # type: ignore[arg-type]
    assert len(prints) == 1 + len(others)
    (family.module / "gen").mkdir()
    (family.module / "gen" / "made.json").write_text("{}")
    assert family.fingerprint() in prints


@needs_go
def test_a_failed_build_names_the_family_the_last_lines_and_the_log_and_is_not_taken_for_one(table: Path) -> None:
    (only(table).module / "main.go").write_text("package main\n\nfunc main() { undefinedThing() }\n")
    with pytest.raises(ToolError, match=r"(?s)hello 1.2.3 was not built: go build.*undefinedThing.*\(all of it: (.*)\)") as refused:
        build.ensure([only(table)])
    assert refused.value.code == 1
    log = Path(str(refused.value).rpartition("all of it: ")[2].rstrip(")"))
    assert "undefined: undefinedThing" in log.read_text()
    assert not only(table).folder.exists()
    assert build.decide([only(table)])[0].must_build


@needs_go
def test_what_an_interrupted_build_left_is_not_taken_for_a_build(table: Path) -> None:
    family = only(table)
    part = family.folder.with_name(f".{family.folder.name}.part")
    part.mkdir(parents=True)
    (part / "hello").write_text("half")
    family.folder.mkdir()
    (family.folder / "hello").write_text("half")
    assert build.decide([family])[0].must_build
    folder = build.ensure([family])
    assert subprocess.run([folder / "hello"], capture_output=True, text=True, check=True).stdout == "hello 1.2.3\n"
    assert not part.exists()


def test_without_go_there_is_one_message_with_the_way_out(table: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolError, match=r"no Go on PATH, and these have to be built: hello 1\.2\.3\..*make doctor") as refused:
        build.ensure([only(table)])
    assert refused.value.code == 2


def test_a_fitting_tool_on_path_is_used_instead_of_built(table: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    put_on_path(monkeypatch, tmp_path / "bin", "hello 1.9.0")
    decisions = build.decide(toolchain_families.select([], ["all"], table))
    assert {decision.family.name: decision.must_build for decision in decisions} == {"hello": False, "extra": False}
    folder = build.ensure(toolchain_families.select([], ["all"], table))
    assert (folder / "hello").readlink() == tmp_path / "bin" / "hello"
    assert not (folder / "extra").exists()


@pytest.mark.parametrize("printed", ["hello 1.1.9", "hello 2.0", "goodbye 1.5"])
def test_a_tool_of_another_version_is_not_used(table: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, printed: str) -> None:
    put_on_path(monkeypatch, tmp_path / "bin", printed)
    assert build.decide([only(table)])[0].must_build


def test_what_this_project_built_does_not_count_as_installed(table: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "home" / "path").mkdir(parents=True)
    put_on_path(monkeypatch, tmp_path / "home" / "path" / "x", "hello 1.9.0")
    assert toolchain_families.installed(only(table)) == {}


def test_a_tool_that_needs_another_beside_it_is_not_used_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pulumi = toolchain_families.select(["pulumi"], [])[0]
    put_on_path(monkeypatch, tmp_path / "bin", "v3.280.0", "pulumi")
    assert toolchain_families.installed(pulumi) == {}
    put_on_path(monkeypatch, tmp_path / "bin", "", "pulumi-language-python")
    assert toolchain_families.installed(pulumi)["pulumi"].version == "3.280.0"


def test_an_unknown_family_or_set_is_refused_with_what_there_is(table: Path) -> None:
    with pytest.raises(ToolError, match="nothing: there is no such program family; there are hello, extra"):
        toolchain_families.select(["nothing"], [], table)
    with pytest.raises(ToolError, match="--for nothing: there is no such set; there are up, all"):
        toolchain_families.select([], ["nothing"], table)


def test_every_family_of_the_table_has_its_module_and_its_sums() -> None:
    table, sets = toolchain_families.read_table()
    for family in table.values():
        assert (family.module / "go.mod").exists(), family.name
        assert family.minutes > 0
    assert {name for names in sets.values() for name in names} <= set(table)
    assert sets["up"] == ["pulumi", "pulumi-kubernetes", "etcd", "kube", "kwok"]


def test_two_builds_at_once_wait_for_each_other(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    script = (
        "import sys, pathlib; from tools.common import locked\n"
        f"with locked(pathlib.Path({str(lock)!r}), 'busy'): print('held', flush=True); sys.stdin.readline()"
    )
    with subprocess.Popen([sys.executable, "-c", script], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as first:
        assert first.stdin is not None
        assert first.stdout is not None
        assert first.stdout.readline() == "held\n"
        with subprocess.Popen([sys.executable, "-c", script], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as second:
            assert second.stdin is not None
            assert second.stdout is not None
            assert second.stdout.readline() == "busy\n"
            first.stdin.write("\n")
            first.stdin.flush()
            assert second.stdout.readline() == "held\n"
            second.stdin.write("\n")
            second.stdin.flush()
    with locked(lock, "busy"):
        pass
