"""Engine flags by vLLM's own names. Written by `python -m tools.component_arguments`."""

from typing import Any, NotRequired, TypedDict


class EngineSettings(TypedDict):
    """Engine flags a person may set. Omit one to let the planner, or else vLLM's default, decide."""

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
    """Longest request in tokens, prompt and answer."""
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
    max_num_queued_reqs: NotRequired[int]
    """Waiting requests before new ones are refused; unbounded by default."""
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
    load_format: NotRequired[str]
    """Loader (auto, safetensors, runai_streamer, fastsafetensors, ...)."""
    speculative_config: NotRequired[dict[str, Any]]
    """Speculative decoding, as vLLM's JSON."""
    override_generation_config: NotRequired[dict[str, Any]]
    """Sampling defaults, as vLLM's JSON."""
