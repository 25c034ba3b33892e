"""Type hints of config fields, read statically, turned into what argparse gets: the rules of vLLM's `get_kwargs`."""

import ast
from dataclasses import dataclass, replace
from typing import Any

from tools.vllm_facts.source import Module, Source

UNKNOWN = object()


@dataclass(frozen=True)
class Facts:
    """How one flag is read: `kind` is switch, boolean (has --no-x), optional (value may be left out), value, list."""

    kind: str = "value"
    type: str | None = None
    choices: tuple[Any, ...] | None = None
    default: Any = UNKNOWN
    deprecated: bool = False
    config: str | None = None
    aliases: tuple[str, ...] = ()


def literal(node: ast.expr | None) -> Any:
    """The value of a literal, UNKNOWN for anything that would have to be run."""
    if node is None:
        return UNKNOWN
    try:
        value = ast.literal_eval(node)
    except ValueError:
        return UNKNOWN
    return sorted(value, key=str) if isinstance(value, set) else value


def hints(src: Source, module: Module, node: ast.expr, depth: int = 8) -> set[tuple[str, Any]]:
    """The members of a (union) hint as (name, payload): ('Literal', options), ('list', None), ('int', None), ..."""
    if depth == 0:
        return {("other", None)}
    if isinstance(node, ast.Constant):
        if isinstance(node.value, str):
            return hints(src, module, ast.parse(node.value, mode="eval").body, depth - 1)
        return {("None", None)}
    if isinstance(node, ast.BinOp):
        return hints(src, module, node.left, depth) | hints(src, module, node.right, depth)
    if isinstance(node, ast.Subscript):
        return _subscript(src, module, node, depth)
    if isinstance(node, ast.Name):
        return _name(src, module, node.id, depth)
    return {("other", None)}


def _subscript(src: Source, module: Module, node: ast.Subscript, depth: int) -> set[tuple[str, Any]]:
    head = ast.unparse(node.value).rsplit(".", 1)[-1]
    args = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    if head == "Optional":
        return hints(src, module, args[0], depth) | {("None", None)}
    if head == "Union":
        return set().union(*(hints(src, module, a, depth) for a in args))
    if head in ("Annotated", "SkipValidation", "ClassVar"):
        return hints(src, module, args[0], depth)
    if head == "Literal":
        return {("Literal", tuple(option for a in args for option in _options(src, module, a, depth)))}
    if head.lower() in ("list", "tuple", "set", "sequence", "dict"):
        name = "list" if head == "Sequence" else head.lower()
        return {(name, frozenset(each for each, _ in hints(src, module, args[0], depth - 1)))}
    return {("other", None)}


def _options(src: Source, module: Module, node: ast.expr, depth: int) -> tuple[Any, ...]:
    """The options one argument of Literal stands for: itself, or those of another Literal it names."""
    if (value := literal(node)) is not UNKNOWN:
        return (value,)
    return next((payload for name, payload in hints(src, module, node, depth - 1) if name == "Literal"), ())


def _name(src: Source, module: Module, name: str, depth: int) -> set[tuple[str, Any]]:
    if name in ("bool", "str", "int", "float", "dict", "list", "tuple", "set"):
        return {(name, None)}
    found = src.resolve(module, name)
    if not found:
        return {("other", None)}
    where, node = found
    if isinstance(node, ast.ClassDef):
        decorated = any("dataclass" in ast.unparse(d) or ast.unparse(d).startswith("config") for d in node.decorator_list)
        return {("dataclass", node.name)} if decorated else {("other", None)}
    return hints(src, where, node, depth - 1) if isinstance(node, ast.expr) else {("other", None)}


def facts_of(members: set[tuple[str, Any]]) -> Facts:
    """vLLM's order of precedence: config class, optional text, bool, literal, collection, number, dict, text."""
    names = {n for n, _ in members}
    if "dataclass" in names:
        return Facts("value", "json")
    if names == {"bool", "str", "None"}:
        return Facts("optional", "str")
    if "bool" in names:
        return Facts("boolean")
    if "Literal" in names:
        options = next(payload for n, payload in members if n == "Literal")
        kind = type(options[0]).__name__ if options else "str"
        return Facts("value", kind, None if "str" in names else tuple(sorted(options, key=str)))
    if names & {"tuple", "list", "set"}:
        whole = all(payload == {"int"} for name, payload in members if name in ("tuple", "list", "set"))
        return Facts("list", "int" if whole else None)
    for scalar in ("int", "float"):
        if scalar in names:
            return Facts("value", scalar)
    return Facts("value", "json" if "dict" in names and "str" not in names else "str")


def class_fields(src: Source, module: Module, name: str) -> dict[str, Facts]:
    """All fields of the (config) class `name` as seen in `module`, those of its bases first."""
    found = src.resolve(module, name)
    if not found or not isinstance(found[1], ast.ClassDef):
        return {}
    where, cls = found[0], found[1]
    fields: dict[str, Facts] = {}
    for base in cls.bases:
        if isinstance(base, ast.Name):
            fields |= class_fields(src, where, base.id)
    body, listed = cls.body, _listed(cls)
    for here, after in zip(body, [*body[1:], ast.Pass()], strict=True):
        if not isinstance(here, ast.AnnAssign) or not isinstance(here.target, ast.Name) or "ClassVar" in ast.unparse(here.annotation):
            continue
        doc = after.value.value if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant) else ""
        members = hints(src, where, here.annotation)
        # A text beside the literal is for names that a plugin registers: a validator refuses all others.
        facts = facts_of(members - {("str", None)} if here.target.id in listed else members)
        fields[here.target.id] = replace(facts, default=_default(here.value), deprecated=says_deprecated(str(doc)), config=cls.name)
    return fields


def _listed(cls: ast.ClassDef) -> set[str]:
    """Fields whose validator refuses what is not in a list of values."""
    found: set[str] = set()
    for function in cls.body:
        if isinstance(function, ast.FunctionDef) and "Valid values are" in ast.unparse(function):
            calls = [call for call in function.decorator_list if isinstance(call, ast.Call) and ast.unparse(call.func) == "field_validator"]
            found |= {str(literal(arg)) for call in calls for arg in call.args}
    return found


def says_deprecated(text: str) -> bool:
    return "DEPRECATED" in text or any(f"{w} deprecated" in text for w in ("is", "are", "been", "was"))


def _default(node: ast.expr | None) -> Any:
    if isinstance(node, ast.Call) and ast.unparse(node.func).rsplit(".", 1)[-1] in ("Field", "field"):
        named = {k.arg: k.value for k in node.keywords}
        if "default" in named:
            return literal(named["default"])
        if isinstance(made := named.get("default_factory"), ast.Lambda):
            return literal(made.body)
        empty: dict[str, Any] = {"list": [], "dict": {}, "set": []}
        return empty.get(made.id, UNKNOWN) if isinstance(made, ast.Name) else literal(node.args[0] if node.args else None)
    return literal(node)
