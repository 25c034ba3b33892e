"""Rebuild infra/catalog/model_inputs.json: python -m tools.vllm_facts.inputs.

What a model's class reads beside text is told by its bases and by the placeholders that it knows (``get_placeholder_str``). A class that
takes any placeholder counts as reading everything: the table serves to refuse, so it errs on the side of what a model can do.
"""

import ast
import datetime
from collections.abc import Iterator, Mapping
from pathlib import Path

from tools.common import home, run_main, say
from tools.parsers.asking import INSTALLED, VERSIONS, fetch
from tools.vllm_facts.__main__ import CATALOG, write
from tools.vllm_facts.source import Module, Source

KINDS = ("image", "video", "audio")
TRANSCRIPTION = "transcription"
_REGISTRY, _MODELS = "model_executor/models/registry.py", "model_executor/models"
_BASES = {"SupportsMultiModal": KINDS, "SupportsTranscription": (TRANSCRIPTION,)}


def inputs(source: Source) -> dict[str, tuple[str, ...]]:
    """By architecture what its class reads beside text, as the registry of one version names the class."""
    registry, found = source.module(_REGISTRY), {}
    for architecture, file, name in _registered(registry) if registry else ():
        module = source.module(f"{_MODELS}/{file}.py") or source.module(f"{_MODELS}/{file}/__init__.py")
        made = module and source.resolve(module, name)
        if made and isinstance(made[1], ast.ClassDef):
            found[architecture] = _reads(source, made[0], made[1])
    return found


def _registered(registry: Module) -> Iterator[tuple[str, str, str]]:
    """(architecture, module, class) of every entry ``"Arch": ("module", "Class")``."""
    for node in ast.walk(registry.tree):
        for key, value in zip(node.keys, node.values, strict=True) if isinstance(node, ast.Dict) else ():
            words = [each.value for each in value.elts if isinstance(each, ast.Constant)] if isinstance(value, ast.Tuple) else []
            if isinstance(key, ast.Constant) and len(words) == 2:
                yield str(key.value), str(words[0]).replace(".", "/"), str(words[1])


def _line(source: Source, module: Module, node: ast.ClassDef, depth: int = 12) -> Iterator[ast.ClassDef]:
    """A class and those that it is made of, nearest first; one that is no longer in vLLM's files by its name alone."""
    yield node
    for base in node.bases if depth else ():
        name = base.id if isinstance(base, ast.Name) else ""
        found = source.resolve(module, name) if name else None
        if found and isinstance(found[1], ast.ClassDef):
            yield from _line(source, found[0], found[1], depth - 1)


def _reads(source: Source, module: Module, node: ast.ClassDef) -> tuple[str, ...]:
    line = list(_line(source, module, node))
    names = {each.name for each in line}
    found = [kind for base, kinds in _BASES.items() if base in names for kind in kinds]
    asks = (each for made in line if made.name not in _BASES for each in made.body)
    told = next((each for each in asks if isinstance(each, ast.FunctionDef) and each.name == "get_placeholder_str"), None)
    text = ast.unparse(told) if told else ""
    known = {kind for kind in KINDS if f"'{kind}" in text}
    return tuple(kind for kind in found if kind == TRANSCRIPTION or not known or kind in known)


def main(arguments: list[str]) -> int:
    fetch()
    trees = [home() / "mechanisms" / "vllm" / version for version in VERSIONS if version != INSTALLED]
    every: dict[str, set[str]] = {}
    for tree in trees:
        for architecture, kinds in inputs(Source(Path(tree))).items():
            every.setdefault(architecture, set()).update(kinds)
    rows: Mapping[str, list[str]] = {name: [kind for kind in (*KINDS, TRANSCRIPTION) if kind in kinds] for name, kinds in every.items()}
    head = {
        "source": "model classes of vLLM's registry: their bases and get_placeholder_str, of all versions together",
        "date": str(datetime.date.today()),
        "versions": [tree.name for tree in trees],
    }
    write(CATALOG / "model_inputs.json", head, {"inputs": {name: rows[name] for name in sorted(rows)}})
    say(f"model_inputs.json: {len(rows)} architectures, {sum(not kinds for kinds in rows.values())} read text alone")
    return 0


if __name__ == "__main__":
    run_main(main)
