"""Questions drawn at random, the same on every machine: arguments that people combine, and odd ones."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from tools.oracle.catalog import Model

COUNT = 5
AVAILABLE = (0.01, 0.2, 1.0, 2.5, 5.0, 7.77, 12.0, 20.0, 33.3, 60.0, 100.0, 900.0)
# A fraction is a share of the model's long length.
LENGTHS = (1, 16, 100, 1000, 2048, 4095, 4096, 5000, 8193, 20000, -1, 0.125, 0.25, 0.4, 0.5, 0.75, 1.0, 1.0)
# Named with how often each is drawn; None: the argument is not stated.
OPTIONS: tuple[tuple[str, tuple[Any, ...]], ...] = (
    ("max_num_seqs", (1, 2, 16, 64, 128, 256, 256, 512, 1024)),
    ("max_num_batched_tokens", (256, 512, 1000, 2048, 2048, 4096, 8192, 8192, 16384, 30000)),
    ("kv_cache_dtype", ("auto", "auto", "auto", "auto", "fp8", "fp8", "fp8_e4m3", "fp8_e5m2", "bfloat16")),
    ("block_size", (None, None, None, None, 8, 16, 32, 64, 128, 256)),
    ("enable_prefix_caching", (None, None, True, False)),
    ("async_scheduling", (None, None, None, True, False)),
    ("disable_hybrid_kv_cache_manager", (None, None, None, None, True)),
    ("dtype", (None, None, None, None, None, None, None, "float16", "float32")),
)
NGRAM = {"method": "ngram", "num_speculative_tokens": 4, "prompt_lookup_max": 3}
ONLINE = (None, None, None, None, None, None, "fp8")
T = TypeVar("T")


@dataclass(frozen=True)
class Row:
    """One drawn question; `shapes`: the model's bytes are asked too."""

    arguments: dict[str, Any]
    tp: int
    pp: int
    available_gib: tuple[float, ...]
    shapes: bool


def drawn(model: Model) -> Iterator[Row]:
    """So many questions about a model; a model's draws do not depend on the other models."""
    if model.family != "draft":
        for index in range(COUNT):
            yield _row(model, index)


def _row(model: Model, index: int) -> Row:
    def one(what: str, among: Sequence[T]) -> T:
        number = int.from_bytes(hashlib.sha256(f"{model.name} {index} {what}".encode()).digest()[:8], "big")
        return among[number % len(among)]

    tp = one("tp", (*model.tp, *model.tp, 3, 6, 8))
    pp = one("pp", (1, 1, 1, 1, 2, 3)) if tp <= 2 else 1
    stated = {name: value for name, values in OPTIONS if (value := one(name, values)) is not None}
    arguments = {"max_model_len": _length(model.lengths[1], one("length", LENGTHS)), **stated}
    if tp > 1 and one("dcp", (True, False, False, False, False, False)):
        arguments["decode_context_parallel_size"] = 2
    if tp > 1 and one("ep", (True, False, False)) and "expert" in str(model.config):
        arguments["enable_expert_parallel"] = True
    if one("ngram", (True, *(False,) * 7)):
        arguments["speculative_config"] = NGRAM
    online = one("online", ONLINE)
    if online and not model.quantized and arguments.get("dtype") != "float32":
        arguments["quantization"] = online
    available = one("available", AVAILABLE)
    shapes = (
        pp > 1 or tp not in (model.tp[0], model.tp[-1]) or "enable_expert_parallel" in arguments or bool(online) or "dtype" in arguments
    )
    return Row(arguments, tp, pp, (available,), shapes)


def _length(longest: int, choice: float) -> int:
    return int(longest * choice) if isinstance(choice, float) else choice
