"""Refusals in Python source, read without running it: raise and assert statements with the conditions around them, bounds of fields."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tools.mechanisms.rows import Condition

BOUNDS = {"gt": "<=", "ge": "<", "lt": ">=", "le": ">", "multiple_of": "is no multiple of", "min_length": "is shorter than"}
NOT_REFUSALS = ("AttributeError", "StopIteration", "KeyError", "SystemExit")
"""Raised to answer a caller inside of the program, or to end a process that was told to stop."""
_Function = ast.FunctionDef | ast.AsyncFunctionDef


def refusals(path: Path, file: str) -> Iterator[Condition]:
    """Every refusal of a module, in the order of the source; ``file`` is the name that it gets."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    yield from _Reader(file).body(tree.body, (), ())


@dataclass(frozen=True, slots=True)
class _Reader:
    file: str

    def body(self, statements: list[ast.stmt], symbol: tuple[str, ...], conditions: tuple[str, ...]) -> Iterator[Condition]:
        for statement in statements:
            yield from self.statement(statement, symbol, conditions)

    def statement(self, node: ast.stmt, symbol: tuple[str, ...], conditions: tuple[str, ...]) -> Iterator[Condition]:
        if isinstance(node, ast.ClassDef | _Function):
            yield from self.body(node.body, (*symbol, node.name), ())
        elif isinstance(node, ast.AnnAssign):
            yield from self.bounds(node, symbol)
        elif isinstance(node, ast.Raise):
            yield from self.raised(node, symbol, conditions)
        elif isinstance(node, ast.Assert) and node.msg is not None:
            yield self.made(symbol, (*conditions, _not(node.test)), _text(node.msg))
        else:
            yield from self.blocks(node, symbol, conditions)

    def blocks(self, node: ast.stmt, symbol: tuple[str, ...], conditions: tuple[str, ...]) -> Iterator[Condition]:
        """The statements inside of a compound statement, with what must hold to come there."""
        if isinstance(node, ast.If):
            yield from self.body(node.body, symbol, (*conditions, ast.unparse(node.test)))
            yield from self.body(node.orelse, symbol, (*conditions, _not(node.test)))
        elif isinstance(node, ast.For | ast.While):
            head = f"for {ast.unparse(node.target)} in {ast.unparse(node.iter)}" if isinstance(node, ast.For) else ast.unparse(node.test)
            yield from self.body([*node.body, *node.orelse], symbol, (*conditions, head))
        elif isinstance(node, ast.Try):
            yield from self.body([*node.body, *node.orelse, *node.finalbody], symbol, conditions)
            for handler in node.handlers:
                caught = f"except {ast.unparse(handler.type)}" if handler.type else "except"
                yield from self.body(handler.body, symbol, (*conditions, caught))
        elif isinstance(node, ast.With):
            yield from self.body(node.body, symbol, conditions)
        elif isinstance(node, ast.Match):
            for case in node.cases:
                yield from self.body(case.body, symbol, (*conditions, f"{ast.unparse(node.subject)} is {ast.unparse(case.pattern)}"))

    def raised(self, node: ast.Raise, symbol: tuple[str, ...], conditions: tuple[str, ...]) -> Iterator[Condition]:
        call = node.exc
        name = ast.unparse(call.func if isinstance(call, ast.Call) else call) if call is not None else ""
        abstract = name == "NotImplementedError" and not (isinstance(call, ast.Call) and call.args)
        if not name or name in NOT_REFUSALS or abstract or not symbol:
            return
        message = " ".join(_text(argument) for argument in call.args) if isinstance(call, ast.Call) else name
        yield self.made(symbol, conditions, message)

    def bounds(self, node: ast.AnnAssign, symbol: tuple[str, ...]) -> Iterator[Condition]:
        """``x: int = Field(gt=0)`` refuses values outside."""
        calls = [
            each for each in ast.walk(node) if isinstance(each, ast.Call) and ast.unparse(each.func) in ("Field", "conint", "confloat")
        ]
        said = [
            f"{ast.unparse(node.target)} {BOUNDS[word.arg]} {ast.unparse(word.value)}"
            for call in calls
            for word in call.keywords
            if word.arg in BOUNDS
        ]
        if said and symbol:
            yield self.made(symbol, (" or ".join(said),), "")

    def made(self, symbol: tuple[str, ...], conditions: tuple[str, ...], message: str) -> Condition:
        return Condition(self.file, ".".join(symbol), " and ".join(_brackets(each) for each in conditions), message)


def _brackets(text: str) -> str:
    return f"({text})" if " or " in text else text


def _not(node: ast.expr) -> str:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return ast.unparse(node.operand)
    return ast.unparse(ast.UnaryOp(ast.Not(), node))


def _text(node: ast.expr) -> str:
    """A message as text, with the expressions of an f-string in braces."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(part.value if isinstance(part, ast.Constant) else f"{{{ast.unparse(part.value)}}}" for part in node.values)  # type: ignore[attr-defined,misc]
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Mod):
        return _text(node.left) + (_text(node.right) if isinstance(node.op, ast.Add) else "")
    return ast.unparse(node)
