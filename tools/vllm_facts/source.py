"""A vLLM source tree as syntax trees: look a name up in a module and follow the imports to where it is defined."""

import ast
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

Definition = ast.ClassDef | ast.FunctionDef | ast.expr


@dataclass
class Module:
    """One parsed file: its top-level definitions and imports."""

    path: Path
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    @cached_property
    def defined(self) -> dict[str, Definition]:
        found: dict[str, Definition] = {}
        for node in _top_level(self.tree.body):
            if isinstance(node, ast.ClassDef | ast.FunctionDef):
                found[node.name] = node
            elif isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
                found[node.targets[0].id] = node.value
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
                found[node.target.id] = node.value
        return found

    @cached_property
    def imported(self) -> dict[str, tuple[str, int, str]]:
        """Local name -> (module as written, level of a relative import, name there)."""
        return {
            alias.asname or alias.name: (node.module or "", node.level, alias.name)
            for node in ast.walk(self.tree)
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
            if alias.name != "*"
        }

    @cached_property
    def starred(self) -> list[tuple[str, int]]:
        """Modules of which everything is imported."""
        imports = (node for node in ast.walk(self.tree) if isinstance(node, ast.ImportFrom))
        return [(node.module or "", node.level) for node in imports if any(alias.name == "*" for alias in node.names)]


def _top_level(body: list[ast.stmt]) -> list[ast.stmt]:
    """Statements of a module, those under `if TYPE_CHECKING`/`try` included; the first branch wins a clash."""
    flat: list[ast.stmt] = []
    for node in body:
        if isinstance(node, ast.If):
            flat += [*_top_level(node.orelse), *_top_level(node.body)]
        elif isinstance(node, ast.Try):
            flat += _top_level(node.body)
        else:
            flat.append(node)
    return flat


@dataclass
class Source:
    """The unpacked Python files of one vLLM version; `root` holds the folder `vllm`."""

    root: Path
    _modules: dict[Path, Module] = field(default_factory=dict)

    def module(self, relative: str) -> Module | None:
        """The module at `relative` (a path inside vllm/), or None if this version has none there."""
        path = self.root / "vllm" / relative
        if path not in self._modules:
            if not path.is_file():
                return None
            self._modules[path] = Module(path, path.read_text(encoding="utf-8"))
        return self._modules[path]

    def paths(self) -> list[str]:
        return sorted(str(p.relative_to(self.root / "vllm")) for p in (self.root / "vllm").rglob("*.py"))

    def resolve(self, module: Module, name: str, depth: int = 8) -> tuple[Module, Definition] | None:
        """Where `name`, as seen in `module`, is defined; None if outside vLLM or not found."""
        if name in module.defined:
            return module, module.defined[name]
        if depth == 0:
            return None
        if name not in module.imported:
            sources = (self._import(module, *each) for each in module.starred)
            return next((found for each in sources if each and (found := self.resolve(each, name, depth - 1))), None)
        written, level, original = module.imported[name]
        target = self._import(module, written, level)
        return self.resolve(target, original, depth - 1) if target else None

    def _import(self, module: Module, written: str, level: int) -> Module | None:
        if level:
            base = module.path.parents[level - 1].relative_to(self.root / "vllm")
            parts = [*base.parts, *written.split(".")]
        elif written.split(".", maxsplit=1)[0] == "vllm":
            parts = written.split(".")[1:]
        else:
            return None
        stem = "/".join(p for p in parts if p)
        return self.module(f"{stem}.py") or self.module(f"{stem}/__init__.py".lstrip("/"))
