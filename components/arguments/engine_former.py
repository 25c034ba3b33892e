"""Arguments of the engine that only older versions have. Written by `python -m tools.component_arguments`."""

from typing import Any, NotRequired, TypedDict


class EngineFormerSettings(TypedDict):
    """Arguments of the engine that only older versions have, by vLLM's own names."""

    calculate_kv_scales: NotRequired[bool]
    """vLLM's --calculate-kv-scales, from 0.7.0 to 0.27.1; default false."""
    chat_template_text_format: NotRequired[str]
    """vLLM's --chat-template-text-format, from 0.6.4.post1 to 0.6.4.post1: string, openai."""
    cuda_graph_sizes: NotRequired[list[Any]]
    """vLLM's --cuda-graph-sizes, from 0.9.0 to 0.12.0."""
    device: NotRequired[str]
    """vLLM's --device, from 0.5.5 to 0.9.2: auto, cpu, cuda, hpu, neuron, tpu, xpu; default "auto"."""
    disable_async_output_proc: NotRequired[bool]
    """vLLM's --disable-async-output-proc, from 0.6.0 to 0.10.2."""
    disable_frontend_multiprocessing: NotRequired[bool]
    """vLLM's --disable-frontend-multiprocessing, from 0.5.5 to 0.18.1; default false."""
    disable_log_requests: NotRequired[bool]
    """vLLM's --disable-log-requests, from 0.5.5 to 0.16.0."""
    disable_logprobs_during_spec_decoding: NotRequired[Any]
    """vLLM's --disable-logprobs-during-spec-decoding, from 0.5.5 to 0.8.2."""
    disable_mm_preprocessor_cache: NotRequired[bool]
    """vLLM's --disable-mm-preprocessor-cache, from 0.6.6 to 0.12.0."""
    enable_bf16x3_router_gemm: NotRequired[bool]
    """vLLM's --enable-bf16x3-router-gemm, from 0.26.0 to 0.29.0; default false."""
    enable_lora_bias: NotRequired[bool]
    """vLLM's --enable-lora-bias, from 0.6.4.post1 to 0.11.0; default false."""
    enable_mamba_fine_grained_prefix_cache: NotRequired[bool]
    """vLLM's --enable-mamba-fine-grained-prefix-cache, from 0.30.0 to 0.30.0; default false."""
    enable_multimodal_encoder_data_parallel: NotRequired[bool]
    """vLLM's --enable-multimodal-encoder-data-parallel, from 0.9.1 to 0.12.0."""
    enable_prompt_adapter: NotRequired[bool]
    """vLLM's --enable-prompt-adapter, from 0.5.5 to 0.10.1.1."""
    enable_reasoning: NotRequired[bool]
    """vLLM's --enable-reasoning, from 0.7.1 to 0.9.2."""
    engine_use_ray: NotRequired[bool]
    """vLLM's --engine-use-ray, from 0.5.5 to 0.6.0."""
    eplb_log_balancedness: NotRequired[bool]
    """vLLM's --eplb-log-balancedness, from 0.9.2 to 0.11.2."""
    eplb_step_interval: NotRequired[int]
    """vLLM's --eplb-step-interval, from 0.9.2 to 0.11.2."""
    eplb_window_size: NotRequired[int]
    """vLLM's --eplb-window-size, from 0.9.2 to 0.11.2."""
    expand_tools_even_if_tool_choice_none: NotRequired[bool]
    """vLLM's --expand-tools-even-if-tool-choice-none, from 0.9.2 to 0.9.2; default false."""
    guided_decoding_backend: NotRequired[str]
    """vLLM's --guided-decoding-backend, from 0.5.5 to 0.10.2: auto, guidance, lm-format-enforcer, outlines, xgrammar; default "auto"."""
    guided_decoding_disable_additional_properties: NotRequired[bool]
    """vLLM's --guided-decoding-disable-additional-properties, from 0.9.0 to 0.10.2; default false."""
    guided_decoding_disable_any_whitespace: NotRequired[bool]
    """vLLM's --guided-decoding-disable-any-whitespace, from 0.9.0 to 0.10.2; default false."""
    guided_decoding_disable_fallback: NotRequired[bool]
    """vLLM's --guided-decoding-disable-fallback, from 0.9.0 to 0.10.2; default false."""
    logits_processor_pattern: NotRequired[str]
    """vLLM's --logits-processor-pattern, from 0.6.5 to 0.16.0."""
    long_lora_scaling_factors: NotRequired[list[Any]]
    """vLLM's --long-lora-scaling-factors, from 0.5.5 to 0.9.2."""
    lora_extra_vocab_size: NotRequired[int]
    """vLLM's --lora-extra-vocab-size, from 0.5.5 to 0.11.2: 256, 512; default 256."""
    max_context_len_to_capture: NotRequired[int]
    """vLLM's --max-context-len-to-capture, from 0.5.5 to 0.6.3.post1."""
    max_long_partial_prefills: NotRequired[int]
    """vLLM's --max-long-partial-prefills, from 0.7.3 to 0.26.0; default 1."""
    max_num_partial_prefills: NotRequired[int]
    """vLLM's --max-num-partial-prefills, from 0.7.3 to 0.26.0; default 1."""
    max_prompt_adapter_token: NotRequired[int]
    """vLLM's --max-prompt-adapter-token, from 0.5.5 to 0.9.2; default 0."""
    max_prompt_adapters: NotRequired[int]
    """vLLM's --max-prompt-adapters, from 0.5.5 to 0.9.2; default 1."""
    max_seq_len_to_capture: NotRequired[int]
    """vLLM's --max-seq-len-to-capture, from 0.5.5 to 0.10.2; default 8192."""
    mm_cache_preprocessor: NotRequired[bool]
    """vLLM's --mm-cache-preprocessor, from 0.6.5 to 0.6.5."""
    multi_step_stream_outputs: NotRequired[bool]
    """vLLM's --multi-step-stream-outputs, from 0.6.2 to 0.10.0; default true."""
    ngram_prompt_lookup_max: NotRequired[int]
    """vLLM's --ngram-prompt-lookup-max, from 0.5.5 to 0.8.2."""
    ngram_prompt_lookup_min: NotRequired[int]
    """vLLM's --ngram-prompt-lookup-min, from 0.5.5 to 0.8.2."""
    num_lookahead_slots: NotRequired[int]
    """vLLM's --num-lookahead-slots, from 0.5.5 to 0.11.2; default 0."""
    num_redundant_experts: NotRequired[int]
    """vLLM's --num-redundant-experts, from 0.9.2 to 0.11.2."""
    num_scheduler_steps: NotRequired[int]
    """vLLM's --num-scheduler-steps, from 0.5.5 to 0.10.0; default 1."""
    num_speculative_tokens: NotRequired[int]
    """vLLM's --num-speculative-tokens, from 0.5.5 to 0.8.2."""
    override_attention_dtype: NotRequired[str]
    """vLLM's --override-attention-dtype, from 0.9.2 to 0.27.1."""
    override_neuron_config: NotRequired[Any]
    """vLLM's --override-neuron-config, from 0.6.0 to 0.10.1.1."""
    override_pooler_config: NotRequired[Any]
    """vLLM's --override-pooler-config, from 0.6.4.post1 to 0.11.2."""
    preemption_mode: NotRequired[str]
    """vLLM's --preemption-mode, from 0.5.5 to 0.10.2: recompute, swap."""
    prompt_adapters: NotRequired[list[Any]]
    """vLLM's --prompt-adapters, from 0.5.5 to 0.9.2."""
    qlora_adapter_name_or_path: NotRequired[str]
    """vLLM's --qlora-adapter-name-or-path, from 0.5.5 to 0.9.2."""
    quantization_param_path: NotRequired[str]
    """vLLM's --quantization-param-path, from 0.5.5 to 0.6.6.post1."""
    rope_scaling: NotRequired[Any]
    """vLLM's --rope-scaling, from 0.5.5 to 0.11.0."""
    rope_theta: NotRequired[float]
    """vLLM's --rope-theta, from 0.5.5 to 0.11.0."""
    scheduler_delay_factor: NotRequired[float]
    """vLLM's --scheduler-delay-factor, from 0.5.5 to 0.10.2; default 0.0."""
    spec_decoding_acceptance_method: NotRequired[str]
    """vLLM's --spec-decoding-acceptance-method, from 0.5.5 to 0.8.2: rejection_sampler, typical_acceptance_sampler."""
    speculative_disable_by_batch_size: NotRequired[int]
    """vLLM's --speculative-disable-by-batch-size, from 0.5.5 to 0.8.2."""
    speculative_disable_mqa_scorer: NotRequired[bool]
    """vLLM's --speculative-disable-mqa-scorer, from 0.6.3.post1 to 0.8.2."""
    speculative_draft_tensor_parallel_size: NotRequired[int]
    """vLLM's --speculative-draft-tensor-parallel-size, from 0.5.5 to 0.8.2."""
    speculative_max_model_len: NotRequired[int]
    """vLLM's --speculative-max-model-len, from 0.5.5 to 0.8.2."""
    speculative_model: NotRequired[str]
    """vLLM's --speculative-model, from 0.5.5 to 0.8.2."""
    speculative_model_quantization: NotRequired[str]
    """vLLM's --speculative-model-quantization, from 0.5.5 to 0.8.2."""
    swap_space: NotRequired[float]
    """vLLM's --swap-space, from 0.5.5 to 0.17.1; default 4."""
    task: NotRequired[str]
    """vLLM's --task, from 0.6.4.post1 to 0.12.0: auto, classify, draft, embed, embedding, generate, reward, score, transcription."""
    tokenizer_pool_extra_config: NotRequired[Any]
    """vLLM's --tokenizer-pool-extra-config, from 0.5.5 to 0.9.2."""
    tokenizer_pool_size: NotRequired[int]
    """vLLM's --tokenizer-pool-size, from 0.5.5 to 0.9.2; default 0."""
    tokenizer_pool_type: NotRequired[str]
    """vLLM's --tokenizer-pool-type, from 0.5.5 to 0.9.2; default "ray"."""
    typical_acceptance_sampler_posterior_alpha: NotRequired[float]
    """vLLM's --typical-acceptance-sampler-posterior-alpha, from 0.5.5 to 0.8.2."""
    typical_acceptance_sampler_posterior_threshold: NotRequired[float]
    """vLLM's --typical-acceptance-sampler-posterior-threshold, from 0.5.5 to 0.8.2."""
    use_gpu_for_pooling_score: NotRequired[bool]
    """vLLM's --use-gpu-for-pooling-score, from 0.17.0 to 0.17.1; default false."""
    use_v2_block_manager: NotRequired[bool]
    """vLLM's --use-v2-block-manager, from 0.5.5 to 0.9.2; default true."""
    worker_use_ray: NotRequired[bool]
    """vLLM's --worker-use-ray, from 0.5.5 to 0.6.6.post1."""
