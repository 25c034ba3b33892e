"""Facts of a model from a few typed fields."""

from dataclasses import replace
from typing import Any

from interlock.infra.sizing.model.facts import ModelFacts, from_config


def from_fields(
    name: str,
    *,
    layers: int,
    hidden_size: int,
    attention_heads: int,
    kv_heads: int | None = None,
    head_dim: int | None = None,
    vocab_size: int = 0,
    intermediate_size: int = 0,
    params: int | None = None,
    quantization: str | None = None,
    max_position: int = 0,
    dtype: str = "bfloat16",
    experts: int = 0,
    expert_size: int = 0,
) -> ModelFacts:
    """Facts from a few typed fields, for a model whose config is not at hand (a dense or MoE decoder)."""
    fields: dict[str, Any] = {
        "model_type": "llama" if not experts else "qwen3_moe",
        "num_hidden_layers": layers,
        "hidden_size": hidden_size,
        "num_attention_heads": attention_heads,
        "num_key_value_heads": kv_heads or attention_heads,
        "vocab_size": vocab_size,
        "intermediate_size": intermediate_size,
        "max_position_embeddings": max_position,
        "torch_dtype": dtype,
    }
    if head_dim:
        fields["head_dim"] = head_dim
    if experts:
        fields |= {"num_experts": experts, "moe_intermediate_size": expert_size}
    facts = from_config(fields, name, quantization=quantization, source="typed fields")
    return replace(facts, stated_params=params)
