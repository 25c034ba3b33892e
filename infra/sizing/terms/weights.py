"""Weights after loading, with their uncertainty, and the extras that share the weights' place: drafts and adapters."""

from dataclasses import dataclass, replace

from interlock.infra.catalog.overheads import Overheads
from interlock.infra.sizing.model.compressed import is_compressed
from interlock.infra.sizing.model.config import integer, round_up
from interlock.infra.sizing.model.facts import ModelFacts
from interlock.infra.sizing.model.families import known_family, known_wrapper
from interlock.infra.sizing.model.quantization import Scheme
from interlock.infra.sizing.result import Estimate
from interlock.infra.sizing.settings import Resolved
from interlock.infra.sizing.weights.drafts import draft_bytes, unknown_draft
from interlock.infra.sizing.weights.ledger import Shard
from interlock.infra.sizing.weights.rank import RankWeights, rank_weights, stage_layers, worst_stage
from interlock.infra.values import GIB

SOURCE = "tensor by tensor from the constructors of vllm/model_executor/models (equal to vLLM's own count where compared)"


@dataclass(frozen=True, slots=True)
class Loaded:
    """Weights of the heaviest rank."""

    gib: Estimate
    param_bytes: int
    """Parameter bytes of rank 0."""
    formula: str


# Relative uncertainty (down, up) of weights whose storage is not known: anything from 4 to 16 bits; and of a format without a figure.
_UNKNOWN_STORAGE, _NO_FIGURE = (0.75, 0.05), (0.05, 0.1)
# GiB that any model may hold besides, whatever its size: what the allocator does not split off, buffers (0 to 0.04 on an H200).
BESIDE_GIB = 0.05
# A family without a line in the table, and one with a vision or audio tower, whose shapes are less often stated in full.
_UNKNOWN_FAMILY, _TOWER = (0.03, 0.05), (0.003, 0.005)
# Shapes that nobody compared with the repository's own.
_UNVERIFIED = (0.003, 0.003)
# Small Gemmas with per-layer embeddings also hear; a config that does not describe the audio tower is short of it (logged: 13 %).
_HEARS = (0.0, 0.16)
# Share of the model's weights for a draft whose config is not at hand (one log of DSpark: 7.5 %), and what it may be more.
_UNKNOWN_DRAFT, _DSPARK, _MORE_DRAFT = 0.04, 0.075, 0.08
# Gemma 4's assistants: 78 M parameters for the E models, 0.4 to 0.5 B (0.94 GB) for those whose residual is at least so wide.
_ASSISTANT_GIB, _LARGE_TARGET = {False: (0.14, 0.15, 0.2), True: (0.7, 0.85, 0.95)}, 2816


def stored_name(scheme: Scheme | None) -> str:
    """Name of the fitted figure for the weights of a storage format."""
    return f"weights {scheme.value if scheme else '16 bit'}"


def _of_storage(scheme: Scheme | None, known: Overheads) -> tuple[float, float]:
    """(down, up): 16 bit and whole tensors of 8 bit are exact where a family is known; what a quantized checkpoint leaves in 16 bit, and
    what a kernel repacks, is known less well."""
    if scheme is Scheme.UNKNOWN:
        return _UNKNOWN_STORAGE
    figure = known.figures.get(stored_name(scheme))
    return (-figure[0], figure[2]) if figure else _NO_FIGURE


def _spread(facts: ModelFacts, known: Overheads) -> tuple[float, float]:
    """Relative uncertainty (down, up) of derived weights; wider for families that have no line in the table."""
    if facts.checkpoint_bytes:
        return 0.015, 0.015
    down, up = _of_storage(facts.quantization.scheme if facts.quantization else None, known)
    wider = [] if known_family(facts.model_type) or known_wrapper(facts.model_type) else [_UNKNOWN_FAMILY]
    wider += [_TOWER] if facts.multimodal else []
    wider += [_UNVERIFIED] if not facts.verified else []
    wider += [_UNKNOWN_FAMILY] if is_compressed(facts.text) else []  # mixed formats that differ by repository
    if integer(facts.text, "hidden_size_per_layer_input") and not facts.config.get("audio_config"):
        wider.append(_HEARS)
    return down + sum(more[0] for more in wider), up + sum(more[1] for more in wider)


def _from_checkpoint(facts: ModelFacts, shard: Shard, derived: RankWeights) -> int:
    """A known checkpoint size shared out as the derived tensors are; modules for multi-token prediction stay on disk."""
    one = Shard(version=shard.version)
    stored = facts.checkpoint_bytes or 0
    whole = rank_weights(replace(facts, towerless=False) if facts.towerless else facts, one).param_bytes
    predicts = integer(facts.text, "num_nextn_predict_layers", "mtp_num_hidden_layers")
    unused = draft_bytes(facts, "mtp", None, one, facts.dtype_bytes) if predicts else 0
    return int(stored * derived.param_bytes / (whole + unused)) if whole else stored // (shard.tp * shard.pp)


def adapters_bytes(found: Resolved) -> int:
    """LoRA slots: rank x (inputs + outputs) of every linear layer in 16 bit, divided over TP as the layers are."""
    facts, request = found.facts, found.request
    if facts is None or not request.max_loras:
        return 0
    hidden, inter = facts.hidden_size, facts.intermediate_size
    query = facts.attention_heads * facts.head_dim
    per_layer = 4 * hidden + 2 * query + 2 * facts.kv_heads * facts.head_dim + 3 * (hidden + inter)
    return 2 * request.max_lora_rank * request.max_loras * per_layer * facts.layers // request.tp


def packing_bytes(found: Resolved, facts: ModelFacts, marlin: bool = False) -> int:
    """What MXFP4 experts grow by when they are packed for the kernel: Hopper's Triton layout pads the inner dimension of each matrix
    to 256, Marlin and the Blackwell kernels pad both (logged: gpt-oss-20b 13.47, 120b 64.38 GiB on an H100, 65.97 with Marlin)."""
    quantization, shard = facts.quantization, found.shard
    if quantization is None or quantization.scheme is not Scheme.MXFP4 or not facts.experts:
        return 0
    spread = shard.expert_ranks
    count = -(-facts.experts // spread)
    hidden, inter = facts.hidden_size, facts.expert_size if spread > 1 else facts.expert_size // shard.tp
    made = round_up(inter, 64)
    both = marlin or not 9.0 <= found.capability < 10.0
    rows = round_up(inter, 128) if both else made
    outputs = round_up(hidden, 256) if both else hidden
    packed = 2 * rows * round_up(hidden, 256) + outputs * round_up(made, 256 if not both else 128)
    layers = len(stage_layers(facts.layers, shard.pp, shard.stage, shard.layer_parts))
    return layers * count * (packed - 3 * hidden * made) * 17 // 32


def _guessed_draft(found: Resolved, facts: ModelFacts, base: int) -> tuple[int, int, int]:
    """(low, likely, high) bytes of a draft whose config is not at hand; zeros where there is none."""
    method = found.request.speculative_method
    if not unknown_draft(facts, method, found.draft):
        return 0, 0, 0
    if facts.family.predictor == "borrowed" and method == "mtp":
        low, likely, high = _ASSISTANT_GIB[facts.hidden_size >= _LARGE_TARGET]
        return int(low * GIB), int(likely * GIB), int(high * GIB)
    share = _DSPARK if method == "dspark" else _UNKNOWN_DRAFT
    return int(share * base / 2), int(share * base), int((share + _MORE_DRAFT) * base)


def loaded(found: Resolved, facts: ModelFacts) -> Loaded:
    """Weights of a model whose shapes are known."""
    first = rank_weights(facts, found.shard, found.width)
    worst = worst_stage(facts, found.shard, found.width)
    base = _from_checkpoint(facts, found.shard, worst) if facts.checkpoint_bytes else worst.param_bytes
    packed = packing_bytes(found, facts)
    levels = found.batched_tokens * facts.hidden_size * found.width * facts.deepstack
    extra = worst.extra_bytes + worst.padding_bytes + packed + levels
    draft = draft_bytes(facts, found.request.speculative_method, found.draft, found.shard, found.width)
    adapters = adapters_bytes(found)
    down, up = _spread(facts, found.overheads)
    guess = _guessed_draft(found, facts, base)
    draft += guess[1]
    offload = min(found.request.cpu_offload_gb * GIB, base)
    likely = base + extra + draft + adapters - offload
    parts = [f"{base / GIB:.2f} parameters", f"{extra / GIB:.2f} tables and rounding"]
    parts += [f"{size / GIB:.2f} {name}" for name, size in (("draft model", draft), ("adapters", adapters)) if size]
    # Hopper runs the Triton layout or Marlin's, by what the image brings.
    repacked = max(packing_bytes(found, facts, marlin=True) - packed, 0)
    low, high = likely * (1 - down) - (guess[1] - guess[0]), likely * (1 + up) + repacked + (guess[2] - guess[1])
    gib = Estimate(low=low / GIB, likely=likely / GIB, high=high / GIB + BESIDE_GIB)
    return Loaded(gib, first.param_bytes, " + ".join(parts) + (f" - {offload / GIB:.2f} offloaded" if offload else ""))
