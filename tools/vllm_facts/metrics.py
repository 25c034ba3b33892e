"""Prometheus metrics that one source tree defines: name, type, labels, and whether it is shown by default."""

import ast
import re
from dataclasses import dataclass

from tools.vllm_facts.hints import literal
from tools.vllm_facts.source import Module, Source

NAME = re.compile(r"vllm:[a-z][a-z0-9_]*[a-z0-9]")
TYPES = ("counter", "gauge", "histogram", "summary", "info")
# Files that only read metrics by name.
READERS = ("benchmarks/", "entrypoints/serve/utils/orca_metrics.py", "entrypoints/openai/orca_metrics.py", "v1/metrics/reader.py")


@dataclass(frozen=True)
class Metric:
    """`labels`: beside model_name and engine; `hidden`: only with --show-hidden-metrics-for-version; `engine`: v0 if only it has it."""

    type: str | None
    labels: tuple[str, ...]
    hidden: bool
    engine: str


def metrics(src: Source) -> dict[str, Metric]:
    found: dict[str, Metric] = {}
    for path in src.paths():
        module = src.module(path)
        if module is None or "vllm:" not in module.text or path.startswith(READERS):
            continue
        # Without a v1 folder there is only one engine.
        engine = "v0" if path == "engine/metrics.py" and src.module("v1/metrics/loggers.py") else "v1"
        for name, metric in _in_module(module, engine).items():
            if name not in found or _rank(metric) > _rank(found[name]):
                found[name] = metric
    return found


def _rank(metric: Metric) -> tuple[bool, bool, bool]:
    """The better of two definitions: today's engine, shown, with a type."""
    return metric.engine == "v1", not metric.hidden, metric.type is not None


def _in_module(module: Module, engine: str) -> dict[str, Metric]:
    calls: dict[str, Metric] = {}
    spans = _hidden_spans(module)
    docs = _docstrings(module)
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Call) and (name := _name_of(node)):
            hidden = any(a <= node.lineno <= b for a, b in spans)
            calls[name] = Metric(_type_of(node), _labels_of(node), hidden, engine)
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and NAME.fullmatch(node.value) and id(node) not in docs:
            hidden = any(a <= node.lineno <= b for a, b in spans)
            calls.setdefault(node.value, Metric(None, (), hidden, engine))
    return calls


def _hidden_spans(module: Module) -> list[tuple[int, int]]:
    return [
        (node.body[0].lineno, node.body[-1].end_lineno or node.body[-1].lineno)
        for node in ast.walk(module.tree)
        if isinstance(node, ast.If) and "show_hidden_metrics" in ast.unparse(node.test)
    ]


def _docstrings(module: Module) -> set[int]:
    return {id(node.value) for node in ast.walk(module.tree) if isinstance(node, ast.Expr)}


def _name_of(call: ast.Call) -> str | None:
    candidates = [k.value for k in call.keywords if k.arg == "name"] + call.args[:1]
    values = [literal(c) for c in candidates]
    return next((v for v in values if isinstance(v, str) and NAME.fullmatch(v)), None)


def _type_of(call: ast.Call) -> str | None:
    text = ast.unparse(call.func).lower()
    return next((t for t in TYPES if t in text), None)


def _labels_of(call: ast.Call) -> tuple[str, ...]:
    """Names written out in `labelnames=`; the common ones come in by variables and are the same for all."""
    for keyword in call.keywords:
        if keyword.arg == "labelnames":
            texts = [n.value for n in ast.walk(keyword.value) if isinstance(n, ast.Constant) and isinstance(n.value, str)]
            attributes = [
                n.attr.removeprefix("labelname_")
                for n in ast.walk(keyword.value)
                if isinstance(n, ast.Attribute) and n.attr.startswith("labelname_")
            ]
            return tuple(dict.fromkeys(t for t in [*texts, *attributes] if t not in ("model_name", "engine")))
    return ()
