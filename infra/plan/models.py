"""What the plan must know about a model: from the config's typed fields first, else from the catalog."""

from dataclasses import dataclass

from interlock.infra.config.models import ModelConfig
from interlock.infra.config.pools import PoolConfig, Sharing
from interlock.infra.engine.args import EngineArgs
from interlock.infra.sizing import SizingRequest, SizingResult, model_facts, size, whole_weights
from interlock.infra.values import GIB


@dataclass(frozen=True, slots=True)
class ModelShape:
    """The few model facts that placement needs; None = not known."""

    attention_heads: int | None
    kv_heads: int | None
    weight_bytes: int | None
    max_position: int | None
    source: str


def model_shape(model: ModelConfig, quantization: str | None = None) -> ModelShape:
    """The shape of ``model``: what the config states, filled up from the catalog."""
    facts = model_facts(model.id, quantization)
    stated = int(model.weights_gib * GIB) if model.weights_gib else None
    if facts is None:
        return ModelShape(model.attention_heads, model.kv_heads, stated, model.max_position, "the config" if stated else "")
    return ModelShape(
        model.attention_heads or facts.attention_heads or None,
        model.kv_heads or facts.kv_heads or None,
        stated or whole_weights(facts) or None,
        model.max_position or facts.max_position or None,
        "the config" if stated else f"catalog: {facts.source}",
    )


# Fields that the planner and the engine's flags share by name.
_SHARED = (
    "dtype",
    "quantization",
    "kv_cache_dtype",
    "gpu_memory_utilization",
    "max_model_len",
    "max_num_seqs",
    "max_num_batched_tokens",
    "enforce_eager",
    "block_size",
    "enable_prefix_caching",
)


def fit(model: ModelConfig, engine: EngineArgs, pool: PoolConfig, vllm: str) -> SizingResult:
    """What one GPU of the replica would hold, by the planner."""
    request = SizingRequest(
        model=model.id,
        gpu=pool.gpu,
        mig_profile=pool.share.profile,
        sharers=(pool.share.replicas or 1) if pool.share.kind in (Sharing.TIME_SLICING, Sharing.MPS) else 1,
        tp=engine.tp,
        pp=engine.pp,
        dp=engine.dp,
        expert_parallel=bool(engine.enable_expert_parallel),
        vllm_version=vllm or None,
        max_loras=(engine.max_loras or 1) if engine.enable_lora else 0,
        **{name: getattr(engine, name) for name in _SHARED},
    )
    return size(request)
