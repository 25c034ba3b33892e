"""The model of a case: as the catalog knows it, else as the case states its shape."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from interlock.infra.facts import Engine, Fact, known
from interlock.infra.rules.reading.checkpoint import gated
from interlock.infra.sizing import model_facts
from interlock.infra.sizing.model.layer_plan import is_mla
from tools.cases.values import first, number

FOUR_BITS = ("awq", "gptq", "int4", "w4a16", "compressed-tensors-w4a16", "nvfp4", "mxfp4", "bitsandbytes")


def shape(model: Mapping[str, Any]) -> dict[str, Any] | None:
    """A config.json made of the stated shape; None when the heads are not stated."""
    heads, layers = number(model.get("q_heads")), number(model.get("num_layers"))
    expert = number(model.get("moe_intermediate"))
    if heads is None and expert is None:
        return None
    heads = heads or 32
    width = number(model.get("head_dim")) or 128
    config: dict[str, Any] = {
        "model_type": "qwen3_moe" if expert else "llama",
        "architectures": ["Qwen3MoeForCausalLM" if expert else "LlamaForCausalLM"],
        "num_attention_heads": int(heads),
        "num_key_value_heads": int(number(model.get("kv_heads")) or heads),
        "head_dim": int(width),
        "hidden_size": int(heads * width),
        "num_hidden_layers": int(layers or 32),
        "vocab_size": int(number(model.get("vocab")) or 32000),
        "intermediate_size": int(number(model.get("intermediate")) or 4 * heads * width),
        "max_position_embeddings": int(number(model.get("max_position")) or 0),
        "torch_dtype": "bfloat16",
    }
    if expert:
        config |= {"num_experts": 64, "num_experts_per_tok": 8, "moe_intermediate_size": int(expert)}
    quant = str(model.get("quant") or "")
    if quant.startswith("fp8"):
        block = [int(each) for each in model.get("quant_block") or []]
        config["quantization_config"] = {"quant_method": "fp8", **({"weight_block_size": block} if block else {})}
    group = number(first(model, "group_size", "quant_group", "group"))
    if quant.startswith(("gptq", "awq")) and group:
        config["quantization_config"] = {"quant_method": quant[:4].rstrip("_-"), "bits": 4, "group_size": int(group)}
    return config


_SHAPES = {"q_heads": "attention_heads", "num_layers": "layers", "head_dim": "head_dim", "moe_intermediate": "expert_size"}


def _agrees(model: Mapping[str, Any], name: str) -> bool:
    found = model_facts(name)
    # Asked for one by one, so that each counts as read.
    shapes = [(number(model.get(key)), attr) for key, attr in _SHAPES.items()]
    latent = model.get("attention") == "mla"
    if found is None or (latent and not is_mla(found.text)):
        return False
    return all(value in (None, getattr(found, attr)) for value, attr in shapes)


def model_engine(model: Mapping[str, Any], engine: Engine) -> Engine:
    """The engine with what the case says of its model."""
    name = str(model.get("name") or "")
    listed = bool(name) and _agrees(model, name)
    config = None if listed and not model.get("quant_block") else shape(model)
    facts: dict[str, Fact[Any]] = {"model": known(name, engine.model.path)} if name else {}
    for field, key in (("attention_heads", "q_heads"), ("kv_heads", "kv_heads"), ("max_position", "max_position"), ("vocabulary", "vocab")):
        value = number(model.get(key))
        if value is not None:
            facts[field] = known(int(value), f"model.{key}")
    if gated(name):
        model.get("gated")  # Which models ask for a token is known by their names alone.
    if "bf16" in name.lower():  # As names on the hub carry it.
        facts["dtype"] = known("bfloat16", "model.name")
    quant = str(model.get("quant") or "").lower()
    if quant:
        facts["quantization"] = known(quant, "model.quant")
    params = number(model.get("params_b"))
    if params is not None and not (listed and not quant):
        each = 1.0 if "fp8" in quant or "int8" in quant else 0.56 if quant in FOUR_BITS else 2.0
        facts["weight_bytes"] = known(int(params * 1e9 * each), "model.params_b")
    changes: dict[str, Any] = {**facts, "config": config}
    return replace(engine, **changes)
