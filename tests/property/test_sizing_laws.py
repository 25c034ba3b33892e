"""Laws of the planner (Hypothesis)."""

import json
from dataclasses import replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from interlock.cli.size_lines import answer_of
from interlock.infra.catalog.gpus import gpus
from interlock.infra.sizing import Estimate, SizingRequest, SizingResult, Verdict, model_facts, size
from interlock.infra.sizing.refusals.parallel import tp_problem
from interlock.infra.sizing.weights.ledger import Shard
from interlock.infra.sizing.weights.rank import rank_weights

MODELS = (
    *("Qwen/Qwen3-8B", "meta-llama/Llama-3.1-8B-Instruct", "google/gemma-3-27b-it", "openai/gpt-oss-20b", "deepseek-ai/DeepSeek-V2-Lite"),
    *(
        "Qwen/Qwen3-Next-80B-A3B-Instruct",
        "Qwen/Qwen3-30B-A3B-FP8",
        "meta-llama/Llama-4-Scout-17B-16E-Instruct",
        "Qwen/Qwen2.5-VL-7B-Instruct",
    ),
    *("nvidia/Nemotron-H-56B-Base-8K", "Qwen/Qwen2.5-7B-Instruct-AWQ", "microsoft/Phi-4-mini-instruct", "BAAI/bge-m3"),
)
VERSIONS = ("0.7.3", "0.11.0", "0.17.1", "0.20.2", "0.26.0", "0.29.0", "0.33.0")
LAW = settings(max_examples=60, deadline=None, derandomize=True)


@st.composite
def requests(draw: st.DrawFn) -> SizingRequest:
    return SizingRequest(
        model=draw(st.sampled_from(MODELS)),
        gpu=draw(st.sampled_from([card.name for card in gpus()])),
        tp=draw(st.sampled_from((1, 2, 4, 8))),
        pp=draw(st.sampled_from((1, 2))),
        gpu_memory_utilization=draw(st.none() | st.floats(0.3, 0.97)),
        max_model_len=draw(st.none() | st.integers(1, 200_000)),
        max_num_seqs=draw(st.none() | st.integers(1, 2048)),
        max_num_batched_tokens=draw(st.none() | st.integers(64, 65_536)),
        enforce_eager=draw(st.none() | st.booleans()),
        kv_cache_dtype=draw(st.sampled_from((None, "auto", "fp8"))),
        vllm_version=draw(st.sampled_from(VERSIONS)),
        enable_prefix_caching=draw(st.none() | st.booleans()),
    )


def estimates(answer: SizingResult) -> list[Estimate]:
    named = [
        answer.weights_gib,
        answer.activation_gib,
        answer.cudagraph_gib,
        answer.non_torch_gib,
        answer.kv_available_gib,
        answer.kv_tokens,
    ]
    return [estimate for estimate in (*named, answer.max_concurrency, *(term.gib for term in answer.terms[1:])) if estimate is not None]


def at_least(after: Estimate | None, before: Estimate | None) -> bool:
    """No less memory than before (rounding aside)."""
    if after is None or before is None:
        return True
    return after.low >= before.low - 1e-9 and after.likely >= before.likely - 1e-9 and after.high >= before.high - 1e-9


@LAW
@given(requests())
def test_sizing_is_a_pure_function_of_its_request(request: SizingRequest) -> None:
    assert size(request, suggest=False) == size(replace(request), suggest=False)


@LAW
@given(requests())
def test_an_answer_survives_json(request: SizingRequest) -> None:
    answer = size(request, suggest=False)
    assert TypeAdapter(SizingResult).validate_json(answer.to_json()) == answer


@LAW
@given(requests())
def test_intervals_contain_their_likely_value(request: SizingRequest) -> None:
    for estimate in estimates(size(request, suggest=False)):
        assert estimate.low <= estimate.likely <= estimate.high


@LAW
@given(requests(), st.integers(1, 100_000))
def test_a_longer_context_never_needs_less(request: SizingRequest, more: int) -> None:
    length = request.max_model_len or 1024
    short = size(replace(request, max_model_len=length, given_kv_gib=8.0), suggest=False)
    long = size(replace(request, max_model_len=length + more, given_kv_gib=8.0), suggest=False)
    if short.kv_needed_gib is not None and long.kv_needed_gib is not None:
        assert long.kv_needed_gib >= short.kv_needed_gib


@LAW
@given(requests(), st.sampled_from(("max_num_seqs", "max_num_batched_tokens")), st.integers(1, 32_768))
def test_more_sequences_or_tokens_never_take_less_memory(request: SizingRequest, field: str, more: int) -> None:
    start = getattr(request, field) or 256
    less: dict[str, Any] = {field: start}
    greater: dict[str, Any] = {field: start + more}
    fewer, many = size(replace(request, **less), suggest=False), size(replace(request, **greater), suggest=False)
    assert at_least(many.activation_gib, fewer.activation_gib)
    assert at_least(many.non_torch_gib, fewer.non_torch_gib)


@LAW
@given(requests(), st.integers(1, 100_000))
def test_what_does_not_fit_never_fits_with_a_longer_context(request: SizingRequest, more: int) -> None:
    length = request.max_model_len or 1024
    if size(replace(request, max_model_len=length), suggest=False).verdict is Verdict.DOES_NOT_FIT:
        assert size(replace(request, max_model_len=length + more), suggest=False).verdict is not Verdict.FITS


@LAW
@given(requests())
def test_fits_is_said_only_when_the_high_estimate_fits(request: SizingRequest) -> None:
    answer = size(request, suggest=False)
    if answer.verdict is Verdict.FITS and answer.kv_needed_gib is not None and answer.kv_available_gib is not None:
        assert answer.kv_available_gib.low >= answer.kv_needed_gib


@settings(max_examples=25, deadline=None, derandomize=True)
@given(requests())
def test_what_is_suggested_as_fitting_fits(request: SizingRequest) -> None:
    for suggestion in size(request).suggestions:
        assert size(replace(request, **suggestion.change), suggest=False).verdict is Verdict.FITS


@LAW
@given(st.sampled_from(MODELS), st.sampled_from((1, 2, 4)))
def test_more_ranks_never_raise_the_weights_of_a_gpu(name: str, tp: int) -> None:
    facts = model_facts(name)
    assert facts is not None
    if tp_problem(facts, 2 * tp) is None and tp_problem(facts, tp) is None:
        assert rank_weights(facts, Shard(tp=2 * tp)).param_bytes <= rank_weights(facts, Shard(tp=tp)).param_bytes


@LAW
@given(st.sampled_from(MODELS[:6]), st.integers(1, 40))
def test_more_layers_weigh_more(name: str, layers: int) -> None:
    facts = model_facts(name)
    assert facts is not None
    text = {key: value for key, value in facts.text.items() if key not in ("layer_types", "no_rope_layers")}
    fewer, more = (model_facts({**text, "num_hidden_layers": count}) for count in (layers, layers + 1))
    assert fewer is not None
    assert more is not None
    assert rank_weights(more, Shard()).param_bytes > rank_weights(fewer, Shard()).param_bytes


ANYTHING = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20) | st.lists(st.integers(), max_size=3)
FIELDS = (
    *("model", "gpu", "gpu_total_gib", "n_gpus", "tp", "pp", "dp", "ep", "dcp", "dtype", "quantization", "kv_cache_dtype"),
    *("gpu_memory_utilization", "max_model_len", "max_num_seqs", "max_num_batched_tokens", "enforce_eager", "block_size", "vllm_version"),
    *("spec_decode", "speculative_config", "engine", "config", "given_kv_gib", "id"),
)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(st.dictionaries(st.sampled_from(FIELDS), ANYTHING), st.booleans())
def test_no_case_raises(case: dict[str, Any], real: bool) -> None:
    answer = answer_of({"model": "Qwen/Qwen3-8B", "gpu": "L4", **case} if real else case)
    assert answer["verdict"] in {verdict.value for verdict in Verdict}
    assert answer["reasons"]
    json.dumps(answer)


CONFIG_FIELDS = (
    *(
        "model_type",
        "num_hidden_layers",
        "hidden_size",
        "num_attention_heads",
        "num_key_value_heads",
        "head_dim",
        "vocab_size",
        "intermediate_size",
    ),
    *(
        "kv_lora_rank",
        "qk_rope_head_dim",
        "layer_types",
        "sliding_window",
        "num_experts",
        "moe_intermediate_size",
        "quantization_config",
        "text_config",
    ),
    *(
        "vision_config",
        "linear_num_value_heads",
        "mamba_num_heads",
        "hybrid_override_pattern",
        "rope_scaling",
        "attention_chunk_size",
        "torch_dtype",
    ),
)
SMALL = (
    st.none()
    | st.booleans()
    | st.integers(-3, 64)
    | st.floats(0, 10)
    | st.text(max_size=8)
    | st.lists(st.integers(0, 2) | st.text(max_size=4), max_size=4)
)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(st.dictionaries(st.sampled_from(CONFIG_FIELDS), SMALL), st.sampled_from((1, 2, 3)))
def test_no_config_raises(changes: dict[str, Any], tp: int) -> None:
    base = {
        "model_type": "llama",
        "num_hidden_layers": 4,
        "hidden_size": 512,
        "num_attention_heads": 8,
        "vocab_size": 1000,
        "intermediate_size": 1024,
    }
    answer = answer_of({"config": {**base, "max_position_embeddings": 4096, **changes}, "gpu": "L4", "tp": tp})
    assert answer["reasons"]
