"""Bytes of the weights on one rank, tensor by tensor."""

from dataclasses import dataclass, replace
from functools import lru_cache

from interlock.infra.catalog.versions import newest, since
from interlock.infra.sizing.model.compressed import is_compressed
from interlock.infra.sizing.model.config import Config, integer, text, truth
from interlock.infra.sizing.model.context import rope_of
from interlock.infra.sizing.model.facts import ModelFacts
from interlock.infra.sizing.model.families import Traits
from interlock.infra.sizing.weights import compressed
from interlock.infra.sizing.weights import decoder as blocks
from interlock.infra.sizing.weights.encoders import encoder_tensors, labels, speech_tensors
from interlock.infra.sizing.weights.ledger import Ledger, Shard
from interlock.infra.sizing.weights.recurrent import recurrent
from interlock.infra.sizing.weights.towers import tower
from interlock.infra.values import Version


@dataclass(frozen=True, slots=True)
class RankWeights:
    """What one rank holds after loading."""

    param_bytes: int
    """Parameters, as ``sum(p.numel() * p.element_size())`` of the model."""
    params: int
    """Their number (packed weights count as the weights they stand for)."""
    extra_bytes: int
    """Buffers and copies made after loading: rotary tables, absorbed matrices of latent attention."""
    padding_bytes: int
    """What the allocator holds beyond the tensors."""


def stage_layers(layers: int, pp: int, stage: int, stated: tuple[int, ...] = ()) -> range:
    """Layers of one pipeline stage: as stated, else equal parts; the rest goes to the stages before the last, from the back
    (vLLM: ``distributed/utils.py::get_pp_indices``)."""
    parts = list(stated) if len(stated) == pp and sum(stated) == layers else [layers // pp] * pp
    for i in range(2, (layers - sum(parts)) + 2):
        parts[-i] += 1
    start = sum(parts[:stage])
    return range(start, start + parts[stage])


@lru_cache(maxsize=4096)
def rank_weights(facts: ModelFacts, shard: Shard, width: int | None = None) -> RankWeights:
    """Weights of the rank that ``shard`` names. ``width``: bytes per number when a dtype is forced."""
    width = width or facts.dtype_bytes
    ledger = Ledger(shard, width, facts.quantization)
    if facts.family.tensors == "speech":
        speech_tensors(ledger, facts)
    elif facts.pooling:
        encoder_tensors(ledger, facts)
    else:
        _decoder(ledger, facts, facts.traits(shard.version))
    buffers = rotary_bytes(facts, width, shard.version)
    if "mla" in facts.mixers and facts.family.latent_cached:
        here = stage_layers(facts.layers, shard.pp, shard.stage, shard.layer_parts)
        buffers += blocks.absorbed_bytes(facts, shard.tp) * sum(facts.mixers[i] == "mla" for i in here)
    return RankWeights(ledger.bytes, ledger.elements, buffers, ledger.padding)


def _decoder(ledger: Ledger, facts: ModelFacts, family: Traits) -> None:
    shard, hidden = ledger.shard, facts.hidden_size
    if shard.first or (facts.tied and shard.last) or "embed" in family.every_stage:
        _embeddings(ledger, facts, family)
    if family.final_norm and (shard.last or "norm" in family.every_stage) and truth(facts.text, "do_layer_norm_before", default=True):
        ledger.add(hidden * (2 if family.norm_bias else 1))
    if facts.head == "classify":
        ledger.add(labels(facts) * hidden, 4)
    elif facts.head == "lm" and not facts.tied and (shard.last or "head" in family.every_stage):
        ledger.vocabulary(facts.vocab_size, hidden)
        if family.head_bias:
            ledger.vocabulary(facts.vocab_size, 1)
    for index in stage_layers(facts.layers, shard.pp, shard.stage, shard.layer_parts):
        _layer(ledger, facts, family, index)
    if shard.first or not since("vision_on_first_stage", shard.version):
        tower(ledger, facts)
    if is_compressed(facts.text):
        compressed.head(ledger, facts.text, hidden)
    per_layer = integer(facts.text, "hidden_size_per_layer_input")
    if per_layer:
        total = per_layer * facts.layers
        ledger.vocabulary(integer(facts.text, "vocab_size_per_layer_input") or facts.vocab_size, total)
        ledger.column("model.per_layer_model_projection", hidden, total)
        ledger.add(per_layer)


def _embeddings(ledger: Ledger, facts: ModelFacts, family: Traits) -> None:
    """The input embedding, with learned positions, a projection to the residual width (OPT) or a norm (BLOOM) where there is one."""
    hidden = facts.hidden_size
    width = integer(facts.text, "word_embed_proj_dim") or hidden
    ledger.vocabulary(facts.vocab_size, width)
    if width != hidden:
        ledger.linear("model.decoder.project_in", width, hidden)
        ledger.linear("model.decoder.project_out", hidden, width)
    if family.positions:
        ledger.add((integer(facts.text, family.positions) + family.position_offset) * hidden)
    if family.embed_norm:
        ledger.add(hidden * (2 if family.norm_bias else 1))


def _norms(facts: ModelFacts, family: Traits) -> int:
    """Norms of the residual width in a layer; Falcon's attention and MLP that run side by side share one unless it says otherwise."""
    config = facts.text
    if facts.family.parallel_norms and truth(config, "parallel_attn", default=True):
        return integer(config, "num_ln_in_parallel_attn") or (2 if truth(config, "new_decoder_architecture") else 1)
    return family.norms


def _layer(ledger: Ledger, facts: ModelFacts, family: Traits, index: int) -> None:
    mixer, hidden, module = facts.mixers[index], facts.hidden_size, f"model.layers.{index}"
    if facts.family.one_part:
        _single(ledger, facts, family, index)
        return
    ledger.add(_norms(facts, family) * hidden * (2 if family.norm_bias else 1))
    if mixer in ("linear", "mamba", "both"):
        recurrent(ledger, facts, "mamba" if mixer == "both" else mixer, index)
    if mixer == "mla":
        blocks.latent_attention(ledger, facts, index)
    elif is_compressed(facts.text):
        compressed.attention(ledger, facts.text, hidden, facts.attention_heads, index)
    elif facts.family.projections == "shared-query":
        blocks.shared_query_attention(ledger, facts, index)
    elif mixer not in ("linear", "mamba"):
        blocks.attention(ledger, facts, family, index)
    both = facts.family.experts_beside_mlp
    experts = blocks.has_experts(facts, index)
    if experts and both:
        ledger.add(3 * hidden + hidden + facts.experts)
    if experts:
        blocks.mixture(ledger, facts, family, index)
    if not experts or both:
        blocks.mlp(ledger, f"{module}.mlp", hidden, blocks.dense_width(facts, index), family)
    per_layer = integer(facts.text, "hidden_size_per_layer_input")
    if per_layer:
        ledger.linear(f"{module}.per_layer_input_gate", hidden, per_layer)
        ledger.linear(f"{module}.per_layer_projection", per_layer, hidden)
        ledger.add(hidden)


def _single(ledger: Ledger, facts: ModelFacts, family: Traits, index: int) -> None:
    """Models whose layers hold one part each: a norm and a mixer, an MLP or experts."""
    mixer, hidden = facts.mixers[index], facts.hidden_size
    ledger.add(hidden)
    if mixer == "mamba":
        recurrent(ledger, facts, mixer, index)
    elif mixer == "full":
        blocks.attention(ledger, facts, family, index)
    elif facts.experts and _is_expert_letter(facts, index):
        blocks.mixture(ledger, facts, family, index)
    else:
        blocks.mlp(ledger, f"model.layers.{index}.mlp", hidden, facts.intermediate_size, family)


def _is_expert_letter(facts: ModelFacts, index: int) -> bool:
    pattern = facts.text.get("hybrid_override_pattern") or facts.text.get("layers_block_type")
    return isinstance(pattern, str | list) and index < len(pattern) and pattern[index] in ("E", "moe")


# Positions that a table of interleaved (MRoPE) angles holds for each of the model's (layers/rotary_embedding/mrope.py).
_MROPE_POSITIONS = 4


def rotary_bytes(facts: ModelFacts, width: int, version: Version | None = None) -> int:
    """Tables of sines and cosines: one per distinct setting, positions x rotary width.

    The table of a linearly scaled setting is as many times longer (layers/rotary_embedding/linear_scaling_rope.py): Gemma 3's global one
    is, its local one is not. A table for positions of three kinds holds four times the model's positions.
    """
    config = facts.text
    if facts.pooling or text(config, "position_embedding_type") in ("absolute", "nope") or not facts.attention_heads:
        return 0
    scaling = rope_of(config)
    partial = config.get("partial_rotary_factor") or scaling.get("partial_rotary_factor")
    share = partial if isinstance(partial, int | float) and 0 < partial <= 1 else 1.0
    rotary = integer(config, "qk_rope_head_dim") or int(facts.head_dim * share)
    tables = float(facts.family.rotary_tables)
    factor = scaling.get("factor")
    if facts.family.context == "stated" and text(scaling, "rope_type", "type") == "linear" and isinstance(factor, int | float):
        tables += max(factor, 1) - 1
    if _interleaved(facts, scaling, version):
        tables *= _MROPE_POSITIONS
    return int(facts.max_position * rotary * width * tables)


def _interleaved(facts: ModelFacts, scaling: Config, version: Version | None) -> bool:
    """Whether the table holds four times the model's positions."""
    if not (facts.family.mrope or scaling.get("mrope_section")):
        return False
    return not (facts.family.mrope == "unless pruned" and since("mrope_table_short", version or newest()))


def whole_weights(facts: ModelFacts) -> int:
    """Bytes of the whole model on one GPU: the checkpoint's own when known."""
    if facts.checkpoint_bytes:
        return facts.checkpoint_bytes
    if not facts.complete:
        return (facts.stated_params or 0) * facts.dtype_bytes
    return rank_weights(facts, Shard()).param_bytes


def parameters(facts: ModelFacts) -> int:
    """Number of parameters of the whole model, from its shapes; as stated when they are unknown."""
    if not facts.complete:
        return facts.stated_params or 0
    return rank_weights(facts, Shard()).params


def worst_stage(facts: ModelFacts, shard: Shard, width: int | None = None) -> RankWeights:
    """The heaviest rank of a pipeline."""
    ranks = [rank_weights(facts, replace(shard, stage=i), width) for i in range(shard.pp)]
    return max(ranks, key=lambda rank: rank.param_bytes)
