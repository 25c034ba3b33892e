"""Peak memory of the profile run: the forward pass of a full batch, or the sampler, or the image encoder, whichever is largest."""

from interlock.infra.catalog.vllm_defaults import switch
from interlock.infra.sizing.compressed import is_compressed
from interlock.infra.sizing.defaults import Resolved
from interlock.infra.sizing.facts import ModelFacts
from interlock.infra.sizing.reading import integer
from interlock.infra.sizing.result import Estimate
from interlock.infra.sizing.traits import traits
from interlock.infra.values import GIB

SOURCE = "fitted on runs measured on an H200 (0.26, 0.33) and on public logs; law read from v1/worker/gpu_worker.py"
# Sorting the float32 logits held 9.6 to 10 copies of them (12 of 14 logs of 0.10 to 0.14).
_SORTED_COPIES = (9.5, 9.75, 10.0)
# FlashInfer, where the image brings it, sorts nothing: 16-bit and float32 logits, masked logits, probabilities; 0.11.1 made it opt-in.
_FLASHINFER_COPIES = 3.5
# The fused sampler holds the 16-bit logits and one float32 copy, here in copies of the float32 logits.
_FUSED_COPIES = (1.0, 1.5, 2.0)
# What the encoder of a multimodal model takes for the largest item it may be sent (GiB, logs of 0.11 to 0.29).
_ENCODER_GIB = (0.6, 1.6, 2.4)


# Elements a chunked scan keeps per value (projections, convolution, gates in float32, chunk states).
_SCAN_COPIES = 16
# Bytes per token and element of all residual streams of DeepSeek-V4 (four logs: 24, 25, 37 and 42).
_STREAM_BYTES = (22, 30, 44)
# Tokens of all data-parallel engines meet in the experts, in chunks of at most so many (VLLM_FUSED_MOE_CHUNK_SIZE).
_EXPERT_CHUNK = 32_768


def forward_bytes_per_token(facts: ModelFacts, tp: int) -> tuple[float, float, float]:
    """(low, likely, high) bytes per batched token: gate, up and their product, and three to four copies of the residual.

    Exact to the printed digit on an H200 in 16 bit: 3 x intermediate + 4 x hidden for Qwen2.5 (0.5B to 32B), + 3 x hidden for Llama.
    """
    hidden, family = facts.hidden_size, traits(facts.model_type, facts.text)
    copies = 4.0 if family.qkv_bias else 3.0
    dense = 3 * facts.intermediate_size / tp
    routed = 0.0
    if facts.experts:
        width, top = facts.expert_size / tp, facts.experts_per_token
        routed = top * (max(2 * width, hidden) + width)
        if not integer(facts.text, "first_k_dense_replace"):
            dense = 0.0
    mixer = _mixer_elements(facts, tp)
    likely = 2 * (max(dense, routed, mixer) + copies * hidden)
    if is_compressed(facts.text):
        low, middle, high = (size * integer(facts.text, "hc_mult", default=1) * hidden for size in _STREAM_BYTES)
        return low, max(middle, likely), high + likely
    return 0.75 * likely, likely, 2 * (max(dense, routed, mixer) * 1.15 + (copies + 2) * hidden)


def _mixer_elements(facts: ModelFacts, tp: int) -> float:
    """Elements per token of the widest attention layer: queries, keys and values (latent attention decompresses them)."""
    config = facts.text
    heads = facts.attention_heads / tp
    if integer(config, "kv_lora_rank") and not facts.hybrid:
        return 3 * heads * (integer(config, "qk_nope_head_dim") + integer(config, "qk_rope_head_dim"))
    state = next((layer.state for layer in facts.kv_layers if layer.state), None)
    scan = _SCAN_COPIES * state.heads * state.head_dim / tp if state is not None else 0.0
    return max(scan, 3 * heads * facts.head_dim)


def _exchange_gib(found: Resolved, facts: ModelFacts) -> float:
    """What expert parallelism over data-parallel engines adds: every engine's tokens are gathered, computed and scattered."""
    request = found.request
    if request.dp == 1 or not request.expert_parallel or not facts.experts:
        return 0.0
    tokens = found.batched_tokens * request.dp
    gathered = 2 * tokens * 2 * facts.hidden_size
    top, width = facts.experts_per_token, facts.expert_size
    chunk = min(tokens, _EXPERT_CHUNK) * 2 * top * (max(2 * width, facts.hidden_size) + width)
    return (gathered + chunk) / GIB


def activation(found: Resolved) -> tuple[Estimate, str]:
    """(GiB, how) of the peak on the heaviest rank."""
    facts = found.facts
    if facts is None:
        return Estimate(low=0.3, likely=1.5, high=8.0), "model unknown: range of all logs"
    low, likely, high = (found.batched_tokens * size / GIB for size in forward_bytes_per_token(facts, found.request.tp))
    exchange = _exchange_gib(found, facts)
    forward = (low + 0.6 * exchange, likely + 0.03 + exchange, high + 0.1 + 1.5 * exchange)
    # Only the last pipeline stage samples, and only up to one row per batched token.
    rows = 0 if facts.pooling else min(found.sequences, found.batched_tokens)
    logits = rows * facts.vocab_size * 4 / GIB
    copies = _FUSED_COPIES if switch("triton_sampler", found.version) and not found.v0 else _SORTED_COPIES
    fewest = _FLASHINFER_COPIES if switch("flashinfer_sampler", found.version) and not found.v0 else copies[0]
    sampler = (min(fewest, copies[0]) * logits, copies[1] * logits, copies[2] * logits)
    encoder = _ENCODER_GIB if facts.multimodal and not found.request.language_model_only else (0.0, 0.0, 0.0)
    parts = {"forward": forward, "sampler": sampler, "encoder": encoder}
    likely_part = max(parts, key=lambda name: parts[name][1])
    figures = [max(part[i] for part in parts.values()) for i in range(3)]
    how = {
        "forward": f"{found.batched_tokens} batched tokens x {likely * GIB / max(found.batched_tokens, 1) / 1024:.0f} KiB",
        "sampler": f"{rows} sequences x {facts.vocab_size} vocabulary x 4 B x {copies[1]:g}",
        "encoder": "image encoder at its largest item",
    }[likely_part]
    return Estimate(low=figures[0], likely=figures[1], high=figures[2]), how
