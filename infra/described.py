"""What the docstrings under fields say, for those who show them: the JSON schemas, the reference, the package of components.

Pydantic would read the source of every model whenever it is imported, which takes longer than a plan.
"""

import ast
import inspect
import textwrap
from collections.abc import Iterator
from functools import cache
from typing import Any, Literal, get_args

from pydantic import BaseModel


@cache
def texts(model: type[BaseModel]) -> dict[str, str]:
    """Field -> the docstring under it, in the class itself and in those that it is derived from."""
    return {name: text for each in reversed(_line(model)) for name, text in _own(each).items()}


def schema(model: type[BaseModel], mode: Literal["validation", "serialization"] = "validation") -> dict[str, Any]:
    """The JSON schema of ``model`` with the texts of its fields, and of those of every model in it."""
    made = model.model_json_schema(mode=mode)
    for each in _models(model, set()):
        shape = made if each is model else made["$defs"].get(each.__name__, {})
        for name, text in texts(each).items():
            if name in shape.get("properties", {}):
                shape["properties"][name] = dict(sorted({"description": text, **shape["properties"][name]}.items()))
    return made


def _models(hint: Any, seen: set[Any]) -> Iterator[type[BaseModel]]:
    """The models that a type names, each once."""
    for inner in get_args(hint):
        yield from _models(inner, seen)
    if isinstance(hint, type) and issubclass(hint, BaseModel) and hint not in seen:
        seen.add(hint)
        yield hint
        for field in hint.model_fields.values():
            yield from _models(field.annotation, seen)


def _line(model: type[BaseModel]) -> list[type[BaseModel]]:
    return [each for each in model.__mro__ if issubclass(each, BaseModel) and each is not BaseModel]


def _own(model: type[BaseModel]) -> dict[str, str]:
    (declared,) = ast.parse(textwrap.dedent(inspect.getsource(model))).body
    assert isinstance(declared, ast.ClassDef)
    return {
        field.target.id: inspect.cleandoc(text.value.value)
        for field, text in zip(declared.body, declared.body[1:], strict=False)
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and isinstance(text, ast.Expr)
        and isinstance(text.value, ast.Constant)
        and isinstance(text.value.value, str)
    }
