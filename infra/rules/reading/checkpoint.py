"""Size of a checkpoint: as the facts state it, else from the parameters that the model's name states."""

import re
from dataclasses import dataclass

from interlock.infra.facts import Workload
from interlock.infra.rules.reading.planner import checkpoint_bytes

_PARAMS = re.compile(r"(?<![a-z0-9.])(?:(\d+)x)?(\d+(?:\.\d+)?)\s?([bm])(?![a-z0-9])", re.IGNORECASE)
_FOUR_BITS = re.compile(r"awq|gptq|int4|4-?bit|w4a\d+|nvfp4|mxfp4|bnb|fp4|gpt-oss", re.IGNORECASE)
_EIGHT_BITS = re.compile(r"fp8|int8|w8a8|8-?bit|deepseek-(v3|r1)$|kimi-k2", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Weights:
    """Bytes of a checkpoint. An error may rest on ``least`` only."""

    least: float
    likely: float
    origin: str
    """How it is known."""


GATED = "meta-llama/ google/gemma- mistralai/mistral-large mistralai/mixtral-8x22b"
"""Prefixes of models that the hub gives only to accounts that accepted a licence."""


def gated(model: str, prefixes: str = GATED) -> bool:
    """Whether a model's id is one that the hub hands out with a token only."""
    lower = model.lower()
    # Meta's own names, as people write them without the organisation.
    whole = f"meta-llama/{lower}" if lower.startswith(("llama-", "meta-llama-")) else lower
    return whole.startswith(tuple(prefixes.split()))


def params_in_name(model: str) -> float | None:
    """Parameters in 1e9 that a model's name states (``Qwen2.5-7B-Instruct`` -> 7, ``8x7B`` -> 56), else None."""
    sizes = []
    for times, count, unit in _PARAMS.findall(model.rstrip("/").rsplit("/", 1)[-1].replace("_", "-")[:200]):
        sizes.append(int(times or 1) * float(count) / (1000 if unit.lower() == "m" else 1))
    return max(sizes) if sizes else None


def weights(workload: Workload) -> Weights | None:
    """The checkpoint's size; None when neither the facts nor the name say it.

    From a name alone half a byte per parameter is the least (4-bit weights), two the likely one (16-bit) unless the name says a format.
    """
    engine = workload.engine
    if engine.weight_bytes.known:
        size = float(engine.weight_bytes.get())
        return Weights(size, size, f"{size / 1e9:.1f} GB of weights")
    listed = checkpoint_bytes(workload)
    if listed:
        return Weights(listed, listed, f"{listed / 1e9:.1f} GB of weights as the catalog knows the model")
    params = params_in_name(engine.model.get()) if engine.model.known else None
    if params is None:
        return None
    flag = engine.flag("quantization")
    stated = f"{engine.model.get()} {flag.value if flag.known else ''}"
    bytes_each = 0.5 if _FOUR_BITS.search(stated) else 1.0 if _EIGHT_BITS.search(stated) else 2.0
    return Weights(params * 0.5e9, params * bytes_each * 1e9, f"about {params:g}B parameters x {bytes_each:g} bytes")
