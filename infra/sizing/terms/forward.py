"""Peak of the forward pass of a full batch in the profile run, from the shapes of a model and how vLLM's code holds its tensors.

Equal to the printed digit to what an H200 measured for Qwen2.5 and Llama (0.26, 0.33), and within a few per cent to vLLM's model code on
the meta device for the families of ``catalog/families.json`` (tests/engine/activation.jsonl).
"""

from dataclasses import dataclass, replace

from interlock.infra.catalog.versions import since
from interlock.infra.sizing.kv.pages import Settings, layer_specs
from interlock.infra.sizing.model.compressed import is_compressed
from interlock.infra.sizing.model.config import integer, round_up, sequence, text
from interlock.infra.sizing.model.facts import ModelFacts
from interlock.infra.sizing.model.layers import Cache
from interlock.infra.sizing.model.quantization import Scheme
from interlock.infra.sizing.settings import Resolved
from interlock.infra.sizing.terms.live_tensors import Rank, expert_buffers, experts, mixers, mlp, shared_width, style_of
from interlock.infra.values import GIB, Version

_ELEMENT = 2
# Context that latent attention decompresses at once: eight requests of the full length, four blocks for each, at most 64k tokens
# (layers/attention/mla_attention.py::determine_chunked_prefill_workspace_size).
_CONTEXT_LIMIT, _CONTEXT_REQUESTS, _CONTEXT_BLOCKS = 65_536, 8, 4
# Logits of the sparse indexer (VLLM_SPARSE_INDEXER_MAX_LOGITS_MB).
_INDEXER_LOGITS = 512 << 20
# Logs of DeepSeek-V4 lie up to so far above what 0.33 shows.
_COMPRESSED = 1.8
# cuBLAS keeps a workspace of 32 MiB on Hopper.
BLAS_GIB = 0.032
_FOUR_BIT = (Scheme.AWQ, Scheme.GPTQ, Scheme.INT4_PACKED, Scheme.MXFP4)
# Formats whose layers compute in 16 bit or in 8 bit from 16-bit activations as followed.
_FOLLOWED_SCHEMES = (None, Scheme.FP8_BLOCK, Scheme.FP8_TENSOR, Scheme.FP8_CHANNEL, Scheme.INT8_CHANNEL, *_FOUR_BIT)


@dataclass(frozen=True, slots=True)
class Run:
    """What the peak depends on besides the model."""

    tp: int
    tokens: int
    """Batched tokens."""
    context: int
    """Tokens of context that latent attention decompresses at once."""
    version: Version
    eager: bool = True
    whole: bool = False
    """Experts are not cut (expert parallelism)."""


@dataclass(frozen=True, slots=True)
class Forward:
    """GiB at the peak; ``kept`` of them stay after it (the experts' workspace), which newer versions log as memory of the engine."""

    low: float
    likely: float
    high: float
    kept: float
    peak_in: str


def context_of(facts: ModelFacts, kv: Settings, length: int, sequences: int) -> int:
    """Tokens of context that latent attention decompresses at once; 0 where it never does."""
    if not any(layer.cache is Cache.MLA for layer in facts.kv_layers) or not since("mla_context", kv.version):
        return 0
    if facts.hybrid and since("kimi_linear_anew", kv.version):
        return 0
    block = max((spec.block for _, spec in layer_specs(facts, kv, length) if spec.cache is Cache.MLA), default=1)
    wanted = min(max(_CONTEXT_REQUESTS * length, _CONTEXT_BLOCKS * sequences * block), _CONTEXT_LIMIT)
    floor = block if since("context_floor_gone", kv.version) else sequences * block
    return round_up(max(wanted, floor), block)


def _dense_width(facts: ModelFacts) -> tuple[int, bool]:
    """(width of the dense MLPs, whether they run after the experts' workspace is there); 0 when every layer has experts."""
    config = facts.text
    listed = [width for width in sequence(config, "intermediate_size") if isinstance(width, int)]
    wide = integer(config, "intermediate_size_mlp") or facts.intermediate_size or max(listed, default=0)
    if not has_experts(facts):
        return wide, True
    if integer(config, "first_k_dense_replace"):
        return wide, False
    mixed = integer(config, "expert_layer_period") > 1 or integer(config, "interleave_moe_layer_step") > 1
    beside = "enable_moe_block" in config or bool(sequence(config, "mlp_only_layers"))
    return (wide if mixed or beside else 0), True


def has_experts(facts: ModelFacts) -> bool:
    """Whether any layer has routed experts (a hybrid's pattern may have none although the config counts some)."""
    pattern = text(facts.text, "hybrid_override_pattern")
    return bool(facts.experts) and (not pattern or "E" in pattern)


def peaks(facts: ModelFacts, run: Run) -> tuple[dict[str, float], float]:
    """(elements per batched token at each moment, those of them that stay: the experts' workspace)."""
    style = style_of(facts)
    if not run.eager:  # compiled, norms are one kernel
        style = replace(style, native_norm=0, carried=min(style.carried, 3) if style.native_norm else style.carried)
    shared = since("shared_workspace", run.version)
    rank = Rank(
        facts,
        run.tp,
        style,
        shared=shared,
        own_sparse=since("sparse_model", run.version),
        fused_scale=since("fused_scale", run.version),
        fused_gate=since("fused_gate", run.version),
        row_shards=since("row_shards", run.version),
    )
    routed = has_experts(facts) and facts.family.experts != "padded"
    buffers = expert_buffers(rank, whole=run.whole) if routed else 0.0
    kept = buffers if shared else 0.0
    if facts.family.experts == "padded":  # its table of rotary angles is cast once and stays
        kept = facts.max_position * facts.head_dim / run.tokens
    dense, after = _dense_width(facts)
    layers = facts.layers * integer(facts.text, "hidden_size_per_layer_input")
    context = run.context / run.tokens
    found = {"attention": kept + mixers(rank, context, _INDEXER_LOGITS / _ELEMENT / run.tokens)}
    if dense:
        found["MLP"] = (kept if after else 0.0) + mlp(rank, dense) + layers
    if has_experts(facts):
        found["experts"] = (kept if shared else buffers) + experts(rank)
        found["shared experts"] = kept + mlp(rank, shared_width(facts.text))
    if layers:
        found["inputs of every layer"] = 3.0 * layers
    return found, kept


def _band(found: Resolved, facts: ModelFacts) -> tuple[float, float]:
    """How far the truth may lie below and above, as factors."""
    scheme = facts.quantization.scheme if facts.quantization else None
    if found.v0 and (facts.experts or facts.kv_heads == 0 or not style_of(facts).exact):
        return 0.75, 1.15  # its own runner and model code
    if found.v0:  # three logs of 0.6 and 0.7: 0.985 to 1.0, once the 0.35 GiB that two of them took off for the context is added
        return 0.95, 1.08
    if facts.pooling:
        return 0.65, 2.0
    if is_compressed(facts.text):
        return 0.8, _COMPRESSED
    style = style_of(facts)
    if not style.exact or scheme not in _FOLLOWED_SCHEMES:
        return 0.7, 2.6 if style.loose else 1.45
    older = not since("forward_followed", found.version)
    if facts.experts and (older or found.capability >= 10.0 or scheme in _FOUR_BIT):
        return 0.57 if scheme in _FOUR_BIT else 0.75, 1.5 if older else 1.15  # other kernels with other workspaces
    if facts.experts and scheme is Scheme.FP8_CHANNEL:
        return 0.9, 1.5  # CUTLASS' experts hold more (0.26)
    if any(layer.state for layer in facts.kv_layers):
        return 0.9, 1.15
    return (0.93, 1.08) if older or not found.eager else (0.97, 1.04)


def forward(found: Resolved, facts: ModelFacts) -> Forward:
    """The peak of one rank in GiB, with its uncertainty."""
    tokens = max(found.batched_tokens, 1)
    context = context_of(facts, found.kv, found.max_model_len, found.sequences)
    run = Run(found.request.tp, tokens, context, found.version, found.eager, found.request.expert_parallel)
    parts, kept = peaks(facts, run)
    peak_in = max(parts, key=lambda name: parts[name])
    size = tokens * _ELEMENT / GIB
    likely = parts[peak_in] * size
    below, above = _band(found, facts)
    spare = 0.05 if style_of(facts).exact else 0.1
    return Forward(below * likely, likely + BLAS_GIB, above * likely + BLAS_GIB + spare, kept * size, peak_in)
