"""A typed model of the engine's flags under vLLM's own names, with its start-up checks that need no GPU."""

import json
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

_FROZEN = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True, protected_namespaces=())


class EngineArgs(BaseModel):
    """Engine flags a person may set. Omit one to let the planner, or else vLLM's default, decide."""

    model_config = _FROZEN

    tensor_parallel_size: int | None = Field(default=None, ge=1, le=64)
    """GPUs that share each layer (TP)."""
    pipeline_parallel_size: int | None = Field(default=None, ge=1, le=64)
    """Stages of layers (PP)."""
    data_parallel_size: int | None = Field(default=None, ge=1, le=1024)
    """Engine copies behind one URL in one replica (DP)."""
    enable_expert_parallel: bool | None = None
    """Spread the experts of a mixture over TP x DP instead of splitting each."""
    dtype: Literal["auto", "half", "float16", "bfloat16", "float", "float32"] | None = None
    """Type of weights and activations."""
    quantization: str | None = None
    """Quantization method; omit for what the checkpoint says."""
    kv_cache_dtype: str | None = None
    """Type of the KV cache (auto, fp8, ...)."""
    max_model_len: int | None = Field(default=None, ge=1)
    """Longest request in tokens, prompt and answer."""
    max_num_seqs: int | None = Field(default=None, ge=1)
    """Requests in one step."""
    max_num_batched_tokens: int | None = Field(default=None, ge=1)
    """Tokens in one step."""
    gpu_memory_utilization: float | None = Field(default=None, gt=0, le=1)
    """Share of the card that the engine takes."""
    kv_cache_memory_bytes: int | None = Field(default=None, ge=1)
    """Fixed size of the KV pool in bytes; takes the place of gpu_memory_utilization."""
    block_size: int | None = Field(default=None, ge=1)
    """Tokens of one KV block."""
    enforce_eager: bool | None = None
    """No CUDA graphs: slower, a fallback at the edge of memory."""
    enable_prefix_caching: bool | None = None
    """Reuse KV blocks of equal prefixes."""
    scheduling_policy: Literal["fcfs", "priority"] | None = None
    """Order of waiting requests."""
    max_num_queued_reqs: int | None = Field(default=None, ge=1)
    """Waiting requests before new ones are refused; unbounded by default."""
    trust_remote_code: bool | None = None
    """Run the checkpoint's own Python code."""
    enable_lora: bool | None = None
    """Serve LoRA adapters."""
    max_loras: int | None = Field(default=None, ge=1)
    """Adapters in one step."""
    max_lora_rank: int | None = Field(default=None, ge=1)
    """Largest adapter rank."""
    runner: Literal["auto", "generate", "pooling"] | None = None
    """generate, or pooling for embedding and reranker models."""
    load_format: str | None = None
    """Loader (auto, safetensors, runai_streamer, fastsafetensors, ...)."""
    speculative_config: dict[str, Any] | None = None
    """Speculative decoding, as vLLM's JSON."""
    override_generation_config: dict[str, Any] | None = None
    """Sampling defaults, as vLLM's JSON."""

    @model_validator(mode="after")
    def _start_up_checks(self) -> Self:
        if (self.max_loras or self.max_lora_rank) and not self.enable_lora:
            raise ValueError("max_loras and max_lora_rank do nothing without enable_lora: true")
        return self

    @property
    def tp(self) -> int:
        """Tensor parallel size, 1 when not set."""
        return self.tensor_parallel_size or 1

    @property
    def pp(self) -> int:
        """Pipeline parallel size, 1 when not set."""
        return self.pipeline_parallel_size or 1

    @property
    def dp(self) -> int:
        """Data parallel size, 1 when not set."""
        return self.data_parallel_size or 1

    @property
    def gpus(self) -> int:
        """GPUs that one replica's engine uses: TP x PP x DP."""
        return self.tp * self.pp * self.dp


class ServeArgs(BaseModel):
    """The whole command line of one server."""

    model_config = _FROZEN

    model: str
    """Model id or path, as the pod sees it."""
    served_model_name: str
    """Name that clients use."""
    port: int = Field(default=8000, ge=1, le=65535)
    """Port of the API server."""
    revision: str | None = None
    """Commit of the model repository."""
    engine: EngineArgs = EngineArgs()
    """Engine flags, all decided."""
    shutdown_timeout: int | None = Field(default=None, ge=0)
    """Seconds that running requests get after SIGTERM; vLLM's default 0 aborts them."""
    extra: tuple[str, ...] = ()
    """Further arguments as given by the user, last on the line."""

    def to_argv(self) -> tuple[str, ...]:
        """Arguments of ``vllm serve``, model first, flags in the order of the fields, user's extras last."""
        argv = [self.model, *_flag("served-model-name", self.served_model_name), *_flag("port", self.port)]
        argv += _flag("revision", self.revision)
        argv += _flag("shutdown-timeout", self.shutdown_timeout)
        for name in EngineArgs.model_fields:
            argv += _flag(name.replace("_", "-"), getattr(self.engine, name))
        return (*argv, *self.extra)


def _flag(name: str, value: object) -> list[str]:
    if value is None:
        return []
    if isinstance(value, bool):
        return [f"--{name}" if value else f"--no-{name}"]
    if isinstance(value, dict):
        return [f"--{name}", json.dumps(value, sort_keys=True, separators=(",", ":"))]
    return [f"--{name}", str(value)]
