"""Engine flags by vLLM's own names. Written by `python -m tools.component_arguments`."""

from typing import Any, NotRequired, TypedDict

from interlock.components.arguments.engine_former import EngineFormerSettings
from interlock.components.arguments.engine_model import EngineModelSettings
from interlock.components.arguments.engine_run import EngineRunSettings
from interlock.components.arguments.engine_server import EngineServerSettings


class PlannedEngineSettings(TypedDict):
    """Engine flags a person may set: these, and every other one by its name (engine-args.md). What is left out is decided by the plan."""

    tensor_parallel_size: NotRequired[int]
    """GPUs that share each layer (TP)."""
    pipeline_parallel_size: NotRequired[int]
    """Stages of layers (PP)."""
    data_parallel_size: NotRequired[int]
    """Engine copies behind one URL in one replica (DP)."""
    enable_expert_parallel: NotRequired[bool]
    """Spread the experts of a mixture over TP x DP instead of splitting each."""
    dtype: NotRequired[str]
    """Type of weights and activations."""
    quantization: NotRequired[str]
    """Quantization method; omit for what the checkpoint says."""
    kv_cache_dtype: NotRequired[str]
    """Type of the KV cache (auto, fp8, ...)."""
    max_model_len: NotRequired[int]
    """Longest request in tokens, prompt and answer; auto (or -1): the engine takes what its KV cache holds, known only when it runs."""
    max_num_seqs: NotRequired[int]
    """Requests in one step."""
    max_num_batched_tokens: NotRequired[int]
    """Tokens in one step."""
    gpu_memory_utilization: NotRequired[float]
    """Share of the card that the engine takes."""
    kv_cache_memory_bytes: NotRequired[int]
    """Fixed size of the KV pool in bytes; takes the place of gpu_memory_utilization."""
    block_size: NotRequired[int]
    """Tokens of one KV block."""
    enforce_eager: NotRequired[bool]
    """No CUDA graphs: slower, a fallback at the edge of memory."""
    enable_prefix_caching: NotRequired[bool]
    """Reuse KV blocks of equal prefixes."""
    scheduling_policy: NotRequired[str]
    """Order of waiting requests."""
    long_prefill_token_threshold: NotRequired[int]
    """Tokens of a step that one long prompt may take beside others."""
    max_num_queued_reqs: NotRequired[int]
    """Requests in flight, running and waiting, above which new ones are refused with HTTP 503; omit for twice what runs in one step."""
    max_num_queued_tokens: NotRequired[int]
    """Prompt tokens that wait for their prefill, above which new requests are refused with HTTP 503."""
    trust_remote_code: NotRequired[bool]
    """Run the checkpoint's own Python code."""
    enable_lora: NotRequired[bool]
    """Serve LoRA adapters."""
    max_loras: NotRequired[int]
    """Adapters in one step."""
    max_lora_rank: NotRequired[int]
    """Largest adapter rank."""
    runner: NotRequired[str]
    """generate, or pooling for embedding and reranker models."""
    convert: NotRequired[str]
    """What a generating model is made into: embed for vectors, classify for scores."""
    language_model_only: NotRequired[bool]
    """Leave the vision tower out."""
    limit_mm_per_prompt: NotRequired[dict[str, Any]]
    """Images, videos and sounds of one prompt."""
    enable_auto_tool_choice: NotRequired[bool]
    """The model decides when it calls a tool; needs tool_call_parser."""
    tool_call_parser: NotRequired[str]
    """How the model writes tool calls."""
    reasoning_parser: NotRequired[str]
    """How the model marks its reasoning."""
    default_chat_template_kwargs: NotRequired[dict[str, Any]]
    """Arguments of the chat template that a request may override."""
    load_format: NotRequired[str]
    """Loader (auto, safetensors, runai_streamer, fastsafetensors, ...)."""
    speculative_config: NotRequired[dict[str, Any]]
    """Speculative decoding, as vLLM's JSON."""
    override_generation_config: NotRequired[dict[str, Any]]
    """Sampling defaults, as vLLM's JSON."""


class EngineSettings(PlannedEngineSettings, EngineModelSettings, EngineServerSettings, EngineRunSettings, EngineFormerSettings):
    """All arguments of the engine, by vLLM's own names."""
