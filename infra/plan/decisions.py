"""The plan's decisions about a server, and the config fields that each reads: a value without a field of its own names its decision."""

from collections.abc import Mapping

_PARALLEL = ("engine.tensor_parallel_size", "engine.pipeline_parallel_size", "engine.data_parallel_size")
_SIZE = ("gpus", *_PARALLEL)
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

DECISIONS: Mapping[str, tuple[str, ...]] = {
    "tensor_parallel_size": _SIZE,
    "gpus": _SIZE,
    "dtype": ("image.track",),
    "enforce_eager": ("image.track",),
    "gpu_memory_utilization": ("pool", "pools"),
    "kv_cache_memory_bytes": ("model", "gpus", "engine", "image", "extra", "pool", "pools"),
    "model_path": ("model", "weights", "stores"),
    "served_name": ("model.id",),
    "query": ("model.id", "namespace"),
    "image": ("image",),
    "command": ("image.track",),
    "environment": ("image.track",),
    "cpu": (*_SIZE, "pool", "pools"),
    "memory": ("model", "shm", "engine.quantization", "image", *_SIZE),
    "shm": _SIZE,
    "replicas": ("autoscale",),
    "rollout": ("rollout.strategy", *_ROOM),
    "startup": _START,
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
