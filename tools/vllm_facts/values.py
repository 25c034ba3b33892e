"""Rebuild infra/catalog/vllm_values.json: names that an argument may have and no parser lists: python -m tools.vllm_facts.values TREES.

Parsers of tools and reasoning, quantization methods and KV connectors are registered by name; plug-ins may add more.
"""

import argparse
import ast
import datetime
from collections.abc import Iterable, Iterator
from pathlib import Path

from tools.common import ToolError, say
from tools.vllm_facts.__main__ import CATALOG, write
from tools.vllm_facts.source import Source
from tools.vllm_facts.table import Row, released, spans

PLACES = {
    "tool-call-parser": ("tool_parsers/", "entrypoints/openai/tool_parsers/"),
    "reasoning-parser": ("reasoning/", "entrypoints/openai/reasoning_parsers/"),
    "kv-transfer-config.kv_connector": ("distributed/kv_transfer/kv_connector/factory.py",),
    "quantization": ("model_executor/layers/quantization/__init__.py",),
}
"""Argument, and the files that register its names."""


def names(source: Source, argument: str) -> set[str]:
    """The names that a version registers for an argument. Raises ToolError when it finds none: then the files have moved."""
    found: set[str] = set()
    for path in source.paths():
        module = source.module(path) if path.startswith(PLACES[argument]) else None
        if module is not None:
            found |= set(_listed(module.tree) if argument == "quantization" else _registered(module.tree))
    if not found:
        raise ToolError(f"{source.root.name}: no names for {argument}; have its files moved?")
    return found


def _listed(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            if isinstance(target, ast.Name) and target.id in ("QuantizationMethods", "QUANTIZATION_METHODS"):
                yield from _texts(ast.walk(node.value))


def _registered(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        called = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr.startswith("register_")
        if called and isinstance(node, ast.Call):
            given = [*node.args[:1], *(word.value for word in node.keywords if word.arg == "name")]
            yield from _texts(inner for part in given for inner in ([part] if isinstance(part, ast.Constant) else ast.walk(part)))
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Dict) and _to_register(node):
            yield from _texts(key for key in node.value.keys if key is not None)


def _to_register(node: ast.Assign) -> bool:
    return any(isinstance(each, ast.Name) and each.id.endswith("_TO_REGISTER") for each in node.targets)


def _texts(nodes: Iterable[ast.AST]) -> Iterator[str]:
    return (node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str))


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(prog="python -m tools.vllm_facts.values", description=__doc__)
    parser.add_argument("trees", type=Path)
    trees: Path = parser.parse_args().trees
    versions = sorted((each.name for each in trees.iterdir() if (each / "vllm").is_dir()), key=released)
    rows: dict[str, dict[str, Row]] = {}
    for version in versions:
        source = Source(trees / version)
        rows[version] = {f"{argument} {name}": {} for argument in PLACES for name in sorted(names(source, argument))}
    head = {
        "source": "Python files of the vLLM wheels on PyPI, read without running them (tools/vllm_facts/values.py)",
        "date": str(datetime.date.today()),
        "versions": versions,
    }
    folded = spans(rows)
    write(CATALOG / "vllm_values.json", head, {"values": folded, "replacements": {}})
    say(f"vllm_values.json: {len(versions)} versions, {len(folded)} names")


if __name__ == "__main__":
    main()
