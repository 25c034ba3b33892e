"""One question to the planner."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from interlock.infra.catalog.overheads import Overheads

AUTO = -1
"""``max_model_len``: as long as the KV cache holds; written as ``auto``, too."""


class Entry(StrEnum):
    """How the engine is started: batch defaults differ."""

    SERVER = "server"
    OFFLINE = "offline"


_POSITIVE = (
    "checkpoint_bytes",
    "gpu_total_gib",
    "gpu_memory_utilization",
    "max_num_seqs",
    "max_num_batched_tokens",
    "block_size",
    "max_lora_rank",
    "kv_cache_memory_bytes",
    "wanted_concurrency",
)
_LEAST = {
    **dict.fromkeys(("sharers", "tp", "pp", "dp", "dcp", "pcp"), 1),
    **dict.fromkeys(("free_at_start_gib", "speculative_tokens", "max_loras", "cpu_offload_gb"), 0),
    "max_model_len": -1,
}


def out_of_range(values: Mapping[str, Any]) -> Iterator[str]:
    """Names of the fields whose value is a number that the field cannot take; None is a value of any."""
    for name in _POSITIVE:
        found = values.get(name)
        if found is not None and not found > 0:
            yield name
    for name, least in _LEAST.items():
        found = values.get(name)
        if found is not None and not found >= least:
            yield name
    if values.get("max_model_len") == 0:
        yield "max_model_len"
    if (values.get("gpu_memory_utilization") or 0) > 1:
        yield "gpu_memory_utilization"


@dataclass(frozen=True, slots=True, kw_only=True)
class SizingRequest:
    """A model, a GPU and engine arguments. Whatever is None takes the default of the vLLM version."""

    model: str | None = None
    """Catalog id or alias (``meta-llama/Llama-3.1-8B-Instruct``)."""
    config: dict[str, Any] | None = field(default=None, repr=False)
    """A whole config.json in place of a known model; wins over ``model``."""
    hf_overrides: dict[str, Any] = field(default_factory=dict)
    """``--hf-overrides``: fields of the config that the command line changes."""
    allow_long: bool = False
    """``VLLM_ALLOW_LONG_MAX_MODEL_LEN``: a length beyond the model's positions is accepted."""
    checkpoint_bytes: int | None = None
    """Sum of the checkpoint's tensor bytes (``metadata.total_size`` of the safetensors index), when known."""
    gpu: str | None = None
    """GPU name; anything ``interlock.infra.catalog.gpus.gpu`` understands."""
    gpu_total_gib: float | None = None
    """Total memory as CUDA reports it; wins over the catalog's figure."""
    mig_profile: str | None = None
    """MIG slice (``3g.40gb``): its memory replaces the card's."""
    sharers: int = 1
    """Engines on the same card (time slices, MPS), this one included: their utilizations share the card."""
    tp: int = 1
    """Tensor-parallel ranks."""
    pp: int = 1
    """Pipeline stages."""
    dp: int = 1
    """Data-parallel engines."""
    dcp: int = 1
    """Decode-context-parallel ranks."""
    pcp: int = 1
    """Prefill-context-parallel ranks."""
    expert_parallel: bool = False
    """Whole experts are spread over TP x DP ranks instead of a slice of each on every rank."""
    dtype: str | None = None
    """``--dtype``."""
    quantization: str | None = None
    """``--quantization``, or how the checkpoint is quantized when its config is not at hand."""
    kv_cache_dtype: str | None = None
    """``--kv-cache-dtype``."""
    gpu_memory_utilization: float | None = None
    """``--gpu-memory-utilization``."""
    max_model_len: int | None = None
    """``--max-model-len``; -1: as long as fits."""
    max_num_seqs: int | None = None
    """``--max-num-seqs``."""
    max_num_batched_tokens: int | None = None
    """``--max-num-batched-tokens``."""
    enforce_eager: bool | None = None
    """``--enforce-eager``."""
    block_size: int | None = None
    """``--block-size``."""
    vllm_version: str | None = None
    """Version of vLLM; the newest known when None."""
    v0_engine: bool | None = None
    """The V0 engine ran (before 0.8 always, 0.8 to 0.10 for what V1 did not support)."""
    free_at_start_gib: float | None = None
    """Free memory before the engine starts, when known (another process may be on the card)."""
    enable_prefix_caching: bool | None = None
    """``--enable-prefix-caching``."""
    chunked_prefill: bool | None = None
    """``--enable-chunked-prefill``; on when None."""
    async_scheduling: bool | None = None
    """``--async-scheduling``."""
    disable_hybrid_kv_cache_manager: bool | None = None
    """``--disable-hybrid-kv-cache-manager``."""
    speculative_method: str | None = None
    """``method`` of ``--speculative-config`` (mtp, eagle3, ngram, draft_model, ...)."""
    speculative_tokens: int = 0
    """``num_speculative_tokens``."""
    draft_model: str | None = None
    """Catalog id of the draft model."""
    draft_config: dict[str, Any] | None = field(default=None, repr=False)
    """config.json of the draft model."""
    draft_vocabulary_differs: bool = False
    """``use_heterogeneous_vocab`` of ``--speculative-config``: the draft may have another vocabulary."""
    max_loras: int = 0
    """Adapters on the GPU at the same time; 0: LoRA is off."""
    max_lora_rank: int = 16
    """``--max-lora-rank``."""
    language_model_only: bool = False
    """``--language-model-only`` or no multimodal input allowed: the vision tower is dropped."""
    no_video: bool = False
    """``--limit-mm-per-prompt`` allows no video: the encoder is profiled with an image."""
    cpu_offload_gb: float = 0.0
    """``--cpu-offload-gb``: GiB of weights per GPU that stay in host memory."""
    kv_cache_memory_bytes: int | None = None
    """``--kv-cache-memory-bytes``: fixes the pool; utilization is then ignored."""
    given_kv_gib: float | None = None
    """Only lay out so much KV memory; activation, graphs and the rest are skipped."""
    convert: str | None = None
    """``--convert`` (``embed``, ``classify``): the model answers with vectors or scores."""
    graph_estimate: bool = True
    """``VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS``: an estimate of the graphs is taken out of the KV budget."""
    layer_parts: tuple[int, ...] = ()
    """``VLLM_PP_LAYER_PARTITION``: layers of each pipeline stage."""
    entry: Entry = Entry.SERVER
    """Server or offline class."""
    ignored: tuple[str, ...] = ()
    """What the command line says and the answer does not follow, in sentences; told in ``unknown``."""
    wanted_concurrency: float | None = None
    """Requests of the full length that must fit at the same time (1 when None)."""
    overheads: Overheads | None = field(default=None, repr=False)
    """Fitted figures in place of the catalog's: those of half of the logs, when the planner is judged on the other half."""

    def __post_init__(self) -> None:
        """Raises ValueError for a number that is out of range."""
        values = {name: getattr(self, name) for name in (*_POSITIVE, *_LEAST)}
        if wrong := next(out_of_range(values), ""):
            raise ValueError(f"{wrong} = {values[wrong]!r} is out of range")
