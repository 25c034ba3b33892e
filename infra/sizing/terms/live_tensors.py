"""The moments of one layer at which its live tensors can peak, in elements per batched token on one rank.

Read off vLLM's model code on the meta device (tests/engine/activation.jsonl lists what is live at each peak). A family's way of holding
tensors is a row of ``catalog/families.json``.
"""

from dataclasses import dataclass, fields, replace

from interlock.infra.sizing.model.compressed import is_compressed
from interlock.infra.sizing.model.config import Config, integer, round_up, sequence, truth
from interlock.infra.sizing.model.facts import ModelFacts
from interlock.infra.sizing.model.families import row
from interlock.infra.sizing.model.layers import Cache, KvLayer, State, StateKind
from interlock.infra.sizing.model.quantization import Scheme

_EIGHT_BIT = (Scheme.FP8_TENSOR, Scheme.FP8_CHANNEL, Scheme.FP8_ONLINE, Scheme.INT8_CHANNEL)
# gpt-oss pads an expert's width on a rank to this, DeepSeek-V4 its heads (layers/fused_moe/experts/gpt_oss_triton_kernels_moe.py).
_PADDED = 64


@dataclass(frozen=True, slots=True)
class Style:
    """How a family's code holds its tensors: the fields are told in ``catalog/families.json``."""

    carried: int
    keeps: bool
    native_norm: int
    after_mlp: bool
    reduces: bool
    single: bool
    attention: str
    exact: bool
    loose: bool


def style_of(facts: ModelFacts) -> Style:
    """The family's style; an unknown family gets the default row."""
    found = row(facts.model_type)
    style = Style(**{field.name: found[field.name] for field in fields(Style)})
    if facts.multimodal and not style.native_norm and not style.after_mlp:
        return replace(style, carried=style.carried - 1)
    return style


@dataclass(frozen=True, slots=True)
class Rank:
    """One rank's view of a model."""

    facts: ModelFacts
    tp: int
    style: Style
    fused_scale: bool = True
    """A static scale is applied where activations are computed."""
    shared: bool = True
    """Experts compute in a workspace that stays."""
    own_sparse: bool = True
    """Sparse latent attention has its own code, which never decompresses a context."""
    row_shards: bool = True
    """Ranks exchange what the indexer chose by rows."""
    fused_gate: bool = True
    """Queries of gated attention are normed in one kernel."""

    @property
    def config(self) -> Config:
        """The language model's config."""
        return self.facts.text

    @property
    def reduced(self) -> int:
        """1 where an all-reduce writes beside its input."""
        return 1 if self.tp > 1 else 0

    def residuals(self, count: int) -> int:
        """Elements of so many tensors of the residual's width."""
        return count * self.facts.hidden_size

    @property
    def mixer_carried(self) -> int:
        """Tensors of the residual's width beside a mixer: norms of vLLM work in place, norms in torch copy."""
        return self.style.carried - (0 if self.style.native_norm else 1)

    @property
    def product(self) -> float:
        """Elements that the product of gate and up takes: half of one where the kernel writes what a static scale makes of it."""
        found = self.facts.quantization
        return 0.5 if found is not None and found.scheme is Scheme.FP8_TENSOR and found.static and self.fused_scale else 1.0

    def eight_bit(self, module: str) -> float:
        """What quantizing a layer's input adds per element: 8 bit, and scales per block, while the input stays."""
        found = self.facts.quantization
        if found is None or not found.covers(f"model.layers.1.{module}"):
            return 0.0
        return 0.5 + 2 / 128 if found.scheme is Scheme.FP8_BLOCK else 0.5 if found.scheme in _EIGHT_BIT else 0.0


def mlp(rank: Rank, width: float) -> float:
    """Gate and up, their product, and what the projection down writes."""
    style, local = rank.style, width / rank.tp
    carried = style.carried - (1 if style.single else 0)
    projected = (2 if rank.facts.traits().gated and not rank.facts.pooling else 1) * local
    product = rank.product * local
    reduced = rank.reduced if style.reduces else 0
    quantized = rank.eight_bit("mlp.down_proj") * local if rank.product == 1.0 else 0.0
    held = projected if style.keeps else 0
    during = projected + product + rank.residuals(carried)
    after = held + product + max(quantized, rank.residuals(reduced)) + rank.residuals(carried + 1)
    normed = local + rank.residuals(carried + 2 + reduced) if style.after_mlp else 0
    return max(during, after, normed)


def expert_buffers(rank: Rank, *, whole: bool) -> float:
    """The shared workspace of the routed experts: outputs of both products for every expert a token visits.

    vLLM: ``workspace_shapes`` of ``layers/fused_moe/experts/triton_moe.py``. ``whole``: experts are not cut (expert parallelism).
    """
    facts = rank.facts
    width, top = facts.expert_size // (1 if whole else rank.tp), visited(facts)
    hidden = integer(facts.text, "moe_latent_size") or facts.hidden_size
    gated = 2 if facts.traits().gated else 1
    if not rank.shared:
        return top * (max(gated * width, hidden) + width)
    return top * (max(width, hidden) + max(gated * width, hidden))


def visited(facts: ModelFacts) -> int:
    """Experts that one token visits (the most of any layer)."""
    listed = sequence(facts.text, "moe_topk")
    stated = integer(facts.text, "moe_top_k", "moe_k")
    return max((int(top) for top in listed if isinstance(top, int)), default=0) or stated or facts.experts_per_token


def experts(rank: Rank) -> float:
    """Beside that workspace: the residuals, the output, and with shared experts their output and the sum."""
    facts, config = rank.facts, rank.config
    if facts.family.experts == "padded":
        return visited(facts) * (round_up(facts.expert_size // rank.tp, _PADDED) + facts.hidden_size) + rank.residuals(
            rank.style.carried + 1
        )
    beside = 2 if shared_width(config) or truth(config, "enable_moe_block") else 0
    wide_router = facts.traits().router_bits == 32
    logits = facts.experts * (2 if wide_router else 1)
    carried = rank.style.carried - (1 if rank.style.single else 0)
    peak = rank.residuals(carried + 1 + beside + rank.reduced) + logits
    if wide_router and not beside:  # the router's input in float32
        peak = max(peak, rank.residuals(carried + 2) + logits)
    return peak


def shared_width(config: Config) -> int:
    """Width of the experts that every token visits."""
    stated = integer(config, "shared_expert_intermediate_size", "moe_shared_expert_intermediate_size")
    count = integer(config, "n_shared_experts", "num_shared_experts", "moe_num_shared_experts")
    llama4 = integer(config, "intermediate_size") if integer(config, "intermediate_size_mlp") else 0
    return stated or count * integer(config, "moe_intermediate_size") or llama4


def attention(rank: Rank, layer: KvLayer) -> float:
    """Queries, keys and values, the output and its projection; normed queries and keys beside them."""
    facts, tp = rank.facts, rank.tp
    head = layer.head_dim or facts.head_dim
    queries, keys = facts.attention_heads * head / tp, layer.heads_on_rank(tp) * head
    projected, carried = queries + 2 * keys, rank.mixer_carried
    family = facts.traits()
    out = max(rank.eight_bit("self_attn.o_proj") * queries, rank.residuals(rank.reduced)) + rank.residuals(carried + 1)
    if rank.style.attention == "gated" and not rank.fused_gate and rank.style.native_norm:
        return projected + 9 * queries + rank.residuals(carried)
    if rank.style.attention == "gated":
        return projected + 6 * queries + keys + rank.residuals(carried)
    if rank.style.attention == "float32 queries":
        return max(projected + 5 * queries + rank.residuals(carried), projected + queries + out)
    if rank.style.attention == "float32" and tp == 1:
        return projected + 6 * queries + 2 * keys + rank.residuals(carried)
    normed = queries + keys if family.qk_norm or rank.style.attention else 0
    values = keys if normed and rank.style.after_mlp else 0
    return projected + normed + values + queries + out


def latent(rank: Rank, context: float) -> float:
    """Latent attention: its low-rank parts, queries, output, and the decompressed context of ``context`` tokens per batched token."""
    config, heads = rank.config, rank.facts.attention_heads / rank.tp
    rope, low = integer(config, "qk_rope_head_dim"), integer(config, "kv_lora_rank")
    nope, value = integer(config, "qk_nope_head_dim"), integer(config, "v_head_dim")
    ranks = 2 * integer(config, "q_lora_rank") + 2 * (low + rope)
    own = heads * (nope + rope + value) + ranks
    carried = rank.mixer_carried + (1 if rank.facts.hybrid else 0)
    return own + max(context * heads * (nope + value) + rank.residuals(carried), rank.residuals(carried + 1 + rank.reduced))


def sparse(rank: Rank, constant: float) -> float:
    """Latent attention with an indexer: queries in the latent, the indexer's queries, and ``constant`` elements of its logits."""
    config, heads = rank.config, rank.facts.attention_heads / rank.tp
    rope, low = integer(config, "qk_rope_head_dim"), integer(config, "kv_lora_rank")
    nope, value = integer(config, "qk_nope_head_dim"), integer(config, "v_head_dim")
    index_heads, index = integer(config, "index_n_heads"), integer(config, "index_head_dim")
    ranks = 2 * integer(config, "q_lora_rank") + 2 * (low + rope) + index + 2 * index_heads
    if not rank.own_sparse:
        queries = heads * (nope + rope) + 1.5 * index_heads * index
        return queries + ranks + index + 5 * index_heads + constant + rank.residuals(rank.mixer_carried)
    chosen = 4 * integer(config, "index_topk") if rank.tp > 1 and rank.row_shards else 0
    own = heads * (nope + 2 * rope + value + low) + 1.5 * index_heads * index + ranks
    return own + chosen + constant + rank.residuals(rank.mixer_carried + rank.reduced)


def compressed(rank: Rank, constant: float) -> float:
    """Compressed attention (DeepSeek-V4): queries and output padded to whole kernels, two sets of residual streams, the indexer."""
    config, head = rank.config, integer(rank.config, "head_dim")
    padded = round_up(max(rank.facts.attention_heads // rank.tp, 1), _PADDED) * head
    index = integer(config, "index_n_heads") * integer(config, "index_head_dim")
    chosen = 4 * integer(config, "index_topk") if rank.tp > 1 and rank.row_shards else 0
    streams = 2 * integer(config, "hc_mult", default=1) + 2
    return 2 * padded + rank.residuals(streams) + 12 * head + index / 2 + 2 * integer(config, "q_lora_rank") + chosen + constant


def recurrent(rank: Rank, state: State) -> float:
    """Projections, convolved parts, output and its gate of a recurrent layer."""
    facts, tp = rank.facts, rank.tp
    values = state.heads * state.head_dim / tp
    out = rank.residuals(rank.mixer_carried + 1 + rank.reduced)
    if state.kind is StateKind.GDN:
        keys = state.key_heads * state.state / tp
        gates = 4 * state.heads / tp
        interleaved = 6 * keys + 7 * values if facts.family.recurrent == "interleaved" else 2 * keys + 4 * values
        return interleaved + gates + out
    if state.kind is StateKind.KDA:
        return 6 * values + state.state + state.heads / tp + out
    groups = (state.key_heads if state.key_heads % tp == 0 else tp) * state.state / tp
    projected = 2 * values + 2 * groups + state.heads / tp
    if state.kind is StateKind.MAMBA2:
        return max(projected + 5 * values + rank.residuals(rank.mixer_carried), projected + values + out)
    return max(4 * values + rank.residuals(rank.mixer_carried), 3 * values + rank.residuals(1) + out)


def mixers(rank: Rank, context: float, constant: float) -> float:
    """The widest mixer of the model."""
    if is_compressed(rank.config):
        return compressed(rank, constant)
    widest: float = rank.residuals(rank.style.native_norm)
    indexed = any(layer.cache is Cache.INDEXER for layer in rank.facts.kv_kinds)
    for layer in rank.facts.kv_kinds:
        if layer.state is not None:
            widest = max(widest, recurrent(rank, layer.state))
        elif layer.cache is Cache.MLA:
            widest = max(
                widest,
                sparse(rank, constant) if indexed else 0.0,
                0.0 if indexed and rank.own_sparse else latent(rank, context),
            )
        elif layer.cache is not Cache.INDEXER:
            widest = max(widest, attention(rank, layer))
    return widest
