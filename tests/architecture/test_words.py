"""Messages and docstrings are standard English, and cite nothing that a user cannot read."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.architecture.test_structure import ROOT

ROOMS = ("infra", "cli", "components", "stacks", "policies", "runtime")
TEXTS = sorted(path for room in ROOMS for path in (ROOT / room).rglob("*.py"))
UNWANTED = (
    (r"(?<!there )\b(?:is|are) no (?!longer\b|more than\b|less than\b|fewer than\b)", "say: is not a ..."),
    (r"\bfor ever\b(?!y)", "say: forever, or: never completes"),
    (r"\bway out\b", "the label is: fix"),
    (r"\b(?:take|takes|took|taken|taking)\b[^.;:]{0,40}\baway\b", "say: remove"),
    (r"\bfrom memory\b(?! to\b)", "a source that nobody can check"),
    (r"REQUIREMENTS|\bDESIGN\b|house\.md", "an internal document"),
    (r"\bhas it no more\b|\bpassed over\b|\bcompiles? anew\b|\bwithout end\b|\bno whole number\b", "not the field's words"),
    (r"\bNone = decide\b", "say: omit it to let the planner decide"),
    (r"\b(?:pool pool|1 GPUs|1 pods|1 nodes|1 replicas)\b", "the count and its noun disagree"),
    (r"\btoday's vLLM\b.{0,20}\bhas\b.{0,10}\bmore\b", "name the version"),
)


def _texts(path: Path) -> Iterator[tuple[int, str]]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.JoinedStr):
            yield node.lineno, "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value


def _faults(text: str) -> list[str]:
    return [f"{found.group()!r} in {text[:120]!r}: {advice}" for pattern, advice in UNWANTED if (found := re.search(pattern, text))]


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_messages_and_docstrings_are_standard_english(path: Path) -> None:
    assert [f"line {line}: {fault}" for line, text in _texts(path) for fault in _faults(text)] == []


@pytest.mark.parametrize(
    "text",
    [
        "1.2 is no share of a card",
        "the pod restarts for ever",
        "way out: remove it",
        "take --quantization away",
        "135.4 GiB (catalog: from memory)",
        "as REQUIREMENTS K11 asks",
        "pool pool has 8",
    ],
)
def test_the_lint_sees_what_it_is_for(text: str) -> None:
    assert _faults(text)


@pytest.mark.parametrize(
    "text",
    ["is no longer there", "for every token", "a route takes the request; the pod goes away", "there is no file", "is not a share"],
)
def test_the_lint_lets_plain_sentences_pass(text: str) -> None:
    assert _faults(text) == []


@pytest.mark.parametrize("name", ["docs/findings.md", "docs/config.md"])
def test_generated_pages_are_standard_english(name: str) -> None:
    assert _faults((ROOT / name).read_text("utf-8")) == []
