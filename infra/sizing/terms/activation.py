"""Peak memory of the profile run: the forward pass of a full batch, or the sampler, or the image encoder, whichever is largest."""

from interlock.infra.catalog.versions import since
from interlock.infra.sizing.model.facts import ModelFacts
from interlock.infra.sizing.result import Estimate
from interlock.infra.sizing.settings import Resolved
from interlock.infra.sizing.terms.forward import BLAS_GIB, forward
from interlock.infra.sizing.terms.towers import Encoder, encoder, undescribed
from interlock.infra.values import GIB

SOURCE = "tensors live at the peak of vLLM's model code (tests/engine/activation.jsonl), runs on an H200 (0.26, 0.33), public logs"
# The sampler before 0.17 sorts the float32 logits (v1/sample/ops/topk_topp_sampler.py). Live beside them and the logits in the model's
# dtype at the peak of torch.sort (aten/src/ATen/native/cuda/SortStable.cu, cub's segmented radix sort): sorted values (4 B), indices and
# the indices that they start from (8 + 8), and cub's own copy of keys and indices (4 + 8). Within 0.03 GiB of 17 logs of 0.6 to 0.11.
_SORT_BYTES = 4 + 4 + 8 + 8 + 12
# Up to 127 rows are sorted as one list: two lists of (row, index) pairs in place of the first indices, and keys beside cub's copy. A few
# rows more are taken as they are, so that more sequences never take less.
_FEW_ROWS, _LIST_BYTES = 127, 4 + 4 + 8 + 8 + 8 + 4 + 12
# FlashInfer's sampler sorts nothing: logits, masked logits and probabilities in float32. V1 took it where it was installed, from 0.11.1 on
# where VLLM_USE_FLASHINFER_SAMPLER asks for it; no command line shows either (3.4 copies in a log of 0.13).
_UNSORTED_BYTES = 12
# V0: 9 of 32 logs at that figure for its default of 256 sequences, the others from 1.3 copies up: fewer were often set and seldom
# written down.
_V0_FEWEST_BYTES = 5
# The fused sampler of the V1 runner: logits in the model's dtype, and 12 B in float32 (logits, probabilities, noise; traced on 0.26).
_FUSED_BYTES = 12
# The V2 runner's, in copies of the float32 logits: 16-bit and float32 logits (6 B; 0.239 GiB on an H200 where the law says 0.233).
_FUSED_V2 = (1.4, 1.5, 2.0)
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
    length, images = found.max_model_len, found.request.no_video
    return encoder(facts, found.request.tp, found.batched_tokens, length, native=not found.eager, memory_gib=memory, no_video=images)


def _rows(found: Resolved, facts: ModelFacts) -> int:
    """Rows of logits in the profile run: one per sequence, and only up to one per batched token."""
    return 0 if facts.pooling else min(found.sequences, found.batched_tokens)


def _fused_v1(found: Resolved, facts: ModelFacts, kept: float, images: Encoder | None) -> tuple[float, float, float]:
    """Peak in the V1 runner's fused sampler: its logits, and what lives beside them until the profile run ends.

    The hidden states of the whole batch (in a pipeline also the two tensors that came from the stage before), a row of the vocabulary for
    every multiprocessor (v1/sample/ops/topk_topp_triton.py), the experts' workspace, the encoder's outputs and its pixel values
    (v1/worker/gpu_model_runner.py::profile_run). Within 0.02 GiB of 25 logs of 0.19 on one H100.
    """
    logits = _rows(found, facts) * facts.vocab_size * (_FUSED_BYTES + found.width) / GIB
    law = logits + _MULTIPROCESSORS * facts.vocab_size * 4 / GIB + _beside_sampler(found, facts, kept, images)
    _, small, most = found.overheads.of("sampler small")
    return 0.97 * logits, law + small, 1.01 * law + most


def _beside_sampler(found: Resolved, facts: ModelFacts, kept: float, images: Encoder | None) -> float:
    """GiB that live until the profile run ends: hidden states of the whole batch and of the sampled rows, and what encoder and experts
    keep."""
    batches = found.batched_tokens * (3 if found.request.pp > 1 else 1) + _rows(found, facts)
    outputs = images.output + images.pixels if images else 0.0
    return batches * facts.hidden_size * found.width / GIB + kept + outputs + BLAS_GIB


def _sorted(found: Resolved, facts: ModelFacts, kept: float, images: Encoder | None) -> tuple[float, float, float]:
    """Peak in the sampler that sorts. The low end is another sampler's, or of fewer sequences, where that cannot be told from outside."""
    rows, stated = _rows(found, facts), found.request.max_num_seqs is not None
    logits, beside = rows * facts.vocab_size / GIB, _beside_sampler(found, facts, kept, images)
    less, small, more = found.overheads.of("sampler sorted")
    in_sort = max(rows * _SORT_BYTES, min(rows, _FEW_ROWS) * _LIST_BYTES) * facts.vocab_size / GIB
    law = in_sort + logits * found.width + beside
    if not found.v0:
        low = logits * (_UNSORTED_BYTES + found.width)
    else:
        low = logits * (_SORT_BYTES + found.width) + beside if stated else logits * _V0_FEWEST_BYTES
    return low + less, law + small, law + more


def _sampler(found: Resolved, facts: ModelFacts, kept: float, images: Encoder | None) -> tuple[tuple[float, float, float], str]:
    """((low, likely, high) GiB, how) of the sampler's peak in that version."""
    rows = _rows(found, facts)
    said = f"{rows} sequences x {facts.vocab_size} vocabulary"
    if found.v0 or not since("triton_sampler", found.version):
        return _sorted(found, facts, kept, images), f"{said}, sorted, and what lives beside it"
    if not found.v2:
        return _fused_v1(found, facts, kept, images), f"{said} x {_FUSED_BYTES + found.width} B, and what lives beside it"
    hidden, logits = rows * facts.hidden_size * 2 / GIB, rows * facts.vocab_size * 4 / GIB
    low, likely, high = (copies * logits for copies in _FUSED_V2)
    return (low, likely + hidden, high + hidden), f"{said} x 4 B x {_FUSED_V2[1]:g}"


def activation(found: Resolved) -> tuple[Estimate, str]:
    """(GiB, how) of the peak on the heaviest rank; in a pipeline that is the last, which samples."""
    facts = found.facts
    if facts is None:
        return Estimate(low=0.3, likely=1.5, high=8.0), "model unknown: range of all logs"
    passed, images = forward(found, facts), _encoder(found, facts)
    exchange = _exchange_gib(found, facts)
    settled = _settled_gib(found, facts)
    beside = (images.output if images else 0.0) - settled
    maybe = settled if found.request.vllm_version is None else 0.0  # an older version may run
    one_pass = (passed.low - settled + 0.8 * exchange, passed.likely + beside + exchange, passed.high + beside + maybe + 1.25 * exchange)
    sampler, sampled = _sampler(found, facts, passed.kept, images)
    peaks = (images.low, images.likely, images.high + maybe) if images else (0.0, 0.0, 0.0)
    largest = tuple(max(0.0, size - settled) for size in peaks)
    parts = {"forward": one_pass, "sampler": sampler, "encoder": largest}
    likely_part = max(parts, key=lambda name: parts[name][1])
    figures = [max(part[i] for part in parts.values()) for i in range(3)]
    how = {
        "forward": f"{found.batched_tokens} batched tokens x {passed.likely * GIB / max(found.batched_tokens, 1) / 1024:.0f} KiB "
        f"({passed.peak_in})",
        "sampler": sampled,
        "encoder": images.how if images else "",
    }[likely_part]
    return Estimate(low=figures[0], likely=figures[1], high=figures[2]), how
