"""The line format of ``interlock size --jsonl``: one case in, one answer out, whatever the case looks like."""

import json
import math
import re
from collections.abc import Callable, Mapping
from typing import Any

from pydantic import ValidationError

from interlock.infra.catalog.models import find
from interlock.infra.sizing.budget import size
from interlock.infra.sizing.request import Entry, SizingRequest
from interlock.infra.sizing.result import Estimate, SizingResult, Verdict

# Field of a case, or engine argument by its vLLM name -> field of the request. The first name that is stated counts.
_INTEGERS: Mapping[str, tuple[str, ...]] = {
    "tp": ("tp", "tensor_parallel_size"),
    "pp": ("pp", "pipeline_parallel_size"),
    "dp": ("dp", "data_parallel_size"),
    "dcp": ("dcp", "decode_context_parallel_size"),
    "max_model_len": ("max_model_len",),
    "max_num_seqs": ("max_num_seqs",),
    "max_num_batched_tokens": ("max_num_batched_tokens",),
    "block_size": ("block_size",),
    "max_loras": ("max_loras",),
    "max_lora_rank": ("max_lora_rank",),
    "kv_cache_memory_bytes": ("kv_cache_memory_bytes",),
    "checkpoint_bytes": ("checkpoint_bytes",),
    "sharers": ("sharers",),
}
_NUMBERS = ("gpu_total_gib", "free_at_start_gib", "gpu_memory_utilization", "given_kv_gib", "cpu_offload_gb", "wanted_concurrency")
_FLAGS: Mapping[str, tuple[str, ...]] = {
    "enforce_eager": ("enforce_eager",),
    "enable_prefix_caching": ("enable_prefix_caching",),
    "async_scheduling": ("async_scheduling",),
    "disable_hybrid_kv_cache_manager": ("disable_hybrid_kv_cache_manager",),
    "expert_parallel": ("ep", "enable_expert_parallel"),
    "language_model_only": ("language_model_only",),
}
_TEXTS = ("model", "gpu", "dtype", "quantization", "kv_cache_dtype", "vllm_version", "mig_profile")
_LARGEST_BLOCK = 256
_SHORT = 2048
_LAST_V0 = "0.7.3"


Reader = Callable[[Any], Any]


def request_of(case: Mapping[str, Any]) -> tuple[SizingRequest | None, tuple[str, ...]]:
    """The request a case describes, and what was left out of it because it made no sense."""
    fields: dict[str, Any] = {}
    strange: list[str] = []
    for field, names in _INTEGERS.items():
        _take(case, names, field, read=_integer, fields=fields, strange=strange)
    for field in _NUMBERS:
        _take(case, (field,), field, read=_number, fields=fields, strange=strange)
    for field, names in _FLAGS.items():
        _take(case, names, field, read=_flag, fields=fields, strange=strange)
    for field in _TEXTS:
        _take(case, (field,), field, read=_text, fields=fields, strange=strange)
    _take(case, ("config",), "config", read=_object, fields=fields, strange=strange)
    _take(case, ("draft_config",), "draft_config", read=_object, fields=fields, strange=strange)
    _converted(case, fields)
    if case.get("entry") == "offline":
        fields["entry"] = Entry.OFFLINE
    if fields.get("block_size", 0) > _LARGEST_BLOCK:  # what the engine settled on for a hybrid, not what was asked
        del fields["block_size"]
    engine = _text(case.get("engine")) or ""
    if engine.startswith(("V0", "V1")):
        fields["v0_engine"] = engine.startswith("V0")
        if engine.startswith("V0"):
            fields.setdefault("vllm_version", _LAST_V0)
    _speculation(case, fields, strange)
    _ranks(case, fields)
    return _valid(fields, strange), tuple(strange)


def _take(case: Mapping[str, Any], names: tuple[str, ...], field: str, *, read: Reader, fields: dict[str, Any], strange: list[str]) -> None:
    for name in names:
        value = case.get(name)
        if value is None:
            continue
        found = read(value)
        if found is None:
            strange.append(f"{name} = {str(value)[:60]!r} makes no sense and is left out")
            continue
        fields[field] = found
        return


def _integer(value: Any) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, str) and value.strip().lower() in ("auto", "-1"):
        return -1
    number = _number(value)
    return int(number) if number is not None and number == int(number) else None


def _number(value: Any) -> float | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        try:
            value = float(value.strip())
        except ValueError:
            return None
    return float(value) if isinstance(value, int | float) and math.isfinite(value) and abs(value) < 1e15 else None


def _flag(value: Any) -> bool | None:
    if isinstance(value, str) and value.strip().lower() in ("true", "false"):
        return value.strip().lower() == "true"
    return value if isinstance(value, bool) else None


def _text(value: Any) -> str | None:
    return value.strip() if isinstance(value, str) and value.strip() else None


def _object(value: Any) -> dict[str, Any] | None:
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            return None
    return dict(value) if isinstance(value, Mapping) and all(isinstance(key, str) for key in value) else None


def _converted(case: Mapping[str, Any], fields: dict[str, Any]) -> None:
    """``--convert``, or ``--task`` and ``--runner`` of older commands."""
    words = (_text(case.get("convert")) or _text(case.get("task")) or "").lower()
    if words in ("classify", "score", "reward"):
        fields["convert"] = "classify"
    elif words in ("embed", "embedding") or (_text(case.get("runner")) == "pooling" and words in ("", "auto")):
        fields["convert"] = "embed"


def _speculation(case: Mapping[str, Any], fields: dict[str, Any], strange: list[str]) -> None:
    """``speculative_config`` as vLLM takes it, or words such as ``mtp 2`` beside a log."""
    stated = case.get("speculative_config")
    config = _object(stated) if stated is not None else None
    if config is not None:
        method, tokens, model = _text(config.get("method")), _integer(config.get("num_speculative_tokens")), _text(config.get("model"))
        fields |= {"speculative_method": method or "draft_model", "speculative_tokens": max(tokens or 0, 0)}
        if model and find(model):
            fields["draft_model"] = model
        fields["draft_vocabulary_differs"] = config.get("use_heterogeneous_vocab") is True
        inner = _object(config.get("config"))
        if inner:
            fields["draft_config"] = inner
        return
    if stated is not None:
        strange.append(f"speculative_config = {str(stated)[:60]!r} makes no sense and is left out")
    words = case.get("spec_decode")
    if isinstance(words, str) and words.strip():
        match = re.search(r"(\d+)", words)
        method = next((name for name in ("mtp", "eagle3", "eagle", "ngram", "dspark", "dflash", "draft") if name in words.lower()), "draft")
        fields |= {
            "speculative_method": "draft_model" if method == "draft" else method,
            "speculative_tokens": int(match.group(1)) if match else 1,
        }


def _ranks(case: Mapping[str, Any], fields: dict[str, Any]) -> None:
    """GPUs without a stated split are taken as tensor parallel."""
    total = _integer(case.get("n_gpus"))
    if total and total > 1 and "tp" not in fields:
        fields["tp"] = max(1, total // (fields.get("pp", 1) * fields.get("dp", 1)))


def _valid(fields: dict[str, Any], strange: list[str]) -> SizingRequest | None:
    """The request without the fields that are out of range."""
    for _ in range(len(fields) + 1):
        try:
            return SizingRequest(**fields)
        except ValidationError as error:
            for problem in error.errors():
                name = str(problem["loc"][0]) if problem["loc"] else ""
                if name in fields:
                    strange.append(f"{name} = {str(fields.pop(name))[:60]!r} is out of range and left out")
    return None


def _plain(estimate: Estimate | None, digits: int = 3) -> dict[str, float] | None:
    if estimate is None:
        return None
    return {name: round(getattr(estimate, name), digits) for name in ("low", "likely", "high")}


def answer_of(case: Mapping[str, Any]) -> dict[str, Any]:
    """The answer to one case, as documented in docs/size.md. Never raises."""
    identity = case.get("id")
    request, strange = request_of(case)
    if request is None:
        return {"id": identity, "verdict": Verdict.UNSURE.value, "reasons": ["the case cannot be read"], "unknown": list(strange)}
    result = size(request)
    if request.max_model_len is None and result.verdict is Verdict.DOES_NOT_FIT:
        result = _length_not_stated(request, result)
    if "fork" in (_text(case.get("engine")) or "").lower():
        reason = "the engine is a fork of vLLM: its build of the model and its overheads are not known"
        result = result.model_copy(update={"verdict": Verdict.UNSURE, "reasons": (reason, *result.reasons)})
    return {"id": identity, **fields_of(result), "unknown": [*strange, *result.unknown]}


def _length_not_stated(request: SizingRequest, result: SizingResult) -> SizingResult:
    """In a case, a missing length is one that nobody wrote down: a shorter one may have been used."""
    shorter = size(request.model_copy(update={"max_model_len": min(_SHORT, result.max_model_len or _SHORT)}))
    if shorter.verdict is Verdict.DOES_NOT_FIT:
        return result
    reason = f"max_model_len is not stated: at the model's own {result.max_model_len} it does not fit ({result.reasons[0]}), shorter it may"
    return result.model_copy(update={"verdict": Verdict.UNSURE, "reasons": (reason,)})


def fields_of(result: SizingResult) -> dict[str, Any]:
    """The documented fields of a result."""
    return {
        "verdict": result.verdict.value,
        "reasons": list(result.reasons),
        "weights_gib": _plain(result.weights_gib),
        "activation_gib": _plain(result.activation_gib),
        "cudagraph_gib": _plain(result.cudagraph_gib),
        "non_torch_gib": _plain(result.non_torch_gib),
        "kv_available_gib": _plain(result.kv_available_gib),
        "kv_tokens": _plain(result.kv_tokens, 0),
        "max_concurrency": _plain(result.max_concurrency, 6),
        "kv_needed_gib": result.kv_needed_gib,
        "kv_bytes_per_token": result.kv_bytes_per_token,
        "param_bytes": result.param_bytes,
        "num_blocks": result.num_blocks,
        "block_size": result.block_size,
        "max_model_len": result.max_model_len,
        "longest_model_len": result.longest_model_len,
        "suggestions": [{"change": dict(s.change), "text": s.text} for s in result.suggestions],
        "vllm_version": result.vllm_version,
    }
