"""What people see of a check: the worst first, once, and how much was read."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from tests.support import engine_text
from tests.support.commands import Ran
from tests.support.commands import run as command

Run = Callable[..., Ran]
ARGS = ("--model=Qwen/Qwen2.5-7B-Instruct", "--enforce-eager", "--swap-space=4", "--num-lookahead-slots=1", "--block-size=32")


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(tmp_path)
    return partial(command, "check")


def write(name: str, tensor: int = 2, image: str = "vllm/vllm-openai:v0.10.2", app: str = "chat") -> str:
    Path(name).write_text(engine_text(app, image, (*ARGS, f"--tensor-parallel-size={tensor}")))
    return name


def severities(text: str) -> list[str]:
    return [line.split(": ")[0].split()[-1] for line in text.splitlines() if line.startswith("  ") and line.strip()[0].isdigit()]


def test_errors_of_every_file_come_before_warnings_and_those_before_infos(run: Run) -> None:
    told = severities(run(write("a.yaml"), write("b.yaml", tensor=4)).stdout)
    assert told[0] == "error"
    assert told == sorted(told, key=("error", "warning", "info").index)


def test_what_several_files_share_is_told_once_with_its_places(run: Run) -> None:
    out = run(*(write(f"{name}.yaml", app=name) for name in "abc")).stdout
    assert out.count("ROLL-008") == 1
    assert "also: b.yaml:11, c.yaml:11" in out
    assert out.rstrip().splitlines()[-1].startswith("0 errors, ")


def test_infos_of_a_file_are_three_unless_each_is_asked_for(run: Run) -> None:
    some, every, none = (run(write("a.yaml"), *more).stdout for more in ((), ("--min-severity", "info"), ("--min-severity", "warning")))
    assert severities(some).count("info") == 3
    assert severities(every).count("info") > 3
    assert severities(none).count("info") == 0
    assert "more with --min-severity info" in some
    assert "below --min-severity" in none


def test_what_is_hidden_from_people_still_fails_the_check(run: Run) -> None:
    assert run(write("a.yaml"), "--min-severity", "error", "--fail-on", "info").exit_code == 1


def test_the_last_line_says_how_much_was_read(run: Run) -> None:
    Path("b.yaml").write_text("apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: x}\n")
    Path("values.yaml").write_text(
        "image: {repository: vllm/vllm-openai, tag: v0.30.0}\nmodel: a/b\ngpu: {count: 4}\nservice: {type: NodePort}\n"
    )
    out = run(write("a.yaml"), "b.yaml", "values.yaml").stdout
    assert "2 of 3 documents judged in 3 files" in out
    assert "2 of 4 keys read; only its templates say what gpu, service do" in out


@pytest.mark.parametrize(("words", "level", "code"), [((), "warning", 0), (("--strict",), "error", 1)])
def test_a_moving_tag_is_a_warning_and_an_error_where_production_is_meant(run: Run, words: tuple[str, ...], level: str, code: int) -> None:
    done = run(write("a.yaml", image="vllm/vllm-openai:latest"), *words)
    assert f"VER-001 {level}" in done.stdout
    assert done.exit_code == code


def test_a_code_is_explained_with_reason_source_and_both_examples() -> None:
    out = command("rule", "net-013").stdout
    assert "NET-013  warning" in out
    assert "source: vllm/envs.py VLLM_PORT" in out
    assert "-        - name: VLLM_PORT" in out


def test_a_code_that_is_not_there_is_named_with_its_neighbours() -> None:
    done = command("rule", "NET-99")
    assert (done.exit_code, "near: NET-" in done.stderr) == (2, True)


def test_without_a_code_all_are_listed() -> None:
    assert command("rule").stdout.count("\n") > 150
