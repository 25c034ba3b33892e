"""What vLLM refuses before it looks at memory."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from interlock.infra.catalog.architectures import last_version, plugin, without_pipeline
from interlock.infra.catalog.gpus import OLDEST_CAPABILITY
from interlock.infra.catalog.models import entry, of_its_maker
from interlock.infra.catalog.versions import first, since
from interlock.infra.sizing.model.compressed import fewer_than_window, is_compressed
from interlock.infra.sizing.model.config import mapping, sequence
from interlock.infra.sizing.model.facts import ModelFacts
from interlock.infra.sizing.model.families import wrapper_flag
from interlock.infra.sizing.model.field_names import in_transformers
from interlock.infra.sizing.model.quantization import Scheme
from interlock.infra.sizing.refusal import Kind, Refusal, removed
from interlock.infra.sizing.refusals.arguments import DCP, argument_refusals, step_refusal
from interlock.infra.sizing.refusals.parallel import tp_refusal
from interlock.infra.sizing.request import SizingRequest
from interlock.infra.sizing.settings import Resolved
from interlock.infra.values import Version

_SCALED = {True: "rope_parameters and max_position_embeddings", False: "rope_scaling"}
_PP = "pipeline-parallel-size"
# Formats of weights that no loader of vLLM reads.
_UNREAD = {
    Scheme.GGUF: "GGUF weights are read by a plug-in only (vllm-gguf-plugin)",
    Scheme.MLX: "MLX weights are for Apple's machines: vLLM has no loader for them",
}


def refusals(found: Resolved) -> tuple[Refusal, ...]:
    """Every reason for which the engine ends before loading; empty when there is none."""
    if found.facts is None:
        return tuple(_step(found, found.request))
    cut = _cut(found, found.facts)
    return ((cut,) if cut and not _padded(found, cut) else ()) + tuple(_problems(found, found.facts, found.request))


def _cut(found: Resolved, facts: ModelFacts) -> Refusal | None:
    return tp_refusal(facts, found.request.tp, found.version, expert_parallel=found.request.expert_parallel)


def _padded(found: Resolved, cut: Refusal) -> bool:
    """Whether a checkpoint may hold other widths than its base model: publishers pad what they quantize."""
    facts = found.facts
    declared = facts is None or any(mapping(part, "quantization_config") for part in (facts.config, facts.text))
    return cut.kind is Kind.GROUPS and found.request.config is None and not declared


def doubtful(found: Resolved) -> tuple[Refusal, ...]:
    """The cut of a quantized checkpoint that is known by its name only."""
    cut = _cut(found, found.facts) if found.facts is not None else None
    if cut is None or not _padded(found, cut) or of_its_maker(found.request.model or ""):
        return ()
    return (replace(cut, text=f"{cut.text}, unless the quantized checkpoint is padded"),)


def doubts(found: Resolved) -> Iterator[str]:
    """What would be refused if the checkpoint were exactly what its name says."""
    cut = _cut(found, found.facts) if found.facts is not None else None
    if cut is not None and _padded(found, cut):
        yield f"{cut.text}, unless the quantized checkpoint is padded"
    if found.facts is not None and _scaled(found.request):
        own, asked = found.facts.limit(found.version), found.request.max_model_len
        yield from (
            f"positions are scaled to {asked}, this version counts the {own} of the config: override max_position_embeddings too"
            for _ in _too_long(found, found.facts, found.request)
        )
    elif found.facts is not None and not _exact(found.request):
        yield from (f"{each.text}, unless this variant was made for it" for each in _too_long(found, found.facts, found.request))


def _exact(request: SizingRequest) -> bool:
    """Whether the config is the model's own: given, or the catalog's entry of that very name, read from the repository's config.json."""
    if request.config is not None:
        return True
    found = entry((request.model or "").strip("/"))
    return found is not None and found.exact_length


def _problems(found: Resolved, facts: ModelFacts, request: SizingRequest) -> Iterator[Refusal]:
    unread = _UNREAD.get(facts.quantization.scheme) if facts.quantization is not None else None
    if unread:
        yield Refusal(kind=Kind.FORMAT, field="model", text=unread, remedy="use the safetensors checkpoint")
    yield from _card(found)
    yield from _length(found, facts, request)
    yield from _pipeline(found, facts, request)
    if request.sharers > 1 and found.utilization * request.sharers > 1.0:
        text = f"{request.sharers} engines x utilization {found.utilization:g} = {found.utilization * request.sharers:g} of one card"
        share = int(100 / request.sharers) / 100
        remedy = f"set --gpu-memory-utilization to {share:g} or less"
        yield Refusal(kind=Kind.SHARES, field="gpu-memory-utilization", text=text, remedy=remedy, value=share)
    yield from _compressed(found, facts, request)
    yield from _not_served(found, facts)
    yield from argument_refusals(found, facts)
    yield from _context_parallel(facts, request)
    yield from _draft(found, facts, request)


def _card(found: Resolved) -> Iterator[Refusal]:
    """Cards that no release has had kernels for (compute capability below 7.0)."""
    if found.gpu is not None and found.gpu.compute_capability < OLDEST_CAPABILITY:
        text = f"{found.gpu.name} has compute capability {found.gpu.compute_capability:g}, vLLM needs {OLDEST_CAPABILITY:g} or higher"
        yield Refusal(kind=Kind.CARD, field="gpu", text=text, remedy="use a Volta GPU or a newer one")


def _length(found: Resolved, facts: ModelFacts, request: SizingRequest) -> Iterator[Refusal]:
    """Lengths beyond the model's positions (config/model.py::_get_and_verify_max_len), and prompts longer than a step."""
    if _exact(request) and not _scaled(request):
        yield from _too_long(found, facts, request)
    # A model with attention has positions even where a config that somebody shortened does not state them.
    if found.fit_length and not since("auto_length", found.version):
        text = f"max_model_len auto is read since vLLM {first('auto_length')}, and this is {found.version}"
        yield Refusal(kind=Kind.LENGTH, field="max-model-len", text=text, remedy="give --max-model-len as a number")
    elif found.fit_length and not facts.limit(found.version) and all(layer.state for layer in facts.kv_layers):
        text = "max_model_len auto takes the model's own length, which its config does not state"
        yield Refusal(kind=Kind.LENGTH, field="max-model-len", text=text, remedy="give --max-model-len as a number")
    tokens = request.max_num_batched_tokens
    if facts.pooling and tokens and tokens < found.max_model_len:
        text = f"an encoder takes a prompt at once: max_num_batched_tokens {tokens} is below max_model_len {found.max_model_len}"
        yield step_refusal(text, found.max_model_len)
    else:
        yield from _step(found, request)


def _step(found: Resolved, request: SizingRequest) -> Iterator[Refusal]:
    """What a step must hold of any model (config/scheduler.py)."""
    tokens, sequences = request.max_num_batched_tokens, request.max_num_seqs
    if tokens and sequences and tokens < sequences:
        yield step_refusal(f"max_num_batched_tokens {tokens} is below max_num_seqs {sequences}", sequences)
    if request.chunked_prefill is False and tokens and tokens < found.max_model_len:
        text = f"without chunked prefill a step must hold a whole prompt: {tokens} tokens are below max_model_len {found.max_model_len}"
        yield step_refusal(text, found.max_model_len)


def _too_long(found: Resolved, facts: ModelFacts, request: SizingRequest) -> Iterator[Refusal]:
    own, flag = facts.limit(found.version), "max-model-len"
    if own and request.max_model_len and request.max_model_len > own and not request.allow_long:
        text = f"max_model_len {request.max_model_len} is longer than the {own} positions of the model"
        scaled = _SCALED[since("yarn_in_positions", found.version)]
        remedy = f"set --{flag} to {own} or less, or scale its positions by --hf-overrides ({scaled})"
        yield Refusal(kind=Kind.LENGTH, field=flag, text=text, remedy=remedy, value=own)


def _scaled(request: SizingRequest) -> bool:
    """Whether the command line scales the positions so far that the length is covered."""
    changed = request.hf_overrides.get("rope_parameters")
    scaling = changed if isinstance(changed, Mapping) else {}
    factor, original = scaling.get("factor"), scaling.get("original_max_position_embeddings")
    if not isinstance(factor, int | float) or not isinstance(original, int | float):
        return False
    return factor * original >= (request.max_model_len or 0) > 0


def _pipeline(found: Resolved, facts: ModelFacts, request: SizingRequest) -> Iterator[Refusal]:
    unnamed = wrapper_flag(facts.outer_type, "names_inner") and not _inner_architectures(facts)
    if request.pp > 1 and not runs_in_pipeline(facts):
        yield removed(Kind.PIPELINE, _PP, "pipeline parallelism is not supported for this model")
    if request.pp > 1 and unnamed and since("inner_architectures_needed", found.version):
        text = "this version cannot build the language model in a pipeline: its text_config names no architectures"
        yield removed(Kind.PIPELINE, _PP, text)
    if request.pp > max(facts.layers, 1):
        text = f"{request.pp} pipeline stages for {facts.layers} layers"
        yield Refusal(kind=Kind.PIPELINE, field=_PP, text=text, remedy=f"lower --{_PP} to {max(facts.layers, 1)} or less")


def _compressed(found: Resolved, facts: ModelFacts, request: SizingRequest) -> Iterator[Refusal]:
    """What early versions take of a compressed cache."""
    if not is_compressed(facts.text):
        return
    stated = (request.kv_cache_dtype or "").lower()
    if stated and not stated.startswith("fp8") and not since("compressed_cache_in_16_bit", found.version):
        text = f"before 0.30 the compressed cache of {facts.model_type} is fp8 only, not {stated}"
        yield Refusal(kind=Kind.CACHE_DTYPE, field="kv-cache-dtype", text=text, remedy="set --kv-cache-dtype to fp8", value="fp8")
    if not since("packed_freely", found.version) and fewer_than_window(request.block_size):
        text = f"before 0.29 the compressed cache of {facts.model_type} takes no block size below its own of 256, not {request.block_size}"
        yield removed(Kind.BLOCK_SIZE, "block-size", text)


def _inner_architectures(facts: ModelFacts) -> bool:
    return bool(sequence(mapping(facts.config, "text_config"), "architectures"))


def _not_served(found: Resolved, facts: ModelFacts) -> Iterator[Refusal]:
    """Architectures that were removed; transformers' own class serves some of them, not those with recurrent states."""
    outside, last = plugin(facts.architecture), Version.parse(last_version(facts.architecture) or "")
    if outside:
        text = f"{facts.architecture} is served by a plug-in only ({outside})"
        yield Refusal(kind=Kind.ARCHITECTURE, field="model", text=text, remedy="use an image that holds the plug-in, or another model")
    elif last and found.version > last and (not in_transformers(facts.model_type) or any(layer.state for layer in facts.kv_layers)):
        text = f"{facts.architecture} was served until vLLM {last} and is not any more"
        yield Refusal(kind=Kind.ARCHITECTURE, field="model", text=text, remedy=f"use vLLM {last}, or another model")


def runs_in_pipeline(facts: ModelFacts) -> bool:
    """Whether its class implements SupportsPP."""
    return not (facts.pooling or facts.architecture in without_pipeline() or not facts.family.pipeline)


def _context_parallel(facts: ModelFacts, request: SizingRequest) -> Iterator[Refusal]:
    """Only ranks that would hold the same KV heads can share out a context (``config/model.py::verify_with_parallel_config``)."""
    size, tp, heads = request.dcp, request.tp, facts.kv_heads
    if size == 1:
        return
    if tp % size:
        yield removed(Kind.CONTEXT_PARALLEL, DCP, f"tensor parallel size {tp} is not divisible by decode context parallel size {size}")
    elif "mla" in facts.mixers or not heads:
        return
    elif tp <= heads:
        text = f"decode context parallelism needs a tensor parallel size above the {heads} KV heads, not {tp}"
        yield removed(Kind.CONTEXT_PARALLEL, DCP, text)
    elif size > tp // heads:
        text = f"decode context parallel size {size} is above tensor parallel size {tp} / {heads} KV heads"
        yield Refusal(kind=Kind.CONTEXT_PARALLEL, field=DCP, text=text, remedy=f"set --{DCP} to {tp // heads} or less", value=tp // heads)
    elif facts.attention_heads // heads % size:
        text = f"{facts.attention_heads // heads} query heads per KV head are not divisible by decode context parallel size {size}"
        yield removed(Kind.CONTEXT_PARALLEL, DCP, text)


def _draft(found: Resolved, facts: ModelFacts, request: SizingRequest) -> Iterator[Refusal]:
    draft = found.draft
    if draft is None or request.speculative_method != "draft_model" or request.draft_vocabulary_differs:
        return
    if draft.vocab_size and facts.vocab_size and draft.vocab_size != facts.vocab_size:
        text = f"the draft's vocabulary of {draft.vocab_size} is not the model's of {facts.vocab_size}"
        remedy = "choose a draft of the same family and vocabulary, or set use_heterogeneous_vocab"
        yield Refusal(kind=Kind.DRAFT, field="speculative-config", text=text, remedy=remedy)
