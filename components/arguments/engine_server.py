"""Arguments of the engine of the HTTP server. Written by `python -m tools.component_arguments`."""

from typing import Any, NotRequired, TypedDict


class EngineServerSettings(TypedDict):
    """Arguments of the engine of the HTTP server, by vLLM's own names."""

    aggregate_engine_logging: NotRequired[bool]
    """vLLM's --aggregate-engine-logging, since 0.11.1."""
    allow_credentials: NotRequired[bool]
    """vLLM's --allow-credentials, since 0.5.5; default false."""
    allowed_headers: NotRequired[list[Any]]
    """vLLM's --allowed-headers, since 0.5.5; default ["*"]."""
    allowed_methods: NotRequired[list[Any]]
    """vLLM's --allowed-methods, since 0.5.5; default ["*"]."""
    allowed_origins: NotRequired[list[Any]]
    """vLLM's --allowed-origins, since 0.5.5."""
    anthropic_disabled_thinking_effort: NotRequired[str]
    """vLLM's --anthropic-disabled-thinking-effort, since 0.31.0: auto, high, low, max, medium, none, xhigh; default "auto"."""
    api_server_count: NotRequired[int]
    """vLLM's --api-server-count, since 0.9.1."""
    chat_template: NotRequired[str]
    """vLLM's --chat-template, since 0.5.5."""
    chat_template_content_format: NotRequired[str]
    """vLLM's --chat-template-content-format, since 0.6.5: auto, openai, string; default "auto"."""
    cohere_format: NotRequired[str]
    """vLLM's --cohere-format, since 0.27.0; default "cmd4"."""
    cohere_is_reasoning_model: NotRequired[bool]
    """vLLM's --cohere-is-reasoning-model, since 0.27.0; default true."""
    data_parallel_backend: NotRequired[str]
    """vLLM's --data-parallel-backend, since 0.9.1; default "mp"."""
    data_parallel_rpc_port: NotRequired[int]
    """vLLM's --data-parallel-rpc-port, since 0.9.0."""
    data_parallel_supervisor_port: NotRequired[int]
    """vLLM's --data-parallel-supervisor-port, since 0.22.0; default 9256."""
    device_ids: NotRequired[int]
    """vLLM's --device-ids, since 0.24.0."""
    disable_access_log_for_endpoints: NotRequired[str]
    """vLLM's --disable-access-log-for-endpoints, since 0.16.0."""
    disable_cascade_attn: NotRequired[bool]
    """vLLM's --disable-cascade-attn, since 0.8.2."""
    disable_fastapi_docs: NotRequired[bool]
    """vLLM's --disable-fastapi-docs, since 0.6.2; default false."""
    disable_log_stats: NotRequired[bool]
    """vLLM's --disable-log-stats, since 0.5.5."""
    disable_uvicorn_access_log: NotRequired[bool]
    """vLLM's --disable-uvicorn-access-log, since 0.8.2; default false."""
    dp_supervisor_probe_failure_threshold: NotRequired[int]
    """vLLM's --dp-supervisor-probe-failure-threshold, since 0.22.0; default 3."""
    dp_supervisor_probe_interval_s: NotRequired[float]
    """vLLM's --dp-supervisor-probe-interval-s, since 0.22.0; default 5.0."""
    dp_supervisor_probe_timeout_s: NotRequired[float]
    """vLLM's --dp-supervisor-probe-timeout-s, since 0.22.0; default 5.0."""
    enable_flash_late_interaction: NotRequired[bool]
    """vLLM's --enable-flash-late-interaction, since 0.20.0; default true."""
    enable_force_include_usage: NotRequired[bool]
    """vLLM's --enable-force-include-usage, since 0.9.2; default false."""
    enable_log_deltas: NotRequired[bool]
    """vLLM's --enable-log-deltas, since 0.14.0; default true."""
    enable_log_outputs: NotRequired[bool]
    """vLLM's --enable-log-outputs, since 0.10.1; default false."""
    enable_log_requests: NotRequired[bool]
    """vLLM's --enable-log-requests, since 0.10.1."""
    enable_offline_docs: NotRequired[bool]
    """vLLM's --enable-offline-docs, since 0.14.0; default false."""
    enable_per_request_metrics: NotRequired[bool]
    """vLLM's --enable-per-request-metrics, since 0.25.0; default false."""
    enable_prompt_tokens_details: NotRequired[bool]
    """vLLM's --enable-prompt-tokens-details, since 0.6.4.post1; default false."""
    enable_request_id_headers: NotRequired[bool]
    """vLLM's --enable-request-id-headers, since 0.6.6; default false."""
    enable_scale_out: NotRequired[bool]
    """vLLM's --enable-scale-out, since 0.30.0; default false."""
    enable_server_load_tracking: NotRequired[bool]
    """vLLM's --enable-server-load-tracking, since 0.8.0; default false."""
    enable_ssl_refresh: NotRequired[bool]
    """vLLM's --enable-ssl-refresh, since 0.8.0; default false."""
    enable_tokenizer_info_endpoint: NotRequired[bool]
    """vLLM's --enable-tokenizer-info-endpoint, since 0.10.0; default false."""
    exclude_tools_when_tool_choice_none: NotRequired[bool]
    """vLLM's --exclude-tools-when-tool-choice-none, since 0.10.1; default false."""
    fail_on_environ_validation: NotRequired[bool]
    """vLLM's --fail-on-environ-validation, since 0.17.0; default false."""
    fingerprint_mode: NotRequired[str]
    """vLLM's --fingerprint-mode, since 0.22.0: custom, full, hash, none; default "full"."""
    fingerprint_value: NotRequired[str]
    """vLLM's --fingerprint-value, since 0.22.0."""
    gdn_prefill_backend: NotRequired[Any]
    """vLLM's --gdn-prefill-backend, since 0.18.0: flashinfer, triton, cutedsl, aiter_flydsl, sycl."""
    grpc: NotRequired[bool]
    """vLLM's --grpc, since 0.18.0; default false."""
    grpc_port: NotRequired[int]
    """vLLM's --grpc-port, since 0.32.0."""
    h11_max_header_count: NotRequired[int]
    """vLLM's --h11-max-header-count, since 0.10.1.1."""
    h11_max_incomplete_event_size: NotRequired[int]
    """vLLM's --h11-max-incomplete-event-size, since 0.10.1.1."""
    kda_decode_backend: NotRequired[Any]
    """vLLM's --kda-decode-backend, since 0.30.0: auto, native, flashinfer, triton."""
    kda_prefill_backend: NotRequired[Any]
    """vLLM's --kda-prefill-backend, since 0.27.0: auto, triton, flashkda, flashinfer, fused."""
    log_config_file: NotRequired[Any]
    """vLLM's --log-config-file, since 0.9.1."""
    log_error_stack: NotRequired[bool]
    """vLLM's --log-error-stack, since 0.10.2."""
    log_level: NotRequired[Any]
    """vLLM's --log-level, since 0.31.0: CRITICAL, ERROR, WARNING, INFO, DEBUG, NOTSET."""
    lora_modules: NotRequired[list[Any]]
    """vLLM's --lora-modules, since 0.5.5."""
    max_log_len: NotRequired[int]
    """vLLM's --max-log-len, since 0.5.5."""
    middleware: NotRequired[list[Any]]
    """vLLM's --middleware, since 0.5.5."""
    mm_processor_device: NotRequired[Any]
    """vLLM's --mm-processor-device, since 0.28.0; default "auto"."""
    reasoning_effort_map: NotRequired[Any]
    """vLLM's --reasoning-effort-map, since 0.33.0."""
    response_role: NotRequired[str]
    """vLLM's --response-role, since 0.5.5; default "assistant"."""
    return_tokens_as_token_ids: NotRequired[bool]
    """vLLM's --return-tokens-as-token-ids, since 0.5.5; default false."""
    root_path: NotRequired[str]
    """vLLM's --root-path, since 0.5.5."""
    sse_keep_alive_interval: NotRequired[int]
    """vLLM's --sse-keep-alive-interval, since 0.29.0; default 0."""
    ssl_ca_certs: NotRequired[str]
    """vLLM's --ssl-ca-certs, since 0.5.5."""
    ssl_cert_reqs: NotRequired[int]
    """vLLM's --ssl-cert-reqs, since 0.5.5."""
    ssl_certfile: NotRequired[str]
    """vLLM's --ssl-certfile, since 0.5.5."""
    ssl_ciphers: NotRequired[str]
    """vLLM's --ssl-ciphers, since 0.15.0."""
    ssl_keyfile: NotRequired[str]
    """vLLM's --ssl-keyfile, since 0.5.5."""
    tokens_only: NotRequired[bool]
    """vLLM's --tokens-only, since 0.11.1; default false."""
    tool_parser_plugin: NotRequired[str]
    """vLLM's --tool-parser-plugin, since 0.6.3.post1."""
    tool_server: NotRequired[str]
    """vLLM's --tool-server, since 0.10.1."""
    tool_strict_level: NotRequired[str]
    """vLLM's --tool-strict-level, since 0.31.0: auto, function, parameter."""
    trust_request_chat_template: NotRequired[bool]
    """vLLM's --trust-request-chat-template, since 0.11.0; default false."""
    trust_request_mm_kwargs: NotRequired[bool]
    """vLLM's --trust-request-mm-kwargs, since 0.31.0; default false."""
    uvicorn_log_level: NotRequired[str]
    """vLLM's --uvicorn-log-level, since 0.5.5: critical, debug, error, info, trace, warning; default "info"."""
