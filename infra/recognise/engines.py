"""The engine of a container as facts: its arguments, sizes, model, version."""

import json
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from interlock.infra.engine.arguments import Arguments
from interlock.infra.engine.flags import shape
from interlock.infra.engine.words import Word, templated
from interlock.infra.facts import ArgProblem, Engine, Fact, Flag, absent, known, unknown
from interlock.infra.recognise.commands import environment_with
from interlock.infra.recognise.containers import Read
from interlock.infra.recognise.context import Context
from interlock.infra.recognise.document import Node, scalar_text
from interlock.infra.recognise.supervised import supervisor_of
from interlock.infra.values import quantity

SIZES = {
    "tensor_parallel": "tensor-parallel-size",
    "pipeline_parallel": "pipeline-parallel-size",
    "data_parallel": "data-parallel-size",
    "data_parallel_local": "data-parallel-size-local",
    "prefill_context_parallel": "prefill-context-parallel-size",
}
# KServe's huggingfaceserver spells these its own way (kserve/python/huggingfaceserver).
_MODEL_FLAGS = ("model", "model-id", "model-dir", "model_id", "model_dir")
_PORT_FLAGS = ("port", "http-port", "http_port")
# Launchers that take flags of their own beside vLLM's: a flag they own is not vLLM's to judge.
_LARGEST = 10**12
_MIXED = frozenset({"script", "dynamo", "huggingfaceserver"})


def engine_of(read: Read, context: Context) -> Engine:
    """The engine that a container starts."""
    launch = read.launch
    environment = environment_with(read.environment, launch.assignments)
    flags = _vllm_only(read.arguments.flags) if launch.entrypoint in _MIXED else list(read.arguments.flags)
    extra, complete = _config_flags(flags, read, context)
    problems = list(launch.problems) + ([] if launch.entrypoint == "script" else read.arguments.problems)
    if launch.ray:
        problems.append(ArgProblem("ray-start", "the script starts or joins a Ray node", read.container.path))
    return sized(
        Engine(
            container=read.container.name,
            version=read.image.version,
            model=_model([*extra, *flags], read.arguments.positionals, launch.complete),
            entrypoint=launch.entrypoint,
            flags=(*extra, *flags),
            env=environment.values,
            supervisor=supervisor_of(read.container, environment.values),
            problems=tuple(problems),
            complete=launch.complete and read.arguments.complete and complete and launch.entrypoint != "script",
            listed=launch.listed and read.arguments.complete and complete,
        )
    )


def sized(engine: Engine) -> Engine:
    """The engine with its sizes and port read from its flags."""
    sizes: dict[str, Any] = {field: _integer(engine.flag(name)) for field, name in SIZES.items()}
    port = next((fact for name in _PORT_FLAGS if not (fact := _given(engine.flags, name)).absent), absent())
    model = engine.model if not engine.model.absent or engine.complete else unknown(why="part of the command line cannot be read")
    return replace(engine, port=_integer(port), model=model, **sizes)


def _given(flags: Iterable[Flag], name: str) -> Fact[str]:
    found: Fact[str] = absent()
    for flag in flags:
        if flag.name == name:
            found = flag.value
    return found


def _integer(fact: Fact[str]) -> Fact[int]:
    return fact.map(_whole)


def _whole(text: str) -> int:
    number = quantity(text)
    if abs(number) > _LARGEST or number != number.to_integral_value():
        raise ValueError(f"{text[:40]!r} is not a size")
    return int(number)


def _vllm_only(flags: Iterable[Flag]) -> list[Flag]:
    return [flag for flag in flags if shape("--" + flag.name).kind or flag.name in (*_MODEL_FLAGS, *_PORT_FLAGS)]


def _model(flags: Iterable[Flag], positionals: Iterable[Word], complete: bool) -> Fact[str]:
    first = next(iter(positionals), None)
    if first is not None:
        if not first.known or templated(first.text):
            return unknown(first.path, f"depends on {(first.raw or first.text)[:120]}")
        return known(first.text, first.path)
    for name in _MODEL_FLAGS:
        fact = _given(flags, name)
        if not fact.absent:
            return unknown(fact.path, f"templated: {fact.get()[:120]}") if fact.known and templated(fact.get()) else fact
    return absent() if complete else unknown(why="part of the command line cannot be read")


def _config_flags(flags: Iterable[Flag], read: Read, context: Context) -> tuple[list[Flag], bool]:
    """The flags of ``--config FILE`` where a ConfigMap of the set holds it; False when the file cannot be read."""
    given = _given(flags, "config")
    if given.absent:
        return [], True
    found = read.file(given.get()) if given.known else None
    if found is None:
        return [], False
    loaded = context.load(Node(*found))
    return (keyword_flags(loaded), True) if loaded.mapping else ([], False)


def keyword_flags(node: Node) -> list[Flag]:
    """Flags of a mapping of argument names to values (a ``--config`` file, Ray's ``engine_kwargs``, KServe and chart fields)."""
    flags = []
    for key, value in node.fields():
        name = shape("--" + key.replace("_", "-")).name
        flags.append(Flag(name, plain_value(value), key, value.path))
    return flags


def plain_value(node: Node) -> Fact[str]:
    """A value as the text that the command line would hold."""
    if node.unknown:
        return unknown(node.path, "not known before the update")
    text = scalar_text(node.value)
    if text is not None:
        return node.text()
    if node.is_list and all(scalar_text(item.value) is not None for item in node.items()):
        return known(" ".join(item.string() for item in node.items()), node.path)
    try:
        return known(json.dumps(node.value), node.path)
    except (TypeError, ValueError, RecursionError):
        return unknown(node.path, "not readable as JSON")


def with_flags(engine: Engine, arguments: Arguments) -> Engine:
    """The engine with further arguments appended, as an operator appends them."""
    return sized(
        replace(
            engine,
            flags=(*engine.flags, *arguments.flags),
            problems=(*engine.problems, *arguments.problems),
            complete=engine.complete and arguments.complete,
            model=_model(arguments.flags, arguments.positionals, True) if engine.model.absent else engine.model,
        )
    )
