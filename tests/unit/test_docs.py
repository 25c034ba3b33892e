"""What the documents say is true: links lead somewhere, commands run."""

import re
import shlex
from pathlib import Path

import pytest

from tests.support.commands import run
from tools import shown

ROOT = Path(__file__).resolve().parents[2]
PAGES = shown.pages()

# Commands that other tiers run, or that only a person can: the beginning of the command and where it is run.
ELSEWHERE = {
    "make up": "the cluster tier starts, deploys and stops by the same modules; CI's own warm-up",
    "make down": "tests/cluster",
    "make test": "CI",
    "make doctor": "tests/unit/test_tools_doctor.py",
    "make": "the Makefile's own targets, listed by `make help`",
    "pulumi": "tests/cluster",
    "kubectl": "tests/cluster and tests/engine",
    "python -m tools": "tests/unit and tests/cluster",
    "uv run python -m tools": "tests/unit and tests/cluster",
    "uv run pytest": "CI",
    "uv sync": "CI",
    "uv build": "tests/cluster/prod",
    "uv tool install": "tests/cluster/prod installs the same wheel",
    "pip install": "tests/cluster/prod",
}


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def commands() -> list[tuple[str, str]]:
    found = []
    for page in PAGES:
        for block in re.findall(r"```console\n(.*?)```", page.read_text("utf-8"), re.DOTALL):
            found += [(name(page), line[2:].split("  #")[0].strip()) for line in block.splitlines() if line.startswith("$ ")]
    return found


def ours(command: str) -> bool:
    return command.removeprefix("uv run ").startswith("interlock ")


@pytest.fixture(autouse=True)
def repository(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Commands are typed in the repository, on a machine whose cache of the hub is empty."""
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_link_leads_to_a_file(page: Path) -> None:
    links = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text("utf-8"))
    missing = [link for link in links if "://" not in link and not (page.parent / link).exists()]
    assert not missing


@pytest.mark.parametrize(("page", "command"), [pair for pair in commands() if ours(pair[1])])
def test_every_interlock_command_in_the_documents_runs(page: str, command: str) -> None:
    words = shlex.split(command.removeprefix("uv run ").split(" | ")[-1])
    piped = command.removeprefix("uv run ").split(" | ")[0] if " | " in command else ""
    assert not piped or piped.startswith(("interlock", "cat ")), "only cat and interlock before a pipe can be run here"
    first, *rest = shlex.split(piped) or [""]
    given = "".join(Path(file).read_text("utf-8") for file in rest) if first == "cat" else run(*rest).stdout if piped else ""
    done = run(*words[1:], text=given)
    assert done.exit_code in (0, 1), done.stderr
    assert "Traceback" not in done.output


@pytest.mark.parametrize(("page", "command"), [pair for pair in commands() if not ours(pair[1])])
def test_every_other_command_in_the_documents_is_run_elsewhere(page: str, command: str) -> None:
    assert any(command.startswith(start) for start in ELSEWHERE), f"{page}: {command}"


@pytest.mark.parametrize(
    "each", [each for page in PAGES for each in shown.shown(page)], ids=lambda each: f"{name(each.page)}: {each.command}"
)
def test_the_output_shown_below_a_command_is_what_it_prints(each: shown.Shown) -> None:
    words = shlex.split(each.command, comments=True)
    assert run(*words[1:]).output == each.output, "`make golden` writes it anew"


def test_the_readme_begins_with_a_refusal_and_its_fix() -> None:
    first = shown.shown(ROOT / "README.md")[0]
    assert first.command.startswith("interlock check examples/")
    assert "GPU-001 error" in first.output
    assert "= 2: TP 4 x PP 1 = 4 GPUs" in first.output
    assert "1 error, 0 warnings" in first.output


def test_only_output_below_a_command_counts_as_shown(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "```console\n$ make up\n$ interlock plan\n$ interlock check a.yaml\nfound\n\nmore\n$ ls\nb\n```\n\n```\n$ interlock x\ny\n```\n"
    )
    assert shown.shown(page) == [shown.Shown(page, "interlock check a.yaml", "found\n\nmore\n")]
