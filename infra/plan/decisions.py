"""The plan's decisions about a server, and the config fields that each reads: a value without a field of its own names its decision."""

from collections.abc import Mapping

_PARALLEL = ("engine.tensor_parallel_size", "engine.pipeline_parallel_size", "engine.data_parallel_size")
# What an engine is sized by: its model and use on its card.
_ENGINE = ("wishes", "model", "engine", "image", "extra", "pool", "pools")
# A larger size is taken where the pool holds all pods, so the other servers count.
_SIZE = ("gpus", "nodes", *_PARALLEL, *_ENGINE, "replicas", "autoscale", "servers")
_ROOM = ("replicas", "autoscale", *_SIZE, "pool", "pools", "servers")
_START = (
    "model",
    "engine.quantization",
    "engine.enforce_eager",
    "engine.load_format",
    "weights",
    "stores",
    "image",
    "pool",
    "pools",
    *_SIZE,
)
_LOAD = (*_SIZE, "longest_answer_seconds")
# What preflight is told of the machine.
_LOOKS = ("runtime", "shm", "memory", "weights", "stores", *_SIZE)

DECISIONS: Mapping[str, tuple[str, ...]] = {
    "tensor_parallel_size": _SIZE,
    "gpus": _SIZE,
    "pipeline_parallel_size": _SIZE,
    "enable_expert_parallel": _SIZE,
    "load": _LOAD,
    "ray": ("wishes", "longest_answer_seconds", "model", "pools", "servers", *_SIZE),
    "placement": ("serve", *_SIZE),
    "ongoing": ("serve", *_LOAD),
    "target": ("serve", *_LOAD),
    "downscale": ("serve", "autoscale", *_START),
    "health": ("serve", "runtime", "extra.env", *_LOAD),
    "upgrade": ("serve", "ray_service", "ray_services", *_ROOM),
    "deletion_delay": ("serve", "ray_service", "ray_services", "rollout.drain_seconds", "longest_answer_seconds", "route", "servers"),
    "router": ("longest_answer_seconds", "servers"),
    "layout": ("balance", *_SIZE),
    "api_servers": _SIZE,
    "dtype": ("image.track",),
    "enforce_eager": ("image.track", *_SIZE),
    "gpu_memory_utilization": ("pool", "pools", *_SIZE),
    "kv_cache_memory_bytes": (*_SIZE, *_LOAD),
    "kv_cache_dtype": _SIZE,
    "quantization": _SIZE,
    "max_model_len": _SIZE,
    "max_num_seqs": _LOAD,
    "max_num_batched_tokens": _LOAD,
    "long_prefill_token_threshold": ("access", *_LOAD),
    "kv_transfer_config": ("transfer", *_SIZE),
    "max_loras": ("adapters", *_SIZE),
    **dict.fromkeys(("enable_lora", "lora_modules", "max_lora_rank", "max_cpu_loras"), ("adapters",)),
    "async_scheduling": ("image", "engine", "extra"),
    "scheduling_policy": ("access", "engine", "image", "extra"),
    "keys": ("access",),
    "max_num_queued_reqs": _LOAD,
    "max_num_queued_tokens": _LOAD,
    "runner": ("wishes", "image", "model"),
    "convert": ("wishes", "image", "model"),
    "language_model_only": ("wishes", "image", "model"),
    "limit_mm_per_prompt": ("wishes", "image", "model"),
    "enable_auto_tool_choice": ("wishes", "image", "model", "engine"),
    "tool_call_parser": ("wishes", "image", "model", "engine"),
    "reasoning_parser": ("wishes", "image", "model", "engine"),
    "default_chat_template_kwargs": ("wishes", "image", "model"),
    "override_generation_config": ("wishes", "image", "model"),
    "model_path": ("model", "weights", "stores"),
    "served_name": ("model.id",),
    "query": ("served_name", "model.id", "namespace", "image", "monitoring", "autoscale", "servers"),
    "scrape": ("monitoring", "servers"),
    "queue_target": ("autoscale", *_LOAD),
    "running_target": ("autoscale", *_LOAD),
    "scale_down": _START,
    "image": ("image",),
    "command": ("image.track",),
    "environment": ("image.track",),
    "cpu": (*_SIZE, "pool", "pools"),
    "memory": ("model", "shm", "engine.quantization", "image", *_SIZE),
    "shm": _SIZE,
    "scratch": ("model", "weights", "stores"),
    "spread": _ROOM,
    "split": ("route",),
    "flows": ("route", "transfer", "autoscale", "network", "conventions", "weights", "stores", "balance", "name", *_SIZE),
    "replicas": ("autoscale",),
    "rollout": ("rollout.strategy", "tenants", "namespace", *_ROOM),
    "startup": _START,
    "runtime": ("runtime", "image"),
    "step": ("extra.env", *_LOAD),
    "hang": ("runtime", "extra.env", *_LOAD),
    "preflight": _LOOKS,
    "settings": (*_LOOKS, "rollout.drain_seconds", "longest_answer_seconds", "route.timeout_seconds", "route"),
    "drain": ("longest_answer_seconds", "route.timeout_seconds", "route"),
    "progress": ("startup_seconds", "rollout", "longest_answer_seconds", "route", *_START, *_ROOM),
    "scale_up": _START,
    "claim": ("name", *_SIZE, "pool", "pools"),
    "stores": ("weights", "compile_cache", "stores", "model", "image", "pool", "pools", *_SIZE),
}
"""Paths are relative to the server; ``pools``, ``stores`` and ``servers`` are the config's own lists."""


def reads(why: str) -> tuple[str, ...]:
    """The fields that a decision reads; empty for none."""
    return DECISIONS.get(why, ())
