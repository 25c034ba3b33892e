"""Ray's own configuration against what its version reads: the models of Ray Serve, and the options of ``ray start``."""

import re
from collections.abc import Iterator
from difflib import get_close_matches

from interlock.infra.catalog.field_relations import SEGMENT, field_refused
from interlock.infra.catalog.fields import ray_fields, ray_knows, ray_start_option, ray_within
from interlock.infra.catalog.tables import table
from interlock.infra.facts import DocumentProblem, Fact, Origin
from interlock.infra.recognise.document import Node
from interlock.infra.recognise.schema import readable

_NAME = re.compile(r"[A-Za-z]\w+")
_INTEGER = re.compile(r"^\s*[+-]?\d+\s*$")
_NUMBER = re.compile(r"^\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$")
# ray/autoscaler/_private/cli_logger.py add_click_logging_options: every command of ray takes them.
_LOGGING = frozenset({"log-style", "log-color", "verbose"})
_CONFIGS = ("llm_configs", "prefill_config", "decode_config", "llm_config")
_DEEPEST = 8


def serve_problems(config: Node, source: Origin, version: Fact[str]) -> Iterator[DocumentProblem]:
    """What Ray Serve refuses of a configuration (``serveConfigV2``)."""
    told = str(version.value) if version.known else None
    if not config.mapping or not ray_within(told):
        return
    yield from _model(config, "ServeDeploySchema", source, told, 0)
    for application in config["applications"].items():
        for key in _CONFIGS if application["args"].mapping else ():
            node = application["args"][key]
            for item in node.items() if node.is_list else (node,):
                if item.mapping:
                    yield from _model(item, "LLMConfig", source, told, 0)
                    yield from _accelerator(item["accelerator_type"], source)


def _model(node: Node, name: str, source: Origin, version: str | None, depth: int) -> Iterator[DocumentProblem]:
    for refused in field_refused(f"ray:{name}", node.mapping, readable):
        row, place = refused.relation, node
        for key, step in SEGMENT.findall(row.at.partition("[]")[0]):
            place = place[key or step]
        yield DocumentProblem(source, "schema-broken", refused.message, place.path, place.string()[:80], refused.fix, row.severity, row.id)
    known = ray_fields(name, version)
    for key, child in node.fields():
        if known is not None and key not in known:
            yield _stranger(child, key, name, known, source)
        inner = next((each for each in _NAME.findall((known or {}).get(key, "")) if ray_knows("models", each)), None)
        inner = inner or _LISTS.get((name, key))
        for item in (child.items() if child.is_list else (child,)) if inner and depth < _DEEPEST else ():
            if inner and item.mapping:
                yield from _model(item, inner, source, version, depth + 1)


_LISTS = {
    ("ServeDeploySchema", "applications"): "ServeApplicationSchema",
    ("ServeApplicationSchema", "deployments"): "DeploymentSchema",
    ("DeploymentSchema", "ray_actor_options"): "RayActorOptionsSchema",
}


def _stranger(node: Node, key: str, name: str, known: object, source: Origin) -> DocumentProblem:
    fields = list(known) if isinstance(known, dict) else []
    near = next(iter(get_close_matches(key, fields, 1, 0.8)), None)
    homes = [other for other in ("LLMConfig", "ModelLoadingConfig", "LoraConfig") if key in (ray_fields(other, None) or {})]
    text = f"{name} has no key {key}; Ray refuses the application (extra keys are forbidden)"
    fix = f"write {near}" if near else f"move {key} to {homes[0]}" if homes else f"remove {key}"
    return DocumentProblem(source, "schema-broken", text, node.path, key, fix, fault="ray-llm-config")


def _accelerator(node: Node, source: Origin) -> Iterator[DocumentProblem]:
    value = node.string()
    if not value or not readable(value) or ray_knows("accelerators", value):
        return
    names = list(table("ray_fields.json")["accelerators"])
    words = {part.lower() for part in re.split(r"[^A-Za-z0-9]+", value)}
    near = next((name for name in names if name.lower() in words), None) or next(iter(get_close_matches(value, names, 1, 0.6)), None)
    text = f"accelerator_type {value!r} is not an accelerator that Ray knows; it refuses the application"
    fix = f"write {near}" if near else f"write one of Ray's names ({', '.join(names[:8])}, ...)"
    yield DocumentProblem(source, "schema-broken", text, node.path, value[:80], fix, fault="ray-llm-config")


def start_problems(cluster: Node, source: Origin, version: Fact[str]) -> Iterator[DocumentProblem]:
    """What ``ray start`` refuses of ``rayStartParams``: KubeRay hands each on as an option."""
    told = str(version.value) if version.known else None
    for group in (cluster["headGroupSpec"], *cluster["workerGroupSpecs"].items()) if ray_within(told) else ():
        for key, node in group["rayStartParams"].fields():
            yield from _option(key, node, source, told)


def _option(key: str, node: Node, source: Origin, version: str | None) -> Iterator[DocumentProblem]:
    value = node.string()
    if not ray_knows("start", key):
        if key not in _LOGGING and readable(key):
            names = list(table("ray_fields.json")["start"])
            near = next(iter(get_close_matches(key.replace("_", "-"), names, 1, 0.7)), None)
            text = f"ray start has no option --{key}, so this group never starts"
            fix = f"write {near}" if near else f"remove {key}"
            yield DocumentProblem(source, "schema-broken", text, node.path, key, fix, fault="ray-start-param")
        return
    kind = ray_start_option(key, version) or _kind(key)
    form = {"integer": _INTEGER, "number": _NUMBER}.get(kind)
    if form and isinstance(node.value, str) and readable(value) and not form.match(value):
        text = f"ray start --{key} takes {'a whole number' if kind == 'integer' else 'a number'}, not {value!r}: this group never starts"
        yield DocumentProblem(source, "schema-broken", text, node.path, value[:80], "write a whole number", fault="ray-start-param")


def _kind(key: str) -> str:
    """The kind that an option has in every version that was read; empty where they differ."""
    kinds = {row["kind"] for row in table("ray_fields.json")["start"][key]}
    return str(kinds.pop()) if len(kinds) == 1 else ""
