"""The budget: verdicts, what else takes memory, and what is suggested."""

from dataclasses import replace
from typing import Any

import pytest

from interlock.infra.sizing import SizingRequest, Verdict, size

LLAMA = SizingRequest(model="meta-llama/Llama-3.1-8B-Instruct", gpu="H100", max_model_len=16384)
BIG = SizingRequest(model="meta-llama/Llama-3.3-70B-Instruct", gpu="H100", max_model_len=16384)


def likely(request: SizingRequest, name: str) -> float:
    term = size(request).term(name)
    assert term is not None
    return term.gib.likely


def test_an_8b_model_fits_an_h100() -> None:
    answer = size(LLAMA)
    assert answer.verdict is Verdict.FITS
    assert answer.kv_bytes_per_token == 131072
    assert answer.kv_needed_gib == 2.0


def test_the_terms_add_up_to_the_card() -> None:
    answer = size(LLAMA)
    assert answer.total_gib is not None
    assert sum(term.gib.likely for term in answer.terms) == pytest.approx(answer.total_gib.likely)


def test_every_term_has_a_formula_and_a_source() -> None:
    assert all(term.formula and term.source for term in size(LLAMA).terms)


def test_a_70b_model_does_not_fit_one_h100_and_what_is_suggested_fits() -> None:
    answer = size(BIG)
    assert answer.verdict is Verdict.DOES_NOT_FIT
    assert answer.suggestions
    for suggestion in answer.suggestions:
        assert size(replace(BIG, **suggestion.change)).verdict is Verdict.FITS


def test_a_shorter_length_is_suggested_when_it_is_enough() -> None:
    answer = size(
        SizingRequest(
            model="Qwen/Qwen3-32B",
            gpu="H100",
            gpu_memory_utilization=0.87,
            max_model_len=40960,
            vllm_version="0.33.0",
            max_num_seqs=64,
            max_num_batched_tokens=2048,
        )
    )
    assert answer.verdict is Verdict.DOES_NOT_FIT
    assert answer.longest_model_len is not None
    assert {"max_model_len": answer.longest_model_len} in [dict(s.change) for s in answer.suggestions]


def test_an_invalid_tensor_parallel_size_is_refused_before_memory() -> None:
    answer = size(replace(LLAMA, tp=3))
    assert answer.verdict is Verdict.DOES_NOT_FIT
    assert "32 attention heads" in answer.reasons[0]


def test_a_length_beyond_the_models_positions_is_refused() -> None:
    answer = size(SizingRequest(model="meta-llama/Llama-2-7b-chat-hf", gpu="H100", max_model_len=16384))
    assert answer.verdict is Verdict.DOES_NOT_FIT
    assert "4096 positions" in answer.reasons[0]


def test_gguf_is_refused_with_the_reason() -> None:
    answer = size(replace(LLAMA, quantization="gguf"))
    assert answer.verdict is Verdict.DOES_NOT_FIT
    assert "vllm-gguf-plugin" in answer.reasons[0]


def test_utilization_above_what_is_free_is_refused() -> None:
    answer = size(replace(LLAMA, gpu_memory_utilization=0.999))
    assert answer.verdict is Verdict.DOES_NOT_FIT
    assert "free at the start" in answer.reasons[0]


def test_memory_that_another_engine_holds_is_not_free() -> None:
    answer = size(replace(LLAMA, free_at_start_gib=13.4))
    assert answer.verdict is Verdict.DOES_NOT_FIT


def test_engines_that_share_a_card_must_share_its_memory() -> None:
    shared = replace(LLAMA, sharers=2)
    assert size(shared).verdict is Verdict.DOES_NOT_FIT
    assert size(replace(shared, gpu_memory_utilization=0.45)).verdict is Verdict.FITS


def test_a_mig_slice_has_the_memory_of_the_slice() -> None:
    answer = size(replace(LLAMA, mig_profile="3g.40gb"))
    assert answer.total_gib is not None
    assert answer.total_gib.likely == 39.25


def test_adapters_and_drafts_take_memory() -> None:
    assert likely(replace(LLAMA, max_loras=8, max_lora_rank=64), "weights") > likely(LLAMA, "weights") + 1
    drafted: dict[str, Any] = {"speculative_method": "eagle3", "speculative_tokens": 3}
    assert likely(replace(LLAMA, **drafted), "weights") > likely(LLAMA, "weights") + 0.3


def test_offloaded_weights_leave_the_gpu_and_need_host_memory() -> None:
    offloaded = replace(LLAMA, cpu_offload_gb=4.0)
    assert likely(LLAMA, "weights") - likely(offloaded, "weights") == pytest.approx(4.0)
    host = size(offloaded).host
    assert host is not None
    assert host.offload_bytes == 4 * 2**30


def test_a_fixed_pool_ignores_utilization() -> None:
    answer = size(replace(LLAMA, kv_cache_memory_bytes=10 * 2**30, gpu_memory_utilization=0.999))
    assert answer.verdict is Verdict.FITS
    assert answer.num_blocks == 10 * 2**30 // (32 * 65536)


def test_an_fp8_cache_doubles_the_tokens() -> None:
    given = replace(LLAMA, given_kv_gib=10.0)
    plain, fp8 = size(given), size(replace(given, kv_cache_dtype="fp8"))
    assert plain.num_blocks is not None
    assert fp8.num_blocks == 2 * plain.num_blocks


def test_a_length_of_minus_one_is_fitted() -> None:
    answer = size(replace(LLAMA, max_model_len=-1, given_kv_gib=4.0, vllm_version="0.26.0"))
    assert answer.max_model_len == 32768


def test_an_asked_concurrency_that_the_pool_cannot_hold_does_not_fit() -> None:
    assert size(replace(LLAMA, wanted_concurrency=10.0)).verdict is Verdict.FITS
    assert size(replace(LLAMA, wanted_concurrency=1000.0)).verdict is Verdict.DOES_NOT_FIT


def test_graphs_are_taken_from_the_pool_only_in_versions_that_count_them() -> None:
    assert likely(replace(LLAMA, vllm_version="0.26.0"), "cuda_graphs") == 0
    assert likely(replace(LLAMA, vllm_version="0.33.0"), "cuda_graphs") > 0
    assert likely(replace(LLAMA, vllm_version="0.33.0", enforce_eager=True), "cuda_graphs") == 0


def test_the_sampler_rules_the_peak_before_0_16() -> None:
    assert likely(replace(LLAMA, vllm_version="0.11.0"), "activation") == pytest.approx(4.76, abs=0.05)


def test_memory_shared_with_the_cpu_leaves_doubt_and_then_refuses_at_a_high_utilization() -> None:
    asked = SizingRequest(model="Qwen/Qwen3-8B", gpu="GB10", max_model_len=8192, gpu_memory_utilization=0.9)
    assert size(asked).verdict is Verdict.FITS
    higher = size(replace(asked, gpu_memory_utilization=0.93))
    assert higher.verdict is Verdict.UNSURE
    assert "outside the budget" in higher.reasons[0]
    assert size(replace(asked, gpu_memory_utilization=0.96)).verdict is Verdict.DOES_NOT_FIT
