"""Arguments of the engine of memory, ranks and steps. Written by `python -m tools.component_arguments`."""

from typing import Any, NotRequired, TypedDict


class EngineRunSettings(TypedDict):
    """Arguments of the engine of memory, ranks and steps, by vLLM's own names."""

    additional_config: NotRequired[Any]
    """vLLM's --additional-config, since 0.7.3."""
    all2all_backend: NotRequired[str]
    """vLLM's --all2all-backend, since 0.11.1: allgather_reducescatter, deepep_high_throughput, deepep_low_latency, deepep_v2,
    flashinfer_all2allv, flashinfer_nvlink_one_sided, flashinfer_nvlink_two_sided, moonep, mori_high_throughput, mori_low_latency,
    naive, nixl_ep, pplx; default "allgather_reducescatter"."""
    async_scheduling: NotRequired[bool]
    """vLLM's --async-scheduling, since 0.10.0."""
    attention_backend: NotRequired[str]
    """vLLM's --attention-backend, since 0.13.0."""
    attention_config: NotRequired[Any]
    """vLLM's --attention-config, since 0.13.0."""
    aux_output_config: NotRequired[Any]
    """vLLM's --aux-output-config, since 0.31.0."""
    collect_detailed_traces: NotRequired[list[Any]]
    """vLLM's --collect-detailed-traces, since 0.5.5."""
    compilation_config: NotRequired[Any]
    """vLLM's --compilation-config, since 0.6.5."""
    cp_kv_cache_interleave_size: NotRequired[int]
    """vLLM's --cp-kv-cache-interleave-size, since 0.12.0."""
    cpu_distributed_timeout_seconds: NotRequired[int]
    """vLLM's --cpu-distributed-timeout-seconds, since 0.22.0."""
    cpu_offload_gb: NotRequired[float]
    """vLLM's --cpu-offload-gb, since 0.5.5; default 0."""
    cpu_offload_params: NotRequired[list[Any]]
    """vLLM's --cpu-offload-params, since 0.17.0."""
    cudagraph_capture_sizes: NotRequired[list[Any]]
    """vLLM's --cudagraph-capture-sizes, since 0.11.1."""
    cudagraph_metrics: NotRequired[bool]
    """vLLM's --cudagraph-metrics, since 0.13.0; default false."""
    custom_histogram_buckets: NotRequired[Any]
    """vLLM's --custom-histogram-buckets, since 0.32.0."""
    dbo_decode_token_threshold: NotRequired[int]
    """vLLM's --dbo-decode-token-threshold, since 0.11.0; default 32."""
    dbo_prefill_token_threshold: NotRequired[int]
    """vLLM's --dbo-prefill-token-threshold, since 0.11.0; default 512."""
    dcp_comm_backend: NotRequired[str]
    """vLLM's --dcp-comm-backend, since 0.18.0: a2a, ag_rs."""
    dcp_kv_cache_interleave_size: NotRequired[int]
    """vLLM's --dcp-kv-cache-interleave-size, since 0.11.1; default 1."""
    dcp_q_replicate: NotRequired[bool]
    """vLLM's --dcp-q-replicate, since 0.29.0."""
    decode_context_parallel_size: NotRequired[int]
    """vLLM's --decode-context-parallel-size, since 0.10.2; default 1."""
    diffusion_config: NotRequired[Any]
    """vLLM's --diffusion-config, since 0.24.0."""
    disable_chunked_mm_input: NotRequired[bool]
    """vLLM's --disable-chunked-mm-input, since 0.8.4; default false."""
    disable_custom_all_reduce: NotRequired[bool]
    """vLLM's --disable-custom-all-reduce, since 0.5.5; default false."""
    disable_hybrid_kv_cache_manager: NotRequired[bool]
    """vLLM's --disable-hybrid-kv-cache-manager, since 0.9.1."""
    disable_nccl_for_dp_synchronization: NotRequired[bool]
    """vLLM's --disable-nccl-for-dp-synchronization, since 0.11.1."""
    distributed_executor_backend: NotRequired[str]
    """vLLM's --distributed-executor-backend, since 0.5.5."""
    distributed_timeout_seconds: NotRequired[int]
    """vLLM's --distributed-timeout-seconds, since 0.18.0."""
    dp_sync_interval: NotRequired[int]
    """vLLM's --dp-sync-interval, since 0.30.0; default 16."""
    ec_manager_config: NotRequired[Any]
    """vLLM's --ec-manager-config, since 0.28.0."""
    ec_transfer_config: NotRequired[Any]
    """vLLM's --ec-transfer-config, since 0.11.1."""
    elastic_ep_max_dp_size: NotRequired[int]
    """vLLM's --elastic-ep-max-dp-size, since 0.30.0."""
    enable_batch_sharded_sampling: NotRequired[bool]
    """vLLM's --enable-batch-sharded-sampling, since 0.29.0."""
    enable_chunked_prefill: NotRequired[bool]
    """vLLM's --enable-chunked-prefill, since 0.5.5."""
    enable_dbo: NotRequired[bool]
    """vLLM's --enable-dbo, since 0.11.0; default false."""
    enable_elastic_ep: NotRequired[bool]
    """vLLM's --enable-elastic-ep, since 0.17.0; default false."""
    enable_ep_weight_filter: NotRequired[bool]
    """vLLM's --enable-ep-weight-filter, since 0.18.0; default false."""
    enable_eplb: NotRequired[bool]
    """vLLM's --enable-eplb, since 0.9.2; default false."""
    enable_fault_tolerance: NotRequired[bool]
    """vLLM's --enable-fault-tolerance, since 0.27.0; default false."""
    enable_flashinfer_autotune: NotRequired[bool]
    """vLLM's --enable-flashinfer-autotune, since 0.16.0."""
    enable_hc_sp: NotRequired[bool]
    """vLLM's --enable-hc-sp, since 0.32.0; default false."""
    enable_layerwise_nvtx_tracing: NotRequired[bool]
    """vLLM's --enable-layerwise-nvtx-tracing, since 0.13.0; default false."""
    enable_logging_iteration_details: NotRequired[bool]
    """vLLM's --enable-logging-iteration-details, since 0.14.0; default false."""
    enable_mamba_cache_stochastic_rounding: NotRequired[bool]
    """vLLM's --enable-mamba-cache-stochastic-rounding, since 0.20.0; default false."""
    enable_mamba_shared_prefix_checkpoint: NotRequired[bool]
    """vLLM's --enable-mamba-shared-prefix-checkpoint, since 0.31.0; default false."""
    enable_mfu_metrics: NotRequired[bool]
    """vLLM's --enable-mfu-metrics, since 0.14.0; default false."""
    enable_shm_tensor_arena: NotRequired[bool]
    """vLLM's --enable-shm-tensor-arena, since 0.32.0; default false."""
    engram_config: NotRequired[Any]
    """vLLM's --engram-config, since 0.30.0."""
    eplb_config: NotRequired[Any]
    """vLLM's --eplb-config, since 0.10.2."""
    expert_placement_strategy: NotRequired[str]
    """vLLM's --expert-placement-strategy, since 0.11.0: linear, round_robin; default "linear"."""
    fault_tolerance_config: NotRequired[Any]
    """vLLM's --fault-tolerance-config, since 0.27.0."""
    ir_op_priority: NotRequired[Any]
    """vLLM's --ir-op-priority, since 0.20.0."""
    jit_monitor_mode: NotRequired[str]
    """vLLM's --jit-monitor-mode, since 0.25.0: error, warn; default "warn"."""
    jit_monitor_verbose: NotRequired[bool]
    """vLLM's --jit-monitor-verbose, since 0.24.0; default false."""
    kernel_config: NotRequired[Any]
    """vLLM's --kernel-config, since 0.16.0."""
    kv_cache_dtype_skip_layers: NotRequired[list[Any]]
    """vLLM's --kv-cache-dtype-skip-layers, since 0.19.0."""
    kv_cache_metrics: NotRequired[bool]
    """vLLM's --kv-cache-metrics, since 0.12.0; default false."""
    kv_cache_metrics_sample: NotRequired[float]
    """vLLM's --kv-cache-metrics-sample, since 0.12.0; default 0.01."""
    kv_events_config: NotRequired[Any]
    """vLLM's --kv-events-config, since 0.9.0."""
    kv_offloading_backend: NotRequired[str]
    """vLLM's --kv-offloading-backend, since 0.11.1: lmcache, native; default "native"."""
    kv_offloading_size: NotRequired[float]
    """vLLM's --kv-offloading-size, since 0.11.1."""
    kv_sharing_fast_prefill: NotRequired[bool]
    """vLLM's --kv-sharing-fast-prefill, since 0.10.1; default false."""
    kv_transfer_config: NotRequired[Any]
    """vLLM's --kv-transfer-config, since 0.6.5."""
    linear_backend: NotRequired[str]
    """vLLM's --linear-backend, since 0.22.0: aiter, auto, b12x, conch, cutlass, deep_gemm, emulation, exllama, fbgemm, flashinfer_b12x,
    flashinfer_cudnn, flashinfer_cutedsl, flashinfer_cutlass, flashinfer_trtllm, humming, machete, marlin, torch, triton, xpu,
    xpu_woq; default "auto"."""
    logging_config: NotRequired[Any]
    """vLLM's --logging-config, since 0.31.0."""
    long_prefill_token_threshold_adaptive: NotRequired[bool]
    """vLLM's --long-prefill-token-threshold-adaptive, since 0.31.0; default false."""
    mamba_backend: NotRequired[str]
    """vLLM's --mamba-backend, since 0.20.0."""
    mamba_block_size: NotRequired[int]
    """vLLM's --mamba-block-size, since 0.11.1."""
    mamba_cache_dtype: NotRequired[str]
    """vLLM's --mamba-cache-dtype, since 0.10.1: auto, bfloat16, float16, float32; default "auto"."""
    mamba_cache_mode: NotRequired[str]
    """vLLM's --mamba-cache-mode, since 0.15.0: align, none."""
    mamba_cache_philox_rounds: NotRequired[int]
    """vLLM's --mamba-cache-philox-rounds, since 0.20.0; default 0."""
    mamba_ssm_cache_dtype: NotRequired[str]
    """vLLM's --mamba-ssm-cache-dtype, since 0.10.1: auto, bfloat16, float16, float32; default "auto"."""
    mamba_ssu_algorithm: NotRequired[str]
    """vLLM's --mamba-ssu-algorithm, since 0.27.0: auto, horizontal, simple, vertical."""
    master_port: NotRequired[int]
    """vLLM's --master-port, since 0.11.1; default 29501."""
    max_cudagraph_capture_size: NotRequired[int]
    """vLLM's --max-cudagraph-capture-size, since 0.11.1."""
    max_num_active_seqs: NotRequired[int]
    """vLLM's --max-num-active-seqs, since 0.31.0."""
    max_num_scheduled_tokens: NotRequired[int]
    """vLLM's --max-num-scheduled-tokens, since 0.26.0."""
    max_parallel_loading_workers: NotRequired[int]
    """vLLM's --max-parallel-loading-workers, since 0.5.5."""
    moe_backend: NotRequired[str]
    """vLLM's --moe-backend, since 0.17.0: aiter, aiter_mega_moe, aiter_triton_mxfp4_bf16, aiter_triton_mxfp4_mxfp4, auto, b12x,
    batched_triton, cutlass, deep_gemm, deep_gemm_mega_moe, emulation, flashinfer_b12x, flashinfer_cutedsl, flashinfer_cutlass,
    flashinfer_moe_ep_cutedsl, flashinfer_moe_ep_mega_deep_gemm, flashinfer_trtllm, flydsl, hpc, humming, marlin, rdna3, triton,
    triton_unfused; default "auto"."""
    monokernel: NotRequired[bool]
    """vLLM's --monokernel, since 0.33.0; default false."""
    num_gpu_blocks_override: NotRequired[int]
    """vLLM's --num-gpu-blocks-override, since 0.5.5."""
    numa_bind: NotRequired[bool]
    """vLLM's --numa-bind, since 0.20.0; default false."""
    numa_bind_cpus: NotRequired[list[Any]]
    """vLLM's --numa-bind-cpus, since 0.20.0."""
    numa_bind_nodes: NotRequired[list[Any]]
    """vLLM's --numa-bind-nodes, since 0.20.0."""
    offload_backend: NotRequired[str]
    """vLLM's --offload-backend, since 0.17.0: auto, prefetch, uva; default "auto"."""
    offload_group_size: NotRequired[int]
    """vLLM's --offload-group-size, since 0.17.0; default 0."""
    offload_num_in_group: NotRequired[int]
    """vLLM's --offload-num-in-group, since 0.17.0; default 1."""
    offload_params: NotRequired[list[Any]]
    """vLLM's --offload-params, since 0.17.0."""
    offload_prefetch_step: NotRequired[int]
    """vLLM's --offload-prefetch-step, since 0.17.0; default 1."""
    optimization_level: NotRequired[str]
    """vLLM's --optimization-level, since 0.12.0."""
    otlp_traces_endpoint: NotRequired[str]
    """vLLM's --otlp-traces-endpoint, since 0.5.5."""
    per_request_spec_decode_metrics: NotRequired[str]
    """vLLM's --per-request-spec-decode-metrics, since 0.29.0: detailed, none, summary; default "none"."""
    performance_mode: NotRequired[str]
    """vLLM's --performance-mode, since 0.17.0: balanced, interactivity, throughput; default "balanced"."""
    prefill_context_parallel_size: NotRequired[int]
    """vLLM's --prefill-context-parallel-size, since 0.12.0; default 1."""
    prefill_schedule_interval: NotRequired[int]
    """vLLM's --prefill-schedule-interval, since 0.24.0; default 1."""
    prefix_cache_retention_interval: NotRequired[int]
    """vLLM's --prefix-cache-retention-interval, since 0.29.0; default 0."""
    prefix_caching_hash_algo: NotRequired[str]
    """vLLM's --prefix-caching-hash-algo, since 0.8.3: sha256, sha256_cbor, xxhash, xxhash_cbor; default "sha256"."""
    prefix_match_unit: NotRequired[int]
    """vLLM's --prefix-match-unit, since 0.26.0."""
    profiler_config: NotRequired[Any]
    """vLLM's --profiler-config, since 0.13.0."""
    ray_workers_use_nsight: NotRequired[bool]
    """vLLM's --ray-workers-use-nsight, since 0.5.5; default false."""
    reasoning_config: NotRequired[Any]
    """vLLM's --reasoning-config, since 0.19.0."""
    replayssm_buffer_len: NotRequired[int]
    """vLLM's --replayssm-buffer-len, since 0.27.0; default 16."""
    scheduler_cls: NotRequired[str]
    """vLLM's --scheduler-cls, since 0.7.3."""
    scheduler_reserve_full_isl: NotRequired[bool]
    """vLLM's --scheduler-reserve-full-isl, since 0.19.0; default true."""
    show_hidden_metrics_for_version: NotRequired[str]
    """vLLM's --show-hidden-metrics-for-version, since 0.8.0."""
    sparse_indexer_topk_backend: NotRequired[str]
    """vLLM's --sparse-indexer-topk-backend, since 0.30.0: aiter, auto, cooperative, deep_select, flashinfer, per_row, persistent, torch;
    default "auto"."""
    stream_interval: NotRequired[int]
    """vLLM's --stream-interval, since 0.11.1; default 1."""
    structured_outputs_config: NotRequired[Any]
    """vLLM's --structured-outputs-config, since 0.11.0."""
    swa_bounded_replay: NotRequired[bool]
    """vLLM's --swa-bounded-replay, since 0.31.0; default true."""
    ubatch_size: NotRequired[int]
    """vLLM's --ubatch-size, since 0.14.0; default 0."""
    use_replayssm: NotRequired[bool]
    """vLLM's --use-replayssm, since 0.27.0; default false."""
    watchdog_config: NotRequired[Any]
    """vLLM's --watchdog-config, since 0.33.0."""
    watermark: NotRequired[float]
    """vLLM's --watermark, since 0.24.0; default 0.0."""
    watermark_config: NotRequired[Any]
    """vLLM's --watermark-config, since 0.30.0."""
    weight_transfer_config: NotRequired[Any]
    """vLLM's --weight-transfer-config, since 0.16.0."""
    worker_cls: NotRequired[str]
    """vLLM's --worker-cls, since 0.6.5; default "auto"."""
    worker_extension_cls: NotRequired[str]
    """vLLM's --worker-extension-cls, since 0.8.0."""
