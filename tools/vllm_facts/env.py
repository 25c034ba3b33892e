"""Environment variables of one source tree: those of envs.py, and VLLM_* names read elsewhere in the package."""

import ast
import re
from dataclasses import dataclass
from typing import Any

from tools.vllm_facts.hints import UNKNOWN, literal
from tools.vllm_facts.source import Source

READ_ELSEWHERE = re.compile(r"""(?:os\.environ\.get\(|os\.getenv\(|os\.environ\[|environ\.get\(|getenv\()\s*["'](VLLM_[A-Z0-9_]+)["']""")


@dataclass(frozen=True)
class Variable:
    """`declared`: vLLM itself lists it in envs.py (a VLLM_* name that is not listed gets a warning from 0.11 on)."""

    declared: bool = True
    type: str | None = None
    default: Any = UNKNOWN


def environment(src: Source) -> dict[str, Variable]:
    module = src.module("envs.py")
    found: dict[str, Variable] = {}
    if module is not None:
        typed = {
            node.target.id: (ast.unparse(node.annotation), literal(node.value))
            for node in ast.walk(module.tree)
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
        }
        table = module.defined.get("environment_variables")
        for key in table.keys if isinstance(table, ast.Dict) else []:
            if isinstance(name := literal(key), str):
                hint, default = typed.get(name, (None, UNKNOWN))
                found[name] = Variable(True, hint, default)
    for path in src.paths():
        other = src.module(path)
        for name in READ_ELSEWHERE.findall(other.text) if other and not path.startswith("benchmarks/") else []:
            found.setdefault(name, Variable(False))
    return found
