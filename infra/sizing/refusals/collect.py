"""What vLLM refuses before it looks at memory."""

from collections.abc import Iterator

from interlock.infra.catalog.architectures import last_version, plugin, without_pipeline
from interlock.infra.catalog.vllm_defaults import parse_version
from interlock.infra.sizing.model.compressed import fewer_than_window, is_compressed
from interlock.infra.sizing.model.config import mapping, sequence
from interlock.infra.sizing.model.facts import ModelFacts
from interlock.infra.sizing.model.names import in_transformers
from interlock.infra.sizing.model.quantization import Scheme
from interlock.infra.sizing.refusals.arguments import not_accepted
from interlock.infra.sizing.refusals.parallel import tp_problem
from interlock.infra.sizing.request import SizingRequest
from interlock.infra.sizing.settings import Resolved

_COMPRESSED_16_BIT_SINCE = (0, 30, 0)
# Until then every page had to fit into one of full attention's (kv_cache_utils.py::_get_kv_cache_groups_uniform_groups).
_PACKED_FREELY_SINCE = (0, 29, 0)
# From the first to before the second, models/qwen3_vl.py checks a pipeline by text_config's own architectures.
_PIPELINE_OF_UNNAMED = ((0, 25, 0), (0, 30, 0))


def refusals(found: Resolved) -> tuple[str, ...]:
    """Every reason for which the engine ends before loading; empty when there is none."""
    if found.facts is None:
        return ()
    problem = tp_problem(found.facts, found.request.tp, found.version, expert_parallel=found.request.expert_parallel)
    return ((problem,) if problem else ()) + tuple(_problems(found, found.facts, found.request))


def _problems(found: Resolved, facts: ModelFacts, request: SizingRequest) -> Iterator[str]:
    if facts.quantization is not None and facts.quantization.scheme is Scheme.GGUF:
        yield "GGUF weights are read by a plug-in only (vllm-gguf-plugin); use the safetensors checkpoint"
    own = facts.limit(found.version)
    if own and request.max_model_len and request.max_model_len > own:
        yield f"max_model_len {request.max_model_len} is longer than the {own} positions of the model"
    if request.max_model_len == -1 and not own:
        yield "max_model_len -1 takes the model's own length, which its config does not state"
    tokens = request.max_num_batched_tokens
    if facts.pooling and tokens and tokens < found.max_model_len:
        yield f"an encoder takes a prompt at once: max_num_batched_tokens {tokens} is below max_model_len {found.max_model_len}"
    if request.pp > 1 and not runs_in_pipeline(facts):
        yield "pipeline parallelism is not supported for this model"
    unnamed = facts.outer_type in ("qwen3_vl", "qwen3_vl_moe") and not _inner_architectures(facts)
    if request.pp > 1 and unnamed and _PIPELINE_OF_UNNAMED[0] <= found.version < _PIPELINE_OF_UNNAMED[1]:
        yield "this version cannot build the language model in a pipeline: its text_config names no architectures"
    if request.pp > max(facts.layers, 1):
        yield f"{request.pp} pipeline stages for {facts.layers} layers"
    if request.sharers > 1 and found.utilization * request.sharers > 1.0:
        yield f"{request.sharers} engines x utilization {found.utilization:g} = {found.utilization * request.sharers:g} of one card"
    stated = (request.kv_cache_dtype or "").lower()
    if is_compressed(facts.text) and stated and not stated.startswith("fp8") and found.version < _COMPRESSED_16_BIT_SINCE:
        yield f"before 0.30 the compressed cache of {facts.model_type} is fp8 only, not {stated}: set --kv-cache-dtype fp8"
    if is_compressed(facts.text) and found.version < _PACKED_FREELY_SINCE and fewer_than_window(request.block_size):
        yield f"before 0.29 the compressed cache of {facts.model_type} takes no block size below its own of 256, not {request.block_size}"
    yield from _not_served(found, facts)
    yield from not_accepted(found, facts)
    yield from _context_parallel(facts, request)
    yield from _draft(found, facts, request)


def _inner_architectures(facts: ModelFacts) -> bool:
    return bool(sequence(mapping(facts.config, "text_config"), "architectures"))


def _not_served(found: Resolved, facts: ModelFacts) -> Iterator[str]:
    """Architectures that were removed; transformers' own class serves some of them, not those with recurrent states."""
    outside, last = plugin(facts.architecture), parse_version(last_version(facts.architecture) or "")
    if outside:
        yield f"{facts.architecture} is served by a plug-in only ({outside})"
    elif last and found.version > last and (not in_transformers(facts.model_type) or any(layer.state for layer in facts.kv_layers)):
        yield f"{facts.architecture} was served until vLLM {'.'.join(map(str, last))} and is not any more"


def runs_in_pipeline(facts: ModelFacts) -> bool:
    """Whether its class implements SupportsPP."""
    return not (facts.pooling or facts.architecture in without_pipeline() or facts.model_type in ("mamba2", "zamba2"))


def _context_parallel(facts: ModelFacts, request: SizingRequest) -> Iterator[str]:
    """Only ranks that would hold the same KV heads can share out a context (``config/model.py::verify_with_parallel_config``)."""
    size, tp, heads = request.dcp, request.tp, facts.kv_heads
    if size == 1:
        return
    if tp % size:
        yield f"tensor parallel size {tp} is not divisible by decode context parallel size {size}"
    elif "mla" in facts.mixers or not heads:
        return
    elif tp <= heads:
        yield f"decode context parallelism needs a tensor parallel size above the {heads} KV heads, not {tp}"
    elif size > tp // heads:
        yield f"decode context parallel size {size} is above tensor parallel size {tp} / {heads} KV heads"
    elif facts.attention_heads // heads % size:
        yield f"{facts.attention_heads // heads} query heads per KV head are not divisible by decode context parallel size {size}"


def _draft(found: Resolved, facts: ModelFacts, request: SizingRequest) -> Iterator[str]:
    draft = found.draft
    if draft is None or request.speculative_method != "draft_model" or request.draft_vocabulary_differs:
        return
    if draft.vocab_size and facts.vocab_size and draft.vocab_size != facts.vocab_size:
        yield f"the draft's vocabulary of {draft.vocab_size} is not the model's of {facts.vocab_size}"
