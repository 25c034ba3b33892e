"""Which tensor-parallel sizes a model accepts, and why the others are refused."""

from interlock.infra.catalog.versions import newest, since
from interlock.infra.sizing.model.config import integer, round_up
from interlock.infra.sizing.model.facts import ModelFacts
from interlock.infra.sizing.model.layers import StateKind
from interlock.infra.sizing.model.quantization import Scheme
from interlock.infra.sizing.refusal import Kind, Refusal
from interlock.infra.values import Version

_FLAG = "tensor-parallel-size"

# (scheme -> multiple of what): the width of each rank must be a whole number of scale groups or blocks.
_ALIGNED = (Scheme.FP8_BLOCK, Scheme.AWQ, Scheme.GPTQ, Scheme.INT4_PACKED)
# modelopt's FP4 takes linear layers of whole groups of inputs only (``quantization/modelopt.py``).
_FP4_INPUTS = 16
# Groups of experts' weights are halved down to this.
_SMALLEST = 32


# What a size does not divide: the kind of refusal with the reason.
Problem = tuple[Kind, str]
_MOST_TRIED = 64


def tp_refusal(facts: ModelFacts, tp: int, version: Version, *, expert_parallel: bool = False) -> Refusal | None:
    """The refusal of this size with the sizes that are accepted below it, or None."""
    found = _problem(facts, tp, version, expert_parallel)
    if found is None:
        return None
    kind, text = found
    ways = [size for size in range(1, min(tp, _MOST_TRIED)) if _problem(facts, size, version, expert_parallel) is None]
    listed = ", ".join(map(str, ways[-8:]))
    remedy = f"lower --{_FLAG} to {ways[-1]} (accepted below {tp}: {listed}); other GPUs can serve pipeline stages or replicas"
    return Refusal(kind=kind, field=_FLAG, text=text, remedy=remedy if ways else "use a model whose widths the GPUs divide")


def tp_problem(facts: ModelFacts, tp: int, version: Version | None = None, *, expert_parallel: bool = False) -> str | None:
    """Why vLLM refuses this size, or None when it accepts it. ``version``: the newest when None. With expert parallelism the
    experts are not cut."""
    found = _problem(facts, tp, version or newest(), expert_parallel)
    return found[1] if found else None


def _problem(facts: ModelFacts, tp: int, version: Version, expert_parallel: bool) -> Problem | None:
    if tp < 1:
        return Kind.WIDTHS, f"tensor parallel size {tp} is below 1"
    if tp == 1:
        return None
    tries = ((Kind.HEADS, _heads), (Kind.WIDTHS, _vocabulary), (Kind.WIDTHS, _groups), (Kind.GROUPS, _blocks))
    found = next(((kind, text) for kind, ask in tries if (text := ask(facts, tp))), None)
    return found or _alignment(facts, tp, version, expert_parallel)


def _heads(facts: ModelFacts, tp: int) -> str | None:
    return heads_problem(facts.attention_heads, facts.kv_heads, tp)


def heads_problem(heads: int, kv: int, tp: int) -> str | None:
    """Why ``heads`` attention heads and ``kv`` KV heads (0: not known) cannot be split over ``tp`` ranks, or None."""
    if heads and heads % tp:
        return f"{heads} attention heads are not divisible by tensor parallel size {tp}"
    if kv > 1 and kv % tp and tp % kv:
        return f"{kv} KV heads neither divide nor are divided by tensor parallel size {tp}"
    return None


def _vocabulary(facts: ModelFacts, tp: int) -> str | None:
    padded = round_up(facts.vocab_size, 64)
    if padded % tp:
        return f"the vocabulary of {facts.vocab_size} (padded to {padded}) is not divisible by tensor parallel size {tp}"
    return None


def _blocks(facts: ModelFacts, tp: int) -> str | None:
    """Every rank's slice of an fp8 layer is a whole number of scale blocks (``quantization/utils/fp8_utils.py``)."""
    found, config = facts.quantization, facts.text
    if found is None or found.scheme is not Scheme.FP8_BLOCK or "mla" in facts.mixers:
        return None
    widths = {
        ("attention", "self_attn.o_proj"): facts.attention_heads * facts.head_dim if "full" in facts.mixers else 0,
        ("shared expert", "mlp.shared_expert.down_proj"): integer(config, "shared_expert_intermediate_size"),
        ("delta net", "linear_attn.out_proj"): integer(config, "linear_num_value_heads") * integer(config, "linear_value_head_dim"),
    }
    for (name, module), width in widths.items():
        if width // tp % found.group and found.covers(f"model.layers.0.{module}"):
            return f"the {name} width {width} / {tp} = {width // tp} is not a multiple of the block of {found.group} that share a scale"
    return None


def _groups(facts: ModelFacts, tp: int) -> str | None:
    """Groups of Mamba-2 are divided, or one is repeated (vLLM: ``layers/mamba/mamba_mixer2.py``)."""
    state = next((layer.state for layer in facts.kv_layers if layer.state), None)
    if state is None or state.kind is not StateKind.MAMBA2:
        return None
    if state.heads % tp:
        return f"{state.heads} Mamba heads are not divisible by tensor parallel size {tp}"
    if state.key_heads % tp and state.key_heads != 1:
        return f"{state.key_heads} Mamba groups are neither one nor divisible by tensor parallel size {tp}"
    return None


def _alignment(facts: ModelFacts, tp: int, version: Version, expert_parallel: bool) -> Problem | None:
    found = facts.quantization
    widths = {"MLP": 0 if facts.experts and not integer(facts.text, "first_k_dense_replace") else facts.intermediate_size}
    if facts.experts and not expert_parallel:
        widths["expert"] = facts.expert_size
    for name, width in widths.items():
        if not width:
            continue
        if width % tp:
            return Kind.WIDTHS, f"the {name} width {width} is not divisible by tensor parallel size {tp}"
        fp4 = found is not None and found.scheme is Scheme.NVFP4 and found.cache_scales == "all" and name == "MLP"
        if fp4 and width // tp % _FP4_INPUTS and found is not None and found.covers("model.layers.0.mlp.down_proj"):
            text = f"the {name} width {width} / {tp} = {width // tp} is not a multiple of the {_FP4_INPUTS} inputs of modelopt's FP4"
            return Kind.GROUPS, text
        if (
            found is None
            or found.scheme not in _ALIGNED
            or not found.covers("model.layers.0.mlp." + ("experts" if name == "expert" else "up"))
        ):
            continue
        if (
            name == "expert"
            and found.scheme in (Scheme.AWQ, Scheme.GPTQ)
            and found.halved_group(facts.hidden_size, width // tp) >= _SMALLEST
        ):
            continue
        refined = found.scheme is Scheme.FP8_BLOCK and name == "expert" and since("fp8_blocks_refined", version)
        if refined and found.refined_block(facts.hidden_size, width // tp):
            continue
        if found.group < width and width // tp % found.group:
            text = (
                f"the {name} width {width} / {tp} = {width // tp} is not a multiple of the "
                f"{'block' if found.scheme is Scheme.FP8_BLOCK else 'group'} of {found.group} weights that share a scale"
            )
            return Kind.GROUPS, text
    return None


__all__ = ["heads_problem", "tp_problem", "tp_refusal"]
