"""Every option of `vllm serve` in one source tree: explicit add_argument calls and those derived from config classes."""

import ast
from dataclasses import replace
from typing import Any

from tools.vllm_facts.hints import UNKNOWN, Facts, class_fields, literal, says_deprecated
from tools.vllm_facts.source import Module, Source

ACTIONS = {
    "store_true": "switch",
    "store_false": "switch",
    "BooleanOptionalAction": "boolean",
    "StoreBoolean": "optional",
    "append": "value",
}
NARGS = {"+": "list", "*": "list", "?": "optional"}
Bindings = dict[str, dict[str, Facts] | Facts]


def serve_flags(src: Source) -> dict[str, Facts]:
    """Long option name -> facts. Options of the engine win over the same option of the front end (none is known)."""
    flags: dict[str, Facts] = {}
    for path in src.paths():
        module = src.module(path)
        if module is None or not _relevant(path, module):
            continue
        for function in _serve_functions(path, module):
            flags |= _Reader(src, module).read(function)
    return _shorthand(src, _toggles(src, flags))


def _relevant(path: str, module: Module) -> bool:
    """run_batch has a parser of its own, with the same function names: not `vllm serve`."""
    return path in ("engine/arg_utils.py", "scripts.py", "entrypoints/cli/serve.py") or (
        path.endswith("cli_args.py") and "def make_arg_parser" in module.text
    )


def _serve_functions(path: str, module: Module) -> list[ast.FunctionDef | ast.ClassDef]:
    """The functions that build the parser of `vllm serve`; a class stands for "all fields of it become options"."""
    classes = [n for n in module.tree.body if isinstance(n, ast.ClassDef)]
    functions = [n for n in ast.walk(module.tree) if isinstance(n, ast.FunctionDef)]
    if path in ("scripts.py", "entrypoints/cli/serve.py"):
        return [f for f in functions if "serve_parser" in ast.unparse(f)]
    wanted = [f for f in functions if f.name in ("add_cli_args", "make_arg_parser") or f.name.endswith("_args_parser")]
    derived = [c for c in classes if c.name == "FrontendArgs"]
    return [*derived, *wanted]


def _toggles(src: Source, flags: dict[str, Facts]) -> dict[str, Facts]:
    """Versions whose parser also pairs --enable-x with --disable-x."""
    if not any((m := src.module(p)) and "_inverse_prefixes" in m.text for p in ("utils/argparse_utils.py",)):
        return flags
    return {
        k: replace(f, kind="toggle") if f.kind == "boolean" and k.startswith(("--enable-", "--disable-")) else f for k, f in flags.items()
    }


def _shorthand(src: Source, flags: dict[str, Facts]) -> dict[str, Facts]:
    """-O3 is rewritten by the parser itself, to different options in different versions: kept as an option of its own."""
    texts = [m.text for p in ("utils/argparse_utils.py", "utils/__init__.py", "utils.py", "utils/argparse.py") if (m := src.module(p))]
    short = any("'-O'" in t or '"-O"' in t for t in texts)
    return flags | ({"-O": Facts("value", "str")} if short else {})


class _Reader:
    """One function: which config class each `*_kwargs` variable holds, then each add_argument call."""

    def __init__(self, src: Source, module: Module) -> None:
        self.src, self.module = src, module
        self.bound: Bindings = {}
        self.flags: dict[str, Facts] = {}

    def read(self, function: ast.FunctionDef | ast.ClassDef) -> dict[str, Facts]:
        if isinstance(function, ast.ClassDef):
            fields = self._customised(function, class_fields(self.src, self.module, function.name))
            return {f"--{name.replace('_', '-')}": facts for name, facts in fields.items()}
        statements = [n for n in ast.walk(function) if isinstance(n, ast.Assign | ast.Call)]
        for node in sorted(statements, key=lambda n: (n.lineno, n.col_offset)):
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                self._bind(node.targets[0].id, node.value)
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "add_argument":
                self._add(node)
            elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("['choices'].remove"):
                self._withdraw(node)
        return self.flags

    def _customised(self, cls: ast.ClassDef, fields: dict[str, Facts]) -> dict[str, Facts]:
        """`frontend_kwargs["x"]["type"] = ...` and `del frontend_kwargs["x"]["nargs"]` in the class."""
        for node in ast.walk(self.module.tree):
            targets = node.targets if isinstance(node, ast.Assign | ast.Delete) else []
            for target in targets:
                if not (isinstance(target, ast.Subscript) and isinstance(target.value, ast.Subscript)):
                    continue
                name, key = literal(target.value.slice), literal(target.slice)
                if name in fields and isinstance(node, ast.Assign):
                    fields[name] = _with(fields[name], {str(key): node.value})
                elif name in fields and key == "nargs":
                    fields[name] = replace(fields[name], kind="value")
        return fields

    def _bind(self, name: str, value: ast.expr) -> None:
        looked_up = self._lookup(value)
        if looked_up is not None:
            self.bound[name] = looked_up

    def _withdraw(self, call: ast.Call) -> None:
        """``x_kwargs["field"]["choices"].remove(VALUE)``: a value that only the engine itself sets."""
        field = call.func.value.value if isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Subscript) else None
        holder = self._lookup(field.value) if isinstance(field, ast.Subscript) else None
        name, value = literal(field.slice) if isinstance(field, ast.Subscript) else None, self._value(call.args[0])
        if isinstance(holder, dict) and name in holder and holder[name].choices is not None:
            kept = tuple(each for each in holder[name].choices or () if each != value)
            holder[name] = replace(holder[name], choices=kept)

    def _value(self, node: ast.expr) -> Any:
        found = self.src.resolve(self.module, node.id) if isinstance(node, ast.Name) else None
        return literal(found[1] if found and isinstance(found[1], ast.expr) else node)

    def _lookup(self, node: ast.expr) -> dict[str, Facts] | Facts | None:
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "get_kwargs" and isinstance(node.args[0], ast.Name):
            return class_fields(self.src, self.module, node.args[0].id)
        if isinstance(node, ast.Name):
            return self.bound.get(node.id)
        if isinstance(node, ast.Subscript):
            holder = self._lookup(node.value)
            return holder.get(literal(node.slice)) if isinstance(holder, dict) else None
        return None

    def _add(self, call: ast.Call) -> None:
        receiver = ast.unparse(call.func.value) if isinstance(call.func, ast.Attribute) else ""
        names = [literal(a) for a in call.args]
        options = [n for n in names if isinstance(n, str) and n.startswith("-")]
        if not options or (self.module.path.name == "scripts.py" and receiver != "serve_parser"):
            return
        named: dict[str, ast.expr] = {}
        facts = Facts()
        for keyword in call.keywords:
            if keyword.arg is not None:
                named[keyword.arg] = keyword.value
            elif isinstance(keyword.value, ast.Dict):
                for k, v in zip(keyword.value.keys, keyword.value.values, strict=True):
                    facts = self._merged(facts, v) if k is None else _with(facts, {str(literal(k)): v})
            else:
                facts = self._merged(facts, keyword.value)
        long = next((o for o in options if o.startswith("--")), options[0])
        aliases = tuple(o for o in options if o not in (long, "-O"))
        self.flags[long] = replace(_with(facts, named, self._choices), aliases=aliases)

    def _merged(self, facts: Facts, node: ast.expr) -> Facts:
        found = self._lookup(node)
        return found if isinstance(found, Facts) else facts

    def _choices(self, node: ast.expr) -> Any:
        """`get_args(Alias)` and plain lists; anything computed at run time is left out."""
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "get_args" and isinstance(node.args[0], ast.Name):
            found = self.src.resolve(self.module, node.args[0].id)
            node = found[1] if found and isinstance(found[1], ast.expr) else node
            if isinstance(node, ast.Subscript):
                return literal(node.slice if isinstance(node.slice, ast.Tuple) else ast.Tuple([node.slice], ast.Load()))
        return literal(node)


def _with(facts: Facts, named: dict[str, ast.expr], choices: Any = literal) -> Facts:
    """`facts` with explicit argparse keywords applied."""
    if (action := named.get("action")) is not None:
        name = str(literal(action)) if isinstance(action, ast.Constant) else ast.unparse(action).rsplit(".", 1)[-1]
        facts = replace(facts, kind=ACTIONS.get(name, facts.kind))
    if (nargs := named.get("nargs")) is not None:
        facts = replace(facts, kind=NARGS.get(str(literal(nargs)), "list"))
    if (typ := named.get("type")) is not None:
        text = ast.unparse(typ)
        facts = replace(facts, type="json" if "json.loads" in text else next((t for t in ("int", "float") if t in text), "str"))
    if (options := named.get("choices")) is not None:
        found = choices(options)
        facts = replace(facts, choices=None if found is UNKNOWN else tuple(found))
    if (default := named.get("default")) is not None:
        facts = replace(facts, default=literal(default))
    help_text = ast.unparse(named["help"]) if "help" in named else ""
    return replace(facts, deprecated=facts.deprecated or "deprecated" in named or says_deprecated(help_text) or "DEPRECATION" in help_text)
