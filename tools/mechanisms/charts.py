"""Which values the templates of a chart read: python -m tools.mechanisms.charts FOLDER SOURCE puts it into infra/catalog/chart_values.json.

FOLDER is the chart's own folder of a checkout; SOURCE says of which one (repository, path and commit).

Templates are read, not rendered: actions are followed through range, with, variables and named templates, and every path below .Values
that any of them names is noted. What a template hands on whole (toYaml, tpl, range over a mapping) may have any key below it.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from interlock.infra.catalog.charts import below_of, unread
from tools.common import ROOT, ToolError, run_main, say

FILE = ROOT / "infra" / "catalog" / "chart_values.json"
ABOUT = (
    "Values that a chart's templates read, with the templates (tools/mechanisms/charts.py); 'whole': handed on with all that is below; "
    "'dead': keys of its own values that no template reads."
)
Steps = tuple[str, ...]
Value = Steps | dict[str, "Value"] | None
"""A path below .Values, a dict of such, or something else. The root context is the path ``("$",)``."""

_ROOT: Steps = ("$",)
_ACTION = re.compile(r"\{\{-?\s*(.*?)\s*-?\}\}", re.DOTALL)
_OPERAND = re.compile(r"(?<![\w\"'.$)])(\$\w*(?:\.\w+)*|\.(?:\w+(?:\.\w+)*)?)(?![\w\"'])")
_KEYED = re.compile(r"\b(?:hasKey|get|index|dig)\s+(\S+)\s+\"([\w.-]+)\"")
_WHOLE = re.compile(r"\b(?:toYaml|toJson|toPrettyJson|tpl|fromYaml|merge|mergeOverwrite|omit|keys|values|deepCopy)\b")
_CALL = re.compile(r"\b(?:include|template)\s+\"([^\"]+)\"\s*(\(.*\)|\S+)?", re.DOTALL)
_PAIR = re.compile(r"\"([\w-]+)\"\s+(\$[\w.]*|\.[\w.]*|\"[^\"]*\"|\([^()]*\)|\w+)")
_STRINGS = re.compile(r"\"(?:[^\"\\]|\\.)*\"|`[^`]*`")
_DEEPEST = 12


@dataclass
class Scope:
    """What the dot and the variables are at a place."""

    dot: Value
    names: dict[str, Value]
    opened: str = ""


@dataclass
class Reads:
    """Paths that templates read, each with the names of the templates, and those of which they take whatever is below."""

    paths: dict[Steps, set[str]] = field(default_factory=dict)
    whole: set[Steps] = field(default_factory=set)

    def note(self, value: Value, template: str, *, whole: bool) -> None:
        """One use of a value."""
        for path in _paths(value):
            self.paths.setdefault(path, set()).add(template)
            if whole:
                self.whole.add(path)


def _paths(value: Value) -> Iterator[Steps]:
    if isinstance(value, dict):
        for each in value.values():
            yield from _paths(each)
    elif value and value != _ROOT:
        yield value


def _resolved(operand: str, scope: Scope) -> Value:
    """What an operand such as ``$model.vllmConfig.dtype`` or ``.Values.a`` stands for."""
    head, _, rest = operand.partition(".") if operand.startswith("$") else ("", "", operand[1:])
    value: Value = (_ROOT if head == "$" else scope.names.get(head)) if operand.startswith("$") else scope.dot
    for step in filter(None, rest.split(".")):
        if isinstance(value, dict):
            value = value.get(step)
        elif value == _ROOT:
            value = () if step == "Values" else None
        else:
            value = None if value is None else (*value, step)
    return value


class Reader:
    """Follows the templates of one chart."""

    def __init__(self, templates: Mapping[str, str]) -> None:
        self.reads = Reads()
        self._named: dict[str, str] = {}
        self._bodies: dict[str, str] = {}
        for name, text in templates.items():
            self._bodies[name] = _without_defines(text, self._named)

    def read(self) -> Reads:
        """What all templates read."""
        for name, text in self._bodies.items():
            if not name.startswith("_"):
                self._walk(text, Scope(_ROOT, {}), name, ())
        return self.reads

    def _walk(self, text: str, scope: Scope, template: str, calls: tuple[str, ...]) -> None:
        stack = [scope]
        for match in _ACTION.finditer(text):
            action = match[1]
            if action.startswith("/*"):
                continue
            word = action.split(None, 1)[0] if action else ""
            if word == "end":
                stack.pop() if len(stack) > 1 else None
                continue
            current = stack[-1]
            self._note(action, current, template, calls)
            if word in ("if", "with", "range", "block"):
                stack.append(self._opened(word, action, current, template))
            elif word == "else" and " with " in f" {action} ":
                stack[-1] = Scope(self._value(action, current), current.names, "with")
            elif word == "else" and current.opened in ("with", "range"):
                stack[-1] = Scope(stack[-2].dot, current.names, "if")
            else:
                self._assign(action, current)

    def _opened(self, word: str, action: str, scope: Scope, template: str) -> Scope:
        names = dict(scope.names)
        declared, _, expression = action.partition(":=") if ":=" in action else ("", "", action.partition(" ")[2])
        value = self._value(expression, scope)
        if word == "range":
            item: Value = (*value, "[]") if isinstance(value, tuple) and value != _ROOT else None
            for name in re.findall(r"\$\w+", declared)[-1:]:
                names[name] = item
            return Scope(item, names, word)
        for name in re.findall(r"\$\w+", declared):
            names[name] = value
        return Scope(value if word == "with" else scope.dot, names if word != "if" else scope.names, word)

    def _assign(self, action: str, scope: Scope) -> None:
        found = re.match(r"(\$\w+)\s*:?=\s*(.*)", action, re.DOTALL)
        if found:
            value = self._value(found[2], scope)
            if value is not None or found[1] not in scope.names:
                scope.names[found[1]] = value

    def _value(self, expression: str, scope: Scope) -> Value:
        """What an expression stands for: a dict of operands, or the last operand that is a path."""
        if re.match(r"\(?\s*dict\b", expression.strip()):
            return {key: self._value(text, scope) for key, text in _PAIR.findall(expression)}
        found = [_resolved(each, scope) for each in _OPERAND.findall(_STRINGS.sub(" ", expression))]
        for operand, key in _KEYED.findall(expression):
            inner = _resolved(operand.strip("()"), scope)
            if isinstance(inner, tuple) and inner != _ROOT:
                found.append((*inner, key))
        known = [each for each in found if each is not None]
        return known[-1] if known else None

    def _note(self, action: str, scope: Scope, template: str, calls: tuple[str, ...]) -> None:
        whole = bool(_WHOLE.search(action))
        plain = _STRINGS.sub(" ", _CALL.sub(" ", action))
        for operand in _OPERAND.findall(plain):
            value = _resolved(operand, scope)
            if not isinstance(value, dict):
                self.reads.note(value, template, whole=whole)
        for operand, key in _KEYED.findall(action):
            value = _resolved(operand.strip("()"), scope)
            if isinstance(value, tuple) and value != _ROOT:
                self.reads.note((*value, key), template, whole=False)
        for name, argument in _CALL.findall(action):
            given = self._value(argument.partition("|")[0], scope) if argument else None
            if name in self._named and name not in calls and len(calls) < _DEEPEST:
                self._walk(self._named[name], Scope(given, {}), template, (*calls, name))
            else:
                self.reads.note(given, template, whole=True)


def _without_defines(text: str, named: dict[str, str]) -> str:
    """A template's text outside of its named templates, which go into ``named``."""
    rest, depth, at, begun, name = "", 0, 0, 0, ""
    for match in _ACTION.finditer(text):
        word = match[1].split(None, 1)[0] if match[1] else ""
        if word == "define" and depth == 0:
            rest += text[at : match.start()]
            name, begun, depth = match[1].split('"')[1], match.end(), 1
        elif depth and word in ("if", "with", "range", "block", "define"):
            depth += 1
        elif depth and word == "end":
            depth -= 1
            if depth == 0:
                named[name], at = text[begun : match.start()], match.end()
    return rest + text[at:]


def told(path: Steps) -> str:
    """A path as text: ``modelSpec[].vllmConfig.dtype``."""
    return ".".join(path).replace(".[]", "[]")


def chart(folder: Path) -> tuple[str, dict[str, object]]:
    """(name, its row) of the chart in a folder. Raises ToolError where there is none."""
    try:
        head = yaml.safe_load((folder / "Chart.yaml").read_text("utf-8"))
        own = folder / "values.yaml"
        values = yaml.safe_load(own.read_text("utf-8")) if own.exists() else {}
        files = [*folder.glob("templates/**/*.tpl"), *folder.glob("templates/**/*.y*ml"), *folder.glob("files/**/*-patch.y*ml")]
        # Folders may hold files of one name: both count.
        templates: dict[str, str] = {}
        for path in files:
            templates[path.relative_to(folder).as_posix() if path.name in templates else path.name] = path.read_text("utf-8")
    except (OSError, yaml.YAMLError) as error:
        raise ToolError(f"{folder}: no chart ({error})") from None
    reads = Reader(templates).read()
    rows = {told(path): sorted(names) for path, names in sorted(reads.paths.items()) if path}
    row: dict[str, object] = {"version": str(head["version"]), "whole": sorted(told(path) for path in reads.whole if path), "reads": rows}
    dead = sorted(".".join(map(str, steps)) for steps in unread(below_of(row), values))
    return head["name"], {"version": row["version"], **({"dead": dead} if dead else {}), "whole": row["whole"], "reads": rows}


def written(data: Mapping[str, Any]) -> str:
    """The table as its file: one line a path."""
    lines = [f" {json.dumps(key)}: {json.dumps(value)}," for key, value in data.items() if key != "charts"]
    charts = []
    for name, row in sorted(data["charts"].items()):
        head = [f"   {json.dumps(key)}: {json.dumps(value)}" for key, value in row.items() if key not in ("whole", "reads")]
        whole = '   "whole": [\n' + ",\n".join(f"    {json.dumps(each)}" for each in row["whole"]) + "\n   ]"
        reads = (
            '   "reads": {\n' + ",\n".join(f"    {json.dumps(key)}: {json.dumps(value)}" for key, value in row["reads"].items()) + "\n   }"
        )
        charts.append(f"  {json.dumps(name)}: {{\n" + ",\n".join([*head, whole, reads]) + "\n  }")
    return "{\n" + "\n".join(lines) + '\n "charts": {\n' + ",\n".join(charts) + "\n }\n}\n"


def main(arguments: list[str]) -> int:
    """Entry point."""
    if len(arguments) != 2:
        raise ToolError("usage: python -m tools.mechanisms.charts FOLDER SOURCE")
    folder, source = arguments
    name, row = chart(Path(folder))
    data: dict[str, Any] = json.loads(FILE.read_text("utf-8")) if FILE.exists() else {"_about": ABOUT, "charts": {}}
    data["charts"][name] = {"source": source, **row}
    FILE.write_text(written(data), "utf-8")
    say(f"{name} {row['version']}: {len(row['reads'])} paths")  # type: ignore[arg-type]
    return 0


if __name__ == "__main__":
    run_main(main)
