"""One vocabulary for the configs of all model types: fields under their usual names, and what a config leaves to its class."""

from typing import Any

from interlock.infra.catalog.tables import table
from interlock.infra.sizing.model.config import Config, integer, mapping, text

# Sizes that are never taken from a class: a config without them describes no model.
_OWN = ("hidden_size", "num_hidden_layers", "d_model", "n_embd", "n_layer", "n_layers")
# Where configs keep fields inside an object of their own (vLLM: models/dbrx.py).
_NESTED = {
    "dbrx": {
        "num_key_value_heads": ("attn_config", "kv_n_heads"),
        "intermediate_size": ("ffn_config", "ffn_hidden_size"),
        "num_local_experts": ("ffn_config", "moe_num_experts"),
        "num_experts_per_tok": ("ffn_config", "moe_top_k"),
    }
}
# Names that models outside transformers give (their configuration classes: vllm/transformers_utils/configs, or beside the checkpoint).
_NAMES = {
    "chatglm": {
        "num_hidden_layers": "num_layers",
        "intermediate_size": "ffn_hidden_size",
        "head_dim": "kv_channels",
        "vocab_size": "padded_vocab_size",
        "num_key_value_heads": "multi_query_group_num",
    },
    "exaone": {"num_hidden_layers": "num_layers"},
    "step3_text": {"num_experts": "moe_num_experts", "num_key_value_heads": "num_attention_groups"},
    "nomic_bert": {
        "hidden_size": "n_embd",
        "num_hidden_layers": "n_layer",
        "num_attention_heads": "n_head",
        "intermediate_size": "n_inner",
        "max_position_embeddings": "n_positions",
    },
    "longcat_flash": {"intermediate_size": "ffn_hidden_size", "moe_intermediate_size": "expert_ffn_hidden_size"},
}


def _classes() -> dict[str, dict[str, Any]]:
    found = table("config_fields.json")["model_types"]
    assert isinstance(found, dict)
    return found


def in_transformers(model_type: str) -> bool:
    """Whether transformers has a class for it."""
    return model_type in _classes()


def usual(config: Config) -> Config:
    """The config with its fields under their usual names too, and with its class's defaults where it says nothing.

    A field that is stated as null counts as stated. Without the sizes that tell models apart nothing is filled in.
    """
    model_type = text(config, "model_type")
    row = _classes().get(model_type, {})
    found = dict(config)
    for name, own in {**row.get("names", {}), **_NAMES.get(model_type, {})}.items():
        if own in found and name not in found:
            found[name] = found[own]
        elif name in found and own not in found:
            found[own] = found[name]
    for name, (outer, inner) in _NESTED.get(model_type, {}).items():
        if inner in mapping(config, outer):
            found.setdefault(name, mapping(config, outer)[inner])
    if not (integer(found, "hidden_size", "d_model") and integer(found, "num_hidden_layers", "encoder_layers")):
        return found
    return {**{name: value for name, value in row.get("defaults", {}).items() if name not in _OWN}, **found}
