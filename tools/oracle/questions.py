"""What is asked of vLLM about each model: arguments, parallel sizes and the memory that is given for the KV cache."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .catalog import Model, speculative

WIDE, FEW = (1.0, 5.0, 20.0, 60.0), (5.0, 20.0)
WINDOWED = ("sliding", "chunked")
BLOCK_SIZES = ("llama-3.1-8b", "deepseek-v3", "gpt-oss-20b", "qwen3-next-80b")
SEQUENCES = ("llama-3.1-8b", "gemma-3-27b", "qwen3-next-80b", "deepseek-v2-lite")
EXPERT_PARALLEL = ("deepseek-v3", "qwen3-235b-a22b-fp8", "qwen3-235b-a22b", "gpt-oss-120b", "mixtral-8x7b", "glm-4.5-air", "minimax-m2.5")
CONTEXT_PARALLEL = ("deepseek-v3", "llama-3.1-70b", "qwen3-235b-a22b")


@dataclass(frozen=True)
class Question:
    """One model with one set of engine arguments; `kind` of the lines it gives; `shapes`: also a line about the model's bytes."""

    arguments: dict[str, Any]
    tp: int = 1
    pp: int = 1
    available_gib: tuple[float, ...] = FEW
    kind: str = "kv"
    shapes: str | None = None


def of(model: Model) -> Iterator[Question]:
    """All questions about one model, the broad ones first."""
    yield from _sizes(model)
    yield from _arguments(model)
    yield from _features(model)
    free = _arguments_of(-1)
    yield Question(free, tp=model.tp[0], available_gib=(1.0, 5.0), kind="autofit")
    for target, config in speculative():
        if target == model.name:
            with_draft = _arguments_of(model.lengths[1]) | {"speculative_config": config}
            yield Question(with_draft, shapes="spec")


def _arguments_of(length: int, cache: str = "auto", tokens: int = 8192, sequences: int = 256) -> dict[str, Any]:
    return {"max_model_len": length, "max_num_seqs": sequences, "max_num_batched_tokens": tokens, "kv_cache_dtype": cache}


def _sizes(model: Model) -> Iterator[Question]:
    long = model.lengths[1]
    for tp in model.tp:
        yield Question(_arguments_of(long), tp=tp, available_gib=WIDE, shapes="model")
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
