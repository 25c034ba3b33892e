"""The parts of a decoder layer as tensors: attention, latent attention, MLP, experts (vLLM: ``model_executor/models``)."""

from interlock.infra.catalog.versions import since
from interlock.infra.sizing.model.compressed import is_compressed
from interlock.infra.sizing.model.config import integer, round_up, sequence, text, truth
from interlock.infra.sizing.model.facts import ModelFacts
from interlock.infra.sizing.model.families import Traits
from interlock.infra.sizing.model.quantization import Scheme
from interlock.infra.sizing.weights import compressed
from interlock.infra.sizing.weights.ledger import Ledger


def attention(ledger: Ledger, facts: ModelFacts, traits: Traits, index: int) -> None:
    """Multi-head or grouped-query attention. KV heads are repeated when there are fewer than ranks."""
    config, tp, module = facts.text, ledger.shard.tp, f"model.layers.{index}.self_attn"
    sliding = facts.mixers[index] == "sliding"
    heads, kv_heads, width = facts.attention_heads, facts.kv_heads, facts.head_dim
    value = integer(config, "v_head_dim") or width
    if sliding and integer(config, "swa_num_key_value_heads"):
        heads = integer(config, "swa_num_attention_heads") or heads
        kv_heads, width = integer(config, "swa_num_key_value_heads"), integer(config, "swa_head_dim") or width
        value = integer(config, "swa_v_head_dim") or value
    elif not sliding and integer(config, "global_head_dim"):
        width = value = integer(config, "global_head_dim")
        kv_heads = (integer(config, "num_global_key_value_heads") or kv_heads) if truth(config, "attention_k_eq_v") else kv_heads
    local, local_kv = heads // tp, max(1, kv_heads // tp)
    gated = truth(config, "attn_output_gate", default=facts.family.output_gate)
    query = local * width * (2 if gated else 1)
    # Layers that read another layer's cache had key and value weights of their own, unused, before 0.30.
    shares = index >= facts.layers - integer(config, "num_kv_shared_layers") and since("shared_kv_dropped", ledger.shard.version)
    parts = [query] if shares else [query, local_kv * width, local_kv * value]
    ledger.linear(f"{module}.qkv_proj", facts.hidden_size, parts, bias=traits.qkv_bias)
    ledger.linear(f"{module}.o_proj", local * value, facts.hidden_size, bias=traits.o_bias)
    if traits.qk_norm == "head":
        ledger.add(width)
        if not shares:
            ledger.add(width)
    elif traits.qk_norm:
        spread = tp if traits.qk_norm == "full_tp" else 1
        ledger.add(heads // spread * width)
        ledger.add(max(1, kv_heads // spread) * width)
    sinks = truth(config, "add_swa_attention_sink_bias" if sliding else "add_full_attention_sink_bias")
    if sinks or facts.family.sinks:
        ledger.add(local)  # attention sinks
    ledger.cache_scales()


def shared_query_attention(ledger: Ledger, facts: ModelFacts, index: int) -> None:
    """Step-3: one KV head and a low-rank query on every rank, widened to this rank's heads (vLLM: ``models/step3_text.py``)."""
    module, hidden, width = f"model.layers.{index}.self_attn", facts.hidden_size, facts.head_dim
    query = integer(facts.text, "share_q_dim") or width
    ledger.linear(f"{module}.qkv_proj", hidden, query + 2 * width)
    ledger.add(query)
    ledger.column(f"{module}.wq", query, facts.attention_heads * width)
    ledger.row(f"{module}.o_proj", facts.attention_heads * width, hidden)


def latent_attention(ledger: Ledger, facts: ModelFacts, index: int) -> None:
    """MLA: down-projections are whole on every rank, up-projections divided by heads; sparse variants add an indexer."""
    config, module, hidden = facts.text, f"model.layers.{index}.self_attn", facts.hidden_size
    heads, rope, nope = facts.attention_heads, integer(config, "qk_rope_head_dim"), integer(config, "qk_nope_head_dim")
    latent, query_rank, value = integer(config, "kv_lora_rank"), integer(config, "q_lora_rank"), integer(config, "v_head_dim")
    if query_rank:
        ledger.linear(f"{module}.fused_qkv_a_proj", hidden, [query_rank, latent + rope])
        ledger.add(query_rank)
        ledger.column(f"{module}.q_b_proj", query_rank, heads * (nope + rope))
    else:
        ledger.linear(f"{module}.kv_a_proj_with_mqa", hidden, latent + rope)
        ledger.column(f"{module}.q_proj", hidden, heads * (nope + rope))
    ledger.add(latent)
    ledger.column(f"{module}.kv_b_proj", latent, heads * (nope + value))
    ledger.row(f"{module}.o_proj", heads * value, hidden)
    ledger.cache_scales(latent=True)
    index_heads, index_width = integer(config, "index_n_heads"), integer(config, "index_head_dim")
    if index_heads and index_width:
        ledger.linear(f"{module}.indexer.wq_b", query_rank, index_heads * index_width)
        ledger.add(hidden * (index_width + index_heads))
        ledger.add(2 * index_width, 4)


def absorbed_bytes(facts: ModelFacts, tp: int) -> int:
    """What latent attention keeps after loading: its up-projection once more, in 16 bit, absorbed into query and output
    (vLLM: ``v1/attention/backends/mla/common.py::process_weights_after_loading``)."""
    config = facts.text
    per_layer = integer(config, "kv_lora_rank") * (integer(config, "qk_nope_head_dim") + integer(config, "v_head_dim"))
    return 2 * per_layer * (facts.attention_heads // tp)


def mlp(ledger: Ledger, module: str, hidden: int, inter: int, traits: Traits) -> None:
    """A dense MLP: gate and up in one tensor, then down."""
    if not inter:
        return
    if traits.whole_mlp:
        ledger.linear(f"{module}.c_fc", hidden, inter, bias=True)
        ledger.linear(f"{module}.c_proj", inter, hidden, bias=True)
        return
    ledger.column(f"{module}.gate_up_proj", hidden, [inter, inter] if traits.gated else inter, bias=traits.mlp_bias)
    ledger.row(f"{module}.down_proj", inter, hidden, bias=traits.mlp_bias)


def dense_width(facts: ModelFacts, index: int) -> int:
    """Width of the dense MLP of a layer."""
    config = facts.text
    if truth(config, "block_auto_adjust_ff_dim"):
        factor = config.get("block_ffn_dim_multiplier")
        width = int((factor if isinstance(factor, int | float) else 1) * int(2 * facts.intermediate_size / 3))
        return round_up(width, integer(config, "block_multiple_of") or 1)
    named = integer(config, facts.family.dense_width)
    if named:
        return named
    if truth(config, "use_double_wide_mlp") and index >= facts.layers - integer(config, "num_kv_shared_layers"):
        return 2 * facts.intermediate_size
    return integer(config, "intermediate_size_mlp") or facts.intermediate_size


def has_experts(facts: ModelFacts, index: int) -> bool:
    """Whether a layer's MLP is a mixture of experts."""
    config = facts.text
    if not facts.experts:
        return False
    if index in sequence(config, "mlp_only_layers") or index < integer(config, "first_k_dense_replace", "num_dense_layers"):
        return False
    listed = text(config, "moe_layers_enum")
    if listed:
        return str(index) in [part.strip() for part in listed.split(",")]
    if "moe_layer_start_index" in config:
        last = integer(config, "moe_layer_end_index", default=facts.layers - 1)
        within = integer(config, "moe_layer_start_index") <= index <= last
        return within and (index + 1) % (integer(config, "moe_layer_interval") or 1) == 0
    frequency = sequence(config, "moe_layer_freq")
    if frequency:
        return index < len(frequency) and frequency[index] == 1
    for step, offset in (("decoder_sparse_step", 1), ("interleave_moe_layer_step", 1), ("moe_layer_freq", 0)):
        if integer(config, step):
            return (index + offset) % integer(config, step) == 0
    if integer(config, "expert_layer_period"):
        return index % integer(config, "expert_layer_period") == integer(config, "expert_layer_offset")
    return True


def shared_width(facts: ModelFacts) -> int:
    """Total width of the experts that every token visits."""
    config = facts.text
    if facts.family.shared_width:
        return integer(config, facts.family.shared_width)
    by_layer = [value for value in sequence(config, "num_shared_expert") if isinstance(value, int)]
    if by_layer:
        return by_layer[0] * facts.intermediate_size
    own = integer(
        config, "shared_expert_intermediate_size", "moe_shared_expert_intermediate_size", "share_expert_dim", "shared_intermediate_size"
    )
    return own or integer(config, "n_shared_experts", "num_shared_experts", "moe_num_shared_experts") * facts.expert_size


def mixture(ledger: Ledger, facts: ModelFacts, traits: Traits, index: int) -> None:
    """A router, routed experts and the shared expert of one layer."""
    config, hidden, module = facts.text, facts.hidden_size, f"model.layers.{index}.mlp"
    if traits.router_quantized and ledger.quantization and ledger.quantization.scheme is not Scheme.AWQ:
        ledger.linear(f"{module}.gate", hidden, facts.experts)
    else:
        ledger.add(hidden * facts.experts, max(traits.router_bits // 8, ledger.width))
    if traits.router_bias:
        ledger.add(facts.experts)
    if is_compressed(config):
        compressed.routing(ledger, config, facts.experts, facts.vocab_size, index)
    elif (
        traits.correction_bias
        or truth(config, "use_expert_bias")
        or (text(config, "topk_method") == "noaux_tc" and facts.family.correction_by_topk)
    ):
        ledger.add(facts.experts, traits.correction_bits // 8 or ledger.width)
    shared = shared_width(facts)
    if shared:
        mlp(ledger, f"{module}.shared_experts", hidden, shared * _whole_shared(ledger), traits)
    if integer(config, "shared_expert_intermediate_size"):
        ledger.add(hidden)  # gate of the shared expert
    _routed(ledger, facts, traits, module)


def _whole_shared(ledger: Ledger) -> int:
    """Factor that makes the shared expert whole on a rank: with expert and data parallelism its tokens are cut, not its weights
    (vLLM: ``config/parallel.py::use_sequence_parallel_moe``)."""
    shard = ledger.shard
    return shard.tp if shard.expert_ranks > 1 and shard.data_ranks > 1 else 1


def _padded_width(facts: ModelFacts, traits: Traits, ledger: Ledger) -> int:
    """Width of the experts where each rank's slice is padded (Kimi Linear, vLLM: ``models/kimi_k3``)."""
    width, tp = facts.expert_size, ledger.shard.expert_slices
    cut = tp > 1 and ledger.shard.expert_ranks == 1
    return traits.expert_step * tp if cut and width // tp < traits.expert_step else width


def _routed(ledger: Ledger, facts: ModelFacts, traits: Traits, module: str) -> None:
    latent = integer(facts.text, "moe_latent_size")
    hidden, width = latent or facts.hidden_size, _padded_width(facts, traits, ledger)
    if latent:
        ledger.linear(f"{module}.fc1_latent_proj", facts.hidden_size, latent)
        ledger.linear(f"{module}.fc2_latent_proj", latent, facts.hidden_size)
    quantization, spread, tp = ledger.quantization, ledger.shard.expert_ranks, ledger.shard.expert_slices
    if quantization is not None and quantization.scheme is Scheme.MXFP4 and facts.family.experts == "padded":
        # Kernels want each rank's width in steps of 64 (Triton) or 128 (Marlin, before 0.27 Triton too).
        local = round_up(width if spread > 1 else width // tp, 64)
        width = local if spread > 1 else local * tp
    ledger.experts(f"{module}.experts", facts.experts, hidden, width, gated=traits.gated)
    if traits.expert_bias:
        local = -(-facts.experts // spread)
        ledger.add(local * (2 * (width if spread > 1 else width // tp) + hidden))
