"""One question to the planner."""

from enum import StrEnum
from typing import Any

from pydantic import BaseModel, ConfigDict, Field


class Entry(StrEnum):
    """How the engine is started: batch defaults differ."""

    SERVER = "server"
    OFFLINE = "offline"


class SizingRequest(BaseModel):
    """A model, a GPU and engine arguments. Whatever is None takes the default of the vLLM version."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    model: str | None = None
    """Catalog id or alias (``meta-llama/Llama-3.1-8B-Instruct``)."""
    config: dict[str, Any] | None = Field(default=None, repr=False)
    """A whole config.json in place of a known model; wins over ``model``."""
    hf_overrides: dict[str, Any] = Field(default_factory=dict)
    """``--hf-overrides``: fields of the config that the command line changes."""
    allow_long: bool = False
    """``VLLM_ALLOW_LONG_MAX_MODEL_LEN``: a length beyond the model's positions is accepted."""
    checkpoint_bytes: int | None = Field(default=None, gt=0)
    """Sum of the checkpoint's tensor bytes (``metadata.total_size`` of the safetensors index), when known."""
    gpu: str | None = None
    """GPU name; anything ``interlock.infra.catalog.gpus.gpu`` understands."""
    gpu_total_gib: float | None = Field(default=None, gt=0)
    """Total memory as CUDA reports it; wins over the catalog's figure."""
    mig_profile: str | None = None
    """MIG slice (``3g.40gb``): its memory replaces the card's."""
    sharers: int = Field(default=1, ge=1)
    """Engines on the same card (time slices, MPS), this one included: their utilizations share the card."""
    tp: int = Field(default=1, ge=1)
    """Tensor-parallel ranks."""
    pp: int = Field(default=1, ge=1)
    """Pipeline stages."""
    dp: int = Field(default=1, ge=1)
    """Data-parallel engines."""
    dcp: int = Field(default=1, ge=1)
    """Decode-context-parallel ranks."""
    pcp: int = Field(default=1, ge=1)
    """Prefill-context-parallel ranks."""
    expert_parallel: bool = False
    """Whole experts are spread over TP x DP ranks instead of a slice of each on every rank."""
    dtype: str | None = None
    """``--dtype``."""
    quantization: str | None = None
    """``--quantization``, or how the checkpoint is quantized when its config is not at hand."""
    kv_cache_dtype: str | None = None
    """``--kv-cache-dtype``."""
    gpu_memory_utilization: float | None = Field(default=None, gt=0, le=1)
    """``--gpu-memory-utilization``."""
    max_model_len: int | None = Field(default=None, ge=-1)
    """``--max-model-len``; -1: as long as fits."""
    max_num_seqs: int | None = Field(default=None, gt=0)
    """``--max-num-seqs``."""
    max_num_batched_tokens: int | None = Field(default=None, gt=0)
    """``--max-num-batched-tokens``."""
    enforce_eager: bool | None = None
    """``--enforce-eager``."""
    block_size: int | None = Field(default=None, gt=0)
    """``--block-size``."""
    vllm_version: str | None = None
    """Version of vLLM; the newest known when None."""
    v0_engine: bool | None = None
    """The V0 engine ran (before 0.8 always, 0.8 to 0.10 for what V1 did not support)."""
    free_at_start_gib: float | None = Field(default=None, ge=0)
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
    speculative_tokens: int = Field(default=0, ge=0)
    """``num_speculative_tokens``."""
    draft_model: str | None = None
    """Catalog id of the draft model."""
    draft_config: dict[str, Any] | None = Field(default=None, repr=False)
    """config.json of the draft model."""
    draft_vocabulary_differs: bool = False
    """``use_heterogeneous_vocab`` of ``--speculative-config``: the draft may have another vocabulary."""
    max_loras: int = Field(default=0, ge=0)
    """Adapters on the GPU at the same time; 0: LoRA is off."""
    max_lora_rank: int = Field(default=16, gt=0)
    """``--max-lora-rank``."""
    language_model_only: bool = False
    """``--language-model-only`` or no multimodal input allowed: the vision tower is dropped."""
    no_video: bool = False
    """``--limit-mm-per-prompt`` allows no video: the encoder is profiled with an image."""
    cpu_offload_gb: float = Field(default=0.0, ge=0)
    """``--cpu-offload-gb``: GiB of weights per GPU that stay in host memory."""
    kv_cache_memory_bytes: int | None = Field(default=None, gt=0)
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
    wanted_concurrency: float | None = Field(default=None, gt=0)
    """Requests of the full length that must fit at the same time (1 when None)."""
