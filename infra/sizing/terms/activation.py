"""Peak memory of the profile run: the forward pass of a full batch, or the sampler, or the image encoder, whichever is largest."""

from interlock.infra.catalog.versions import since
from interlock.infra.sizing.model.facts import ModelFacts
from interlock.infra.sizing.result import Estimate
from interlock.infra.sizing.settings import Resolved
from interlock.infra.sizing.terms.forward import BLAS_GIB, forward
from interlock.infra.sizing.terms.towers import Encoder, encoder, undescribed
from interlock.infra.values import GIB

SOURCE = "tensors live at the peak of vLLM's model code (tests/engine/activation.jsonl), runs on an H200 (0.26, 0.33), public logs"
# Sorting the float32 logits held 9.6 to 10 copies of them (12 of 14 logs of 0.10 to 0.14).
_SORTED_COPIES = (9.5, 9.75, 10.0)
# V0: 9 of 32 logs at that figure for its default of 256 sequences, the others from 1.3 up: fewer were often set and seldom written down.
_V0_FEWEST = 1.3
# With a draft the rows are those of the target's step: 8.3 in one log of 0.9.
_FEWEST_WITH_DRAFT = 8.0
# The fused sampler, in copies of the float32 logits. V1: 16-bit and float32 logits, probabilities and noise (14 B, traced on 0.26);
# V2: 16-bit and float32 logits (6 B; 0.239 GiB on an H200 where the law says 0.233).
_FUSED_V1, _FUSED_V2 = (3.3, 3.5, 3.7), (1.4, 1.5, 2.0)
# Tokens of all data-parallel engines meet in the experts, in chunks of at most so many (VLLM_FUSED_MOE_CHUNK_SIZE).
_EXPERT_CHUNK = 32_768
_MULTIPROCESSORS = 132


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


def _settled_gib(found: Resolved, facts: ModelFacts) -> float:
    """What is taken after the pass's peak and stays, so that the peak above what stays is so much smaller (since 0.27): a row of float32
    logits for every multiprocessor (v1/sample/ops/topk_topp_triton.py), and cuBLAS' workspace; 0.075 and 0.03 GiB on an H200."""
    if not (found.v2 and since("consumed_accounting", found.version)) or facts.pools:
        return 0.0
    return _MULTIPROCESSORS * facts.vocab_size * 4 / GIB + BLAS_GIB


def _encoder(found: Resolved, facts: ModelFacts) -> Encoder | None:
    """The multimodal encoder's part; None where there is none or it is dropped."""
    if not facts.multimodal or found.request.language_model_only:
        return None
    if not since("encoder_items", found.version):
        return undescribed()
    memory = found.memory.likely if found.memory else 80.0
    return encoder(facts, found.request.tp, found.batched_tokens, found.max_model_len, native=not found.eager, memory_gib=memory)


def _copies(found: Resolved) -> tuple[float, float, float]:
    """(low, likely, high) copies of the float32 logits that the version's sampler holds."""
    if found.v0 or not since("triton_sampler", found.version):
        return _SORTED_COPIES
    return _FUSED_V2 if found.v2 else _FUSED_V1


def activation(found: Resolved) -> tuple[Estimate, str]:
    """(GiB, how) of the peak on the heaviest rank."""
    facts = found.facts
    if facts is None:
        return Estimate(low=0.3, likely=1.5, high=8.0), "model unknown: range of all logs"
    passed, images = forward(found, facts), _encoder(found, facts)
    exchange = _exchange_gib(found, facts)
    settled = _settled_gib(found, facts)
    beside = (images.output if images else 0.0) - settled
    maybe = settled if found.request.vllm_version is None else 0.0  # an older version may run
    one_pass = (passed.low - settled + 0.8 * exchange, passed.likely + beside + exchange, passed.high + beside + maybe + 1.25 * exchange)
    # Only the last pipeline stage samples, and only up to one row per batched token.
    rows = 0 if facts.pooling else min(found.sequences, found.batched_tokens)
    logits = rows * facts.vocab_size * 4 / GIB
    copies = _copies(found)
    fewest = _V0_FEWEST if found.v0 and found.request.max_num_seqs is None else copies[0]
    fewest = min(fewest, _FEWEST_WITH_DRAFT) if found.request.speculative_method else fewest
    hidden = 0.0 if copies is _SORTED_COPIES else rows * facts.hidden_size * 2 / GIB
    sampler = (fewest * logits, copies[1] * logits + hidden, copies[2] * logits + hidden)
    peaks = (images.low, images.likely, images.high + maybe) if images else (0.0, 0.0, 0.0)
    largest = tuple(max(0.0, size - settled) for size in peaks)
    parts = {"forward": one_pass, "sampler": sampler, "encoder": largest}
    likely_part = max(parts, key=lambda name: parts[name][1])
    figures = [max(part[i] for part in parts.values()) for i in range(3)]
    how = {
        "forward": f"{found.batched_tokens} batched tokens x {passed.likely * GIB / max(found.batched_tokens, 1) / 1024:.0f} KiB "
        f"({passed.peak_in})",
        "sampler": f"{rows} sequences x {facts.vocab_size} vocabulary x 4 B x {copies[1]:g}",
        "encoder": images.how if images else "",
    }[likely_part]
    return Estimate(low=figures[0], likely=figures[1], high=figures[2]), how
