"""The routes of an installed vLLM, read from the decorators in its source: nothing of it is imported.

usage: python -m tools.runtime.routes FOLDER      (the folder that holds `vllm/`)
"""

import ast
from collections.abc import Iterator
from pathlib import Path

from tools.common import run_main, say

METHODS = {"get": "GET", "post": "POST", "put": "PUT", "delete": "DELETE", "websocket": "WEBSOCKET"}
NOT_SERVED = ("launchers", "cli")
"""Other servers than the API server: a supervisor of data parallel ranks, a loader."""


def routes(folder: Path) -> set[tuple[str, str]]:
    """(method, path) of every route of ``folder/vllm/entrypoints``; documentation that FastAPI itself serves is not among them."""
    found = set[tuple[str, str]]()
    root = folder / "vllm" / "entrypoints"
    for path in root.rglob("*.py"):
        if path.relative_to(root).parts[0] not in NOT_SERVED:
            found.update(_of(ast.parse(path.read_text("utf-8"))))
    return found


def _of(tree: ast.Module) -> Iterator[tuple[str, str]]:
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id if isinstance(node.func, ast.Name) else ""
        first = node.args[0] if node.args else None
        if not isinstance(first, ast.Constant) or not str(first.value).startswith("/"):
            continue
        if name in METHODS:
            yield METHODS[name], str(first.value)
        elif name == "add_api_route":
            listed = next((each.value for each in node.keywords if each.arg == "methods"), ast.List(elts=[ast.Constant("GET")]))
            yield from ((str(ast.literal_eval(each)), str(first.value)) for each in getattr(listed, "elts", ()))
        elif name in ("mount", "Mount"):
            yield "GET", str(first.value)


def main(arguments: list[str]) -> int:
    for method, path in sorted(routes(Path(arguments[0])), key=lambda each: each[::-1]):
        say(f"{method} {path}")
    return 0


if __name__ == "__main__":
    run_main(main)
