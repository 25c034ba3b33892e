"""What is asked of vLLM about each model: arguments, parallel sizes and the memory that is given for the KV cache."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools.oracle.catalog import Model, speculative
from tools.oracle.draws import drawn

WIDE, FEW = (1.0, 20.0), (5.0, 20.0)
SHARED = ("groups", "layer_pages", "groups_by_pp_rank")
LONGEST_REFUSAL, LONGEST_PLACE = 200, 100
WINDOWED = ("sliding", "chunked")
BLOCK_SIZES = ("llama-3.1-8b", "deepseek-v3", "gpt-oss-20b", "qwen3-next-80b")
SEQUENCES = ("llama-3.1-8b", "gemma-3-27b", "qwen3-next-80b", "deepseek-v2-lite")
EXPERT_PARALLEL = ("deepseek-v3", "qwen3-235b-a22b-fp8", "qwen3-235b-a22b", "gpt-oss-120b", "mixtral-8x7b", "glm-4.5-air", "minimax-m2.5")
CONTEXT_PARALLEL = ("deepseek-v3", "llama-3.1-70b", "qwen3-235b-a22b")


Kept = Mapping[str, list[str]]


@dataclass(frozen=True)
class Question:
    """One model with one set of engine arguments; `kind` of the lines it gives; `shapes`: also a line about the model's bytes;
    `loads`: with what vLLM's step after loading makes of them."""

    arguments: dict[str, Any]
    tp: int = 1
    pp: int = 1
    available_gib: tuple[float, ...] = FEW
    kind: str = "kv"
    shapes: str | None = None
    loads: bool = False

    @property
    def key(self) -> str:
        """What tells it from the other questions about the model."""
        return key(self.arguments, self.tp, self.pp)


def key(arguments: Mapping[str, Any], tp: int, pp: int) -> str:
    return json.dumps([arguments, tp, pp], sort_keys=True)


def kept(path: Path) -> Kept:
    """The lines of an answer file by the question they answer."""
    found: dict[str, list[str]] = {}
    for text in path.read_text(encoding="utf-8").splitlines(keepends=True) if path.exists() else ():
        line = json.loads(text)
        found.setdefault(key(line["args"], line["tp"], line["pp"]), []).append(text)
    return found


def written(model: Model, answers: Kept) -> Iterator[str]:
    """The lines of the file about a model. What a plan shares with the line before (its groups and pages) is not repeated."""
    for question in of(model):
        shared: dict[str, Any] = {}
        for text in answers.get(question.key, ()):
            line = json.loads(text)
            if line.get("available_gib", question.available_gib[0]) not in question.available_gib:
                continue
            same = [name for name in SHARED if name in line and shared.get(name) == line[name]]
            shared |= {name: line[name] for name in SHARED if name in line}
            short = {name: value for name, value in line.items() if name not in same}
            if line["kind"] == "refused":
                short |= {"error": short["error"][:LONGEST_REFUSAL], "error_at": (short["error_at"] or "")[:LONGEST_PLACE] or None}
            yield json.dumps(short, separators=(",", ":")) + "\n"


def of(model: Model) -> Iterator[Question]:
    """All questions about one model, the broad ones first, none twice."""
    seen: set[str] = set()
    for question in _all(model):
        if question.key not in seen:
            seen.add(question.key)
            yield question


def _all(model: Model) -> Iterator[Question]:
    yield from _sizes(model)
    if not model.brief:
        yield from _arguments(model)
        yield from _features(model)
    free = _arguments_of(-1)
    yield Question(free, tp=model.tp[0], available_gib=(1.0, 5.0), kind="autofit")
    for target, config in speculative():
        if target == model.name:
            with_draft = _arguments_of(model.lengths[1]) | {"speculative_config": config}
            yield Question(with_draft, shapes="spec")
            if config["method"] != "ngram":
                yield Question(with_draft, tp=model.tp[-1], shapes="spec")
    for row in drawn(model):
        kind = "autofit" if row.arguments["max_model_len"] == -1 else "kv"
        yield Question(row.arguments, row.tp, row.pp, row.available_gib, kind, "model" if row.shapes else None)


def _arguments_of(length: int, cache: str = "auto", tokens: int = 8192, sequences: int = 256) -> dict[str, Any]:
    return {"max_model_len": length, "max_num_seqs": sequences, "max_num_batched_tokens": tokens, "kv_cache_dtype": cache}


def _sizes(model: Model) -> Iterator[Question]:
    long = model.lengths[1]
    ends = (model.tp[0], model.tp[-1])
    for tp in ends if model.brief else model.tp:
        available = FEW if model.brief else WIDE
        yield Question(_arguments_of(long), tp=tp, available_gib=available, shapes="model", loads=tp in ends)
    if model.pp:
        yield Question(_arguments_of(long), tp=model.tp[0], pp=2, shapes="model")
    yield Question(_arguments_of(long, "fp8"), tp=model.tp[0])


def _arguments(model: Model) -> Iterator[Question]:
    short, long = model.lengths
    tp = model.tp[0]
    yield Question(_arguments_of(short), tp=tp)
    if model.family in WINDOWED or model.name in SEQUENCES:
        yield Question(_arguments_of(long, tokens=2048), tp=tp)
        yield Question(_arguments_of(long, tokens=16384), tp=tp)
    if model.name in SEQUENCES:
        yield Question(_arguments_of(long, sequences=64), tp=tp)
        yield Question(_arguments_of(long, sequences=1024), tp=tp)
    if model.name in BLOCK_SIZES:
        for size in (32, 128):
            yield Question(_arguments_of(long) | {"block_size": size}, tp=tp)


def _features(model: Model) -> Iterator[Question]:
    long = _arguments_of(model.lengths[1])
    if model.family in WINDOWED:
        yield Question(long | {"disable_hybrid_kv_cache_manager": True}, tp=model.tp[0])
        yield Question(long | {"async_scheduling": False}, tp=model.tp[0])
    if model.family == "hybrid":
        yield Question(long | {"enable_prefix_caching": True}, tp=model.tp[0])
        yield Question(long | {"enable_prefix_caching": False}, tp=model.tp[0])
    if model.name in EXPERT_PARALLEL:
        yield Question(long | {"enable_expert_parallel": True}, tp=8, available_gib=(20.0,), shapes="model")
    if model.name in CONTEXT_PARALLEL:
        yield Question(long | {"decode_context_parallel_size": 2}, tp=8)
