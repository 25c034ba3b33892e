"""Which engine arguments the planner follows, how each is read, and which it only names."""

import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from interlock.infra.catalog.vllm_flags import flag_facts
from interlock.infra.sizing.request import AUTO

_SCALE = {"k": 1000, "K": 1024, "m": 10**6, "M": 1024**2, "g": 10**9, "G": 1024**3, "t": 10**12, "T": 1024**4}
LARGEST = 10**15
"""Above every number that an argument can mean: what is larger is a slip."""


WHOLE = "32768, 32k (32000) or 32K (32768)"
_OF_KUBERNETES = re.compile(r"(\d+(?:\.\d+)?)([KMGT])i")


def whole(text: str) -> int:
    """A whole number as vLLM's parser reads it (``32k``, ``1.5m``, ``4G``, ``auto`` as -1). Raises ValueError that says what to write.

    vllm/utils/argparse_utils.py, human_readable_int_or_auto: small letters are decimal, capitals binary and without decimals.
    """
    plain = text.strip()
    if plain.lower() == "auto":
        return AUTO
    scale = _SCALE.get(plain[-1:], 1)
    try:
        number = float(plain[:-1] if scale > 1 else plain) * scale
    except ValueError:
        raise ValueError(_not_whole(plain)) from None
    if not math.isfinite(number) or abs(number) > LARGEST or number != int(number):
        raise ValueError(f"{plain[:40]!r} is not an integer of a possible size")
    if scale > 1 and plain[-1].isupper() and not plain[:-1].strip().lstrip("+-").isdecimal():
        raise ValueError(f"{plain[:40]!r} is a decimal before a binary suffix, which vLLM's parser refuses: write {number:.0f}")
    return int(number)


def _not_whole(plain: str) -> str:
    """Why a text is not a number; a quantity of Kubernetes with the number that it means."""
    found = _OF_KUBERNETES.fullmatch(plain)
    exact = float(found[1]) * _SCALE[found[2]] if found else math.inf
    if found is None or exact > LARGEST:
        return f"{plain[:40]!r} is not an integer such as {WHOLE}"
    short = f"{found[1]}{found[2]}, which is " if found[1].isdecimal() else ""
    return f"{plain[:40]!r} is a quantity of Kubernetes, which vLLM's parser does not read: write {short}{exact:.0f}"


def number(text: str) -> float:
    """A finite number. Raises ValueError."""
    found = float(text)
    if not math.isfinite(found):
        raise ValueError(f"{text[:40]!r} is not a finite number")
    return found


def switch(text: str) -> bool:
    """A switch or boolean. Raises ValueError."""
    found = {"true": True, "1": True, "false": False, "0": False}.get(text.strip().lower())
    if found is None:
        raise ValueError(f"{text[:40]!r} is neither true nor false")
    return found


def word(text: str) -> str | None:
    """A word; None where it asks for the default."""
    plain = text.strip()
    return None if plain.lower() in ("", "auto", "none", "null") else plain


def literal(text: str) -> str:
    """A word as it stands: for some models ``auto`` is not the default."""
    return text.strip()


def parts(text: str) -> tuple[int, ...]:
    """Whole numbers between commas. Raises ValueError."""
    return tuple(int(part) for part in text.split(",") if part.strip())


def mapping(text: str) -> dict[str, Any]:
    """A JSON object. Raises ValueError."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{text[:60]!r} is not JSON ({error})") from None
    if not isinstance(found, dict):
        raise ValueError(f"{text[:60]!r} is not a JSON object")
    return found


@dataclass(frozen=True, slots=True)
class Follow:
    """The request's field that an argument fills, and how its text is read."""

    field: str
    read: Callable[[str], Any]


FOLLOWED: Mapping[str, Follow] = {
    "tensor-parallel-size": Follow("tp", whole),
    "pipeline-parallel-size": Follow("pp", whole),
    "data-parallel-size": Follow("dp", whole),
    "prefill-context-parallel-size": Follow("pcp", whole),
    "decode-context-parallel-size": Follow("dcp", whole),
    "enable-expert-parallel": Follow("expert_parallel", switch),
    "dtype": Follow("dtype", literal),
    "quantization": Follow("quantization", word),
    "kv-cache-dtype": Follow("kv_cache_dtype", literal),
    "gpu-memory-utilization": Follow("gpu_memory_utilization", number),
    "kv-cache-memory-bytes": Follow("kv_cache_memory_bytes", whole),
    "cpu-offload-gb": Follow("cpu_offload_gb", number),
    "max-model-len": Follow("max_model_len", whole),
    "max-num-seqs": Follow("max_num_seqs", whole),
    "max-num-batched-tokens": Follow("max_num_batched_tokens", whole),
    "block-size": Follow("block_size", whole),
    "enforce-eager": Follow("enforce_eager", switch),
    "enable-prefix-caching": Follow("enable_prefix_caching", switch),
    "enable-chunked-prefill": Follow("chunked_prefill", switch),
    "async-scheduling": Follow("async_scheduling", switch),
    "disable-hybrid-kv-cache-manager": Follow("disable_hybrid_kv_cache_manager", switch),
    "language-model-only": Follow("language_model_only", switch),
    "hf-overrides": Follow("hf_overrides", mapping),
}
"""Arguments with a field of their own in the request."""

ENVIRONMENT: Mapping[str, Follow] = {
    "VLLM_ALLOW_LONG_MAX_MODEL_LEN": Follow("allow_long", switch),
    "VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS": Follow("graph_estimate", switch),
    "VLLM_PP_LAYER_PARTITION": Follow("layer_parts", parts),
}
"""Environment variables with a field of their own in the request."""

JOINED: Mapping[str, str] = {
    "rope-scaling": "hf_overrides",
    "rope-theta": "hf_overrides",
    "limit-mm-per-prompt": "language_model_only",
    "enable-lora": "max_loras",
    "max-loras": "max_loras",
    "max-lora-rank": "max_lora_rank",
    "runner": "convert",
    "convert": "convert",
    "task": "convert",
    "speculative-config": "speculative_method",
    "spec-method": "speculative_method",
    "spec-model": "speculative_method",
    "spec-tokens": "speculative_method",
    "speculative-model": "speculative_method",
    "num-speculative-tokens": "speculative_method",
}
"""Arguments of which several make one field."""

DECISIVE = ("hf-config-path", "num-gpu-blocks-override", "model-class-overrides")
"""Arguments that are not followed and may change any answer."""

NAMED = frozenset(
    {
        "additional-config",
        "attention-config",
        "compilation-config",
        "config-format",
        "cpu-offload-params",
        "cuda-graph-sizes",
        "cudagraph-capture-sizes",
        "enable-dbo",
        "enable-eplb",
        "enable-prompt-embeds",
        "eplb-config",
        "fully-sharded-loras",
        "kv-cache-dtype-skip-layers",
        "kv-offloading-size",
        "kv-transfer-config",
        "load-format",
        "long-lora-scaling-factors",
        "lora-dtype",
        "lora-extra-vocab-size",
        "mamba-block-size",
        "mamba-cache-dtype",
        "mamba-cache-mode",
        "mamba-ssm-cache-dtype",
        "max-cudagraph-capture-size",
        "mm-encoder-tp-mode",
        "mm-ipc-gpu-memory-gb",
        "mm-processor-kwargs",
        "model-impl",
        "num-redundant-experts",
        "offload-backend",
        "offload-group-size",
        "optimization-level",
        "performance-mode",
        "quantization-config",
        "skip-mm-profiling",
        "swap-space",
        "ubatch-size",
    }
)
"""Arguments that may take or save memory of the GPU and are only named."""

# Loaders that read the same weights as the default one.
_PLAIN_LOADERS = ("auto", "hf", "pt", "safetensors", "runai_streamer", "runai_streamer_sharded", "fastsafetensors", "instanttensor")


def note(name: str, text: str | None) -> str | None:
    """What to say of an argument that is given and not followed; None where there is nothing to say."""
    if flag_facts(f"--{name}") is None:
        return f"--{name} is not an argument of vLLM: it is not followed"
    plain = name == "load-format" and text in _PLAIN_LOADERS
    zero = text in ("0", "0.0", "false")
    if name in DECISIVE or (name in NAMED and not plain and not zero):
        return f"--{name} is not followed: it may change the memory that the engine takes"
    return None
