"""Versions of vLLM stand in one table: no literal in the code, no name that nobody asks for, no question without a row."""

import ast
from collections.abc import Iterator
from pathlib import Path

from interlock.infra.catalog.tables import table

ROOT = Path(__file__).resolve().parents[2]
SIZING = sorted((ROOT / "infra" / "sizing").rglob("*.py"))
ASKS = ("since", "value", "first")


def nodes(paths: list[Path]) -> Iterator[tuple[Path, ast.AST]]:
    return ((path, node) for path in paths for node in ast.walk(ast.parse(path.read_text("utf-8"), filename=str(path))))


def looks_like_a_version(node: ast.AST) -> bool:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Version":
        return True
    parts = node.elts if isinstance(node, ast.Tuple) else []
    numbers = [part.value for part in parts if isinstance(part, ast.Constant) and type(part.value) is int]
    return len(numbers) == len(parts) in (2, 3) and numbers[0] == 0 and numbers[1] >= 5


def test_no_version_is_written_in_the_planners_code() -> None:
    expressions = ((path, node) for path, node in nodes(SIZING) if isinstance(node, ast.expr))
    found = [f"{path.relative_to(ROOT)}:{node.lineno}" for path, node in expressions if looks_like_a_version(node)]
    assert found == []


def asked() -> set[str]:
    """Every name that code asks for, and that rows of other tables refer to."""
    names = set()
    for path, node in nodes(sorted((ROOT / "infra").rglob("*.py"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ASKS and node.args:
            argument = node.args[0]
            if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                names.add(argument.value)
        elif isinstance(node, ast.Assign | ast.AnnAssign) and path.name == "arguments.py":
            texts = (part.value for part in ast.walk(node) if isinstance(part, ast.Constant) and isinstance(part.value, str))
            names |= {text for text in texts if text.startswith("no_")}
    names |= {change for row in table("families.json")["families"].values() for change in row.get("before", {})}
    return names | {row["needs"] for row in table("vllm_defaults.json")["batches"] if "needs" in row}


def test_every_switch_is_asked_for_and_every_question_has_one() -> None:
    assert asked() == set(table("versions.json")["switches"])
