"""What each route of vLLM is to a tenant. A route that stands in no table is refused: a new one of vLLM is closed until it is listed here.

Read from the decorators of vLLM 0.32 and 0.33 (``vllm/entrypoints``); a test compares the tables with the source of the installed one.
"""

from interlock.runtime.asgi import Scope

OPEN = frozenset({("GET", "/health"), ("GET", "/ping"), ("POST", "/ping"), ("GET", "/metrics")})
"""Answered without a key: probes, and Prometheus, which scrapes pods and not their route."""
READ = frozenset({("GET", "/v1/models")})
"""With a key, without a body and without cost."""
ASKS = frozenset(
    {
        "/v1/completions", "/v1/chat/completions", "/v1/chat/completions/batch", "/v1/responses", "/v1/messages",
        "/v1/messages/count_tokens", "/v1/embeddings", "/v2/embed", "/pooling", "/classify", "/score", "/v1/score", "/rerank",
        "/v1/rerank", "/v2/rerank", "/tokenize", "/detokenize", "/cohere/v2/chat", "/v1/audio/transcriptions",
        "/v1/audio/translations",
    }
)  # fmt: skip
"""POST with a key: a body names a model."""
CLOSED = frozenset(
    {
        # engines of other requests, adapters, weights, state
        "/v1/load_lora_adapter", "/v1/unload_lora_adapter", "/scale_elastic_ep", "/is_scaling_elastic_ep", "/pause", "/resume",
        "/is_paused", "/abort_requests", "/inference/v1/abort_requests", "/init_weight_transfer_engine",
        "/shutdown_weight_transfer_engine", "/start_weight_update", "/start_draft_weight_update", "/update_weights",
        "/finish_weight_update", "/update_weight_version", "/weight_info", "/weight_checker", "/get_world_size", "/start_profile",
        "/stop_profile", "/server_info", "/reset_prefix_cache", "/reset_mm_cache", "/reset_encoder_cache", "/collective_rpc", "/sleep",
        "/release_kv_cache_memory", "/wake_up", "/is_sleeping", "/fault_tolerance/apply", "/fault_tolerance/status",
        # what one tenant stored, by an id that another may know
        "/v1/responses/{response_id}", "/v1/responses/{response_id}/cancel",
        # a model chosen by a header, tokens in place of text, or no body that could be checked
        "/invocations", "/inference/v1/generate", "/generate", "/v1/systemone", "/v1/decisions", "/generative_scoring", "/v1/realtime",
        # parts of other servers
        "/v1/chat/completions/render", "/v1/completions/render", "/v1/messages/render", "/v1/responses/render", "/cohere/v2/chat/render",
        "/v1/chat/completions/derender", "/v1/completions/derender",
        # about the server
        "/load", "/version", "/kv_event_sources", "/tokenizer_info", "/docs", "/docs/oauth2-redirect", "/redoc", "/openapi.json", "/static",
    }
)  # fmt: skip
"""Refused on purpose; `routes` of the access file opens single ones. What stands in none of these tables is refused as well."""

NAMED = ASKS | CLOSED | {route for _, route in OPEN | READ}
"""Routes that a log may name: what else a client asks for is its own text."""


def route_of(scope: Scope) -> str:
    """The path as the application routes by it: without the prefix that a proxy is told to keep (--root-path)."""
    path, root = str(scope["path"]), scope.get("root_path", "")
    if root and path.startswith(f"{root}/"):
        return path[len(root) :]
    return path
