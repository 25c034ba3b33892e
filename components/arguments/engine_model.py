"""Arguments of the engine of the model, its adapters and its loading. Written by `python -m tools.component_arguments`."""

from typing import Any, NotRequired, TypedDict


class EngineModelSettings(TypedDict):
    """Arguments of the engine of the model, its adapters and its loading, by vLLM's own names."""

    allow_deprecated_quantization: NotRequired[bool]
    """vLLM's --allow-deprecated-quantization, since 0.14.0; default false."""
    allowed_local_media_path: NotRequired[str]
    """vLLM's --allowed-local-media-path, since 0.6.4.post1."""
    allowed_media_domains: NotRequired[list[Any]]
    """vLLM's --allowed-media-domains, since 0.11.0."""
    code_revision: NotRequired[str]
    """vLLM's --code-revision, since 0.5.5."""
    config_format: NotRequired[str]
    """vLLM's --config-format, since 0.6.1.post2; default "auto"."""
    default_mm_loras: NotRequired[Any]
    """vLLM's --default-mm-loras, since 0.10.0."""
    disable_sliding_window: NotRequired[bool]
    """vLLM's --disable-sliding-window, since 0.5.5; default false."""
    download_dir: NotRequired[str]
    """vLLM's --download-dir, since 0.5.5."""
    enable_cumem_allocator: NotRequired[bool]
    """vLLM's --enable-cumem-allocator, since 0.22.0; default false."""
    enable_mixed_moe_lora_format: NotRequired[bool]
    """vLLM's --enable-mixed-moe-lora-format, since 0.22.0; default false."""
    enable_mm_embeds: NotRequired[bool]
    """vLLM's --enable-mm-embeds, since 0.11.1; default false."""
    enable_moe_shared_loras: NotRequired[bool]
    """vLLM's --enable-moe-shared-loras, since 0.26.0; default false."""
    enable_nccl_comm_suspend: NotRequired[bool]
    """vLLM's --enable-nccl-comm-suspend, since 0.30.0; default false."""
    enable_prompt_embeds: NotRequired[bool]
    """vLLM's --enable-prompt-embeds, since 0.9.0; default false."""
    enable_return_routed_experts: NotRequired[bool]
    """vLLM's --enable-return-routed-experts, since 0.14.0; default false."""
    enable_sleep_mode: NotRequired[bool]
    """vLLM's --enable-sleep-mode, since 0.7.0; default false."""
    enable_tower_connector_lora: NotRequired[bool]
    """vLLM's --enable-tower-connector-lora, since 0.14.0; default false."""
    enable_trace_replay: NotRequired[bool]
    """vLLM's --enable-trace-replay, since 0.29.0; default false."""
    fully_sharded_loras: NotRequired[bool]
    """vLLM's --fully-sharded-loras, since 0.5.5; default false."""
    generation_config: NotRequired[str]
    """vLLM's --generation-config, since 0.6.6; default "auto"."""
    hf_config_path: NotRequired[str]
    """vLLM's --hf-config-path, since 0.8.0."""
    hf_overrides: NotRequired[Any]
    """vLLM's --hf-overrides, since 0.6.4.post1."""
    hf_token: NotRequired[Any]
    """vLLM's --hf-token, since 0.8.4."""
    ignore_patterns: NotRequired[list[Any]]
    """vLLM's --ignore-patterns, since 0.5.5; default ["original/**/*"]."""
    interleave_mm_strings: NotRequired[bool]
    """vLLM's --interleave-mm-strings, since 0.10.0; default false."""
    io_processor_plugin: NotRequired[str]
    """vLLM's --io-processor-plugin, since 0.10.2."""
    logits_processors: NotRequired[list[Any]]
    """vLLM's --logits-processors, since 0.10.1."""
    logprobs_mode: NotRequired[str]
    """vLLM's --logprobs-mode, since 0.10.0: processed_logits, processed_logprobs, raw_logits, raw_logprobs; default "raw_logprobs"."""
    lora_dtype: NotRequired[str]
    """vLLM's --lora-dtype, since 0.5.5: auto, bfloat16, float16; default "auto"."""
    lora_target_modules: NotRequired[list[Any]]
    """vLLM's --lora-target-modules, since 0.19.0."""
    max_cpu_loras: NotRequired[int]
    """vLLM's --max-cpu-loras, since 0.5.5."""
    max_logprobs: NotRequired[int]
    """vLLM's --max-logprobs, since 0.5.5; default 20."""
    max_lora_cls_labels: NotRequired[int]
    """vLLM's --max-lora-cls-labels, since 0.31.0."""
    media_io_kwargs: NotRequired[Any]
    """vLLM's --media-io-kwargs, since 0.9.2."""
    mm_device_do_normalize: NotRequired[bool]
    """vLLM's --mm-device-do-normalize, since 0.28.0."""
    mm_encoder_attn_backend: NotRequired[str]
    """vLLM's --mm-encoder-attn-backend, since 0.11.1."""
    mm_encoder_attn_dtype: NotRequired[str]
    """vLLM's --mm-encoder-attn-dtype, since 0.22.0: fp8."""
    mm_encoder_fp8_scale_path: NotRequired[str]
    """vLLM's --mm-encoder-fp8-scale-path, since 0.22.0."""
    mm_encoder_fp8_scale_save_margin: NotRequired[float]
    """vLLM's --mm-encoder-fp8-scale-save-margin, since 0.22.0; default 1.5."""
    mm_encoder_fp8_scale_save_path: NotRequired[str]
    """vLLM's --mm-encoder-fp8-scale-save-path, since 0.22.0."""
    mm_encoder_only: NotRequired[bool]
    """vLLM's --mm-encoder-only, since 0.15.0; default false."""
    mm_encoder_tp_mode: NotRequired[str]
    """vLLM's --mm-encoder-tp-mode, since 0.10.2: data, weights; default "weights"."""
    mm_hasher_algorithm: NotRequired[str]
    """vLLM's --mm-hasher-algorithm, since 0.27.0: blake3, sha256, sha512; default "blake3"."""
    mm_ipc_gpu_memory_gb: NotRequired[float]
    """vLLM's --mm-ipc-gpu-memory-gb, since 0.25.0; default 0."""
    mm_processor_cache_gb: NotRequired[float]
    """vLLM's --mm-processor-cache-gb, since 0.10.1; default 4."""
    mm_processor_cache_type: NotRequired[str]
    """vLLM's --mm-processor-cache-type, since 0.11.0: lru, shm; default "lru"."""
    mm_processor_kwargs: NotRequired[Any]
    """vLLM's --mm-processor-kwargs, since 0.6.2."""
    mm_shm_cache_max_object_size_mb: NotRequired[int]
    """vLLM's --mm-shm-cache-max-object-size-mb, since 0.11.0; default 128."""
    mm_tensor_ipc: NotRequired[str]
    """vLLM's --mm-tensor-ipc, since 0.19.0: direct_rpc, torch_shm; default "direct_rpc"."""
    model_class_overrides: NotRequired[Any]
    """vLLM's --model-class-overrides, since 0.25.0."""
    model_impl: NotRequired[str]
    """vLLM's --model-impl, since 0.7.2; default "auto"."""
    model_loader_extra_config: NotRequired[Any]
    """vLLM's --model-loader-extra-config, since 0.5.5."""
    pooler_config: NotRequired[Any]
    """vLLM's --pooler-config, since 0.11.0."""
    pt_load_map_location: NotRequired[str]
    """vLLM's --pt-load-map-location, since 0.9.0; default "cpu"."""
    quantization_config: NotRequired[Any]
    """vLLM's --quantization-config, since 0.22.0."""
    reasoning_parser_plugin: NotRequired[str]
    """vLLM's --reasoning-parser-plugin, since 0.11.1."""
    renderer_num_workers: NotRequired[int]
    """vLLM's --renderer-num-workers, since 0.19.0; default 1."""
    return_sampling_mask: NotRequired[bool]
    """vLLM's --return-sampling-mask, since 0.28.0; default false."""
    safetensors_load_strategy: NotRequired[str]
    """vLLM's --safetensors-load-strategy, since 0.10.2: eager, lazy, prefetch, torchao."""
    safetensors_prefetch_block_size: NotRequired[int]
    """vLLM's --safetensors-prefetch-block-size, since 0.22.0."""
    safetensors_prefetch_num_threads: NotRequired[int]
    """vLLM's --safetensors-prefetch-num-threads, since 0.22.0."""
    seed: NotRequired[int]
    """vLLM's --seed, since 0.5.5; default 0."""
    skip_mm_profiling: NotRequired[bool]
    """vLLM's --skip-mm-profiling, since 0.10.1; default false."""
    skip_tokenizer_init: NotRequired[bool]
    """vLLM's --skip-tokenizer-init, since 0.5.5; default false."""
    sleep_mode_backend: NotRequired[str]
    """vLLM's --sleep-mode-backend, since 0.33.0; default "cumem"."""
    sleep_mode_offload_cudagraph: NotRequired[bool]
    """vLLM's --sleep-mode-offload-cudagraph, since 0.32.0; default false."""
    sleep_preserve_parameter_names: NotRequired[list[Any]]
    """vLLM's --sleep-preserve-parameter-names, since 0.31.0."""
    spec_method: NotRequired[str]
    """vLLM's --spec-method, since 0.22.0: bailing_hybrid_mtp, bailing_hybrid_v3_mtp, custom_class, deepseek_mtp, dflash, dots3_note_mtp,
    draft_model, dspark, eagle, eagle3, ernie_mtp, exaone4_5_mtp, exaone_moe_mtp, extract_hidden_states, gemma4_mtp,
    glm4_moe_lite_mtp, glm4_moe_mtp, glm5_next_mtp, glm_ocr_mtp, hy_v3_mtp, hy_v4_mtp, inkling_mtp, kimi_k3_mtp, longcat_flash_mtp,
    mimo_mtp, mimo_v2_mtp, minimax_m3_mtp, mtp, nemotron_h_mtp, ngram, ngram_gpu, pangu_ultra_moe_mtp, qwen3_5_mtp, qwen3_next_mtp,
    qwen4_exp_mtp, step3p5_mtp, step5_mtp, suffix."""
    spec_model: NotRequired[str]
    """vLLM's --spec-model, since 0.22.0."""
    spec_tokens: NotRequired[int]
    """vLLM's --spec-tokens, since 0.22.0."""
    specialize_active_lora: NotRequired[bool]
    """vLLM's --specialize-active-lora, since 0.16.0; default false."""
    tokenizer: NotRequired[str]
    """vLLM's --tokenizer, since 0.5.5."""
    tokenizer_mode: NotRequired[str]
    """vLLM's --tokenizer-mode, since 0.5.5; default "auto"."""
    tokenizer_revision: NotRequired[str]
    """vLLM's --tokenizer-revision, since 0.5.5."""
    use_fp64_gumbel: NotRequired[bool]
    """vLLM's --use-fp64-gumbel, since 0.22.0; default false."""
    use_tqdm_on_load: NotRequired[bool]
    """vLLM's --use-tqdm-on-load, since 0.8.0; default true."""
    video_pruning_method: NotRequired[str]
    """vLLM's --video-pruning-method, since 0.27.0: evs, vidcom2; default "evs"."""
    video_pruning_rate: NotRequired[float]
    """vLLM's --video-pruning-rate, since 0.11.0."""
