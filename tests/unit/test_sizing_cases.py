"""The JSONL contract: any line gets an answer of the documented shape."""

import json
from typing import Any

import pytest

from interlock.cli.size_lines import answer_of, request_of

GOOD = {
    "id": "a",
    "model": "Qwen/Qwen3-8B",
    "gpu": "NVIDIA H100 80GB",
    "tp": 1,
    "gpu_memory_utilization": 0.9,
    "max_model_len": 16384,
    "vllm_version": "0.33.0",
}
FIELDS = {
    *("id", "verdict", "reasons", "unknown", "weights_gib", "activation_gib", "cudagraph_gib", "non_torch_gib", "kv_available_gib"),
    *("kv_tokens", "max_concurrency", "param_bytes", "num_blocks", "block_size"),
}
NONSENSE: list[Any] = [None, "", "nonsense", -1, 0, 10**30, 1.5, float("nan"), True, [], {}, [1, 2], {"a": 1}]


def test_a_plain_case_fits_with_every_documented_field() -> None:
    answer = answer_of(GOOD)
    assert answer["verdict"] == "fits"
    assert set(answer) >= FIELDS
    assert answer["weights_gib"]["low"] <= answer["weights_gib"]["likely"] <= answer["weights_gib"]["high"]


@pytest.mark.parametrize(
    "name", [*GOOD, "config", "speculative_config", "block_size", "pp", "dp", "dtype", "quantization", "given_kv_gib", "kv_cache_dtype"]
)
def test_a_field_that_makes_no_sense_never_raises(name: str) -> None:
    for value in NONSENSE:
        answer = answer_of({**GOOD, name: value})
        assert answer["verdict"] in ("fits", "does_not_fit", "unsure")
        assert answer["reasons"]
        json.dumps(answer)


def test_an_empty_case_is_unsure_and_says_why() -> None:
    answer = answer_of({})
    assert answer["verdict"] == "unsure"
    assert "no model is stated" in answer["reasons"]


def test_an_unknown_model_is_unsure() -> None:
    answer = answer_of({**GOOD, "model": "nobody/nothing"})
    assert answer["verdict"] == "unsure"
    assert "not in the catalog" in answer["reasons"][0]


def test_what_is_not_stated_is_listed_with_the_default_taken() -> None:
    unknown = answer_of({"model": "Qwen/Qwen3-8B", "gpu": "L4"})["unknown"]
    assert any(line.startswith("vllm_version") for line in unknown)
    assert "gpu_memory_utilization is not stated: 0.92 taken" in unknown


def test_values_out_of_range_are_left_out_and_named() -> None:
    answer = answer_of({**GOOD, "gpu_memory_utilization": 7})
    assert any("gpu_memory_utilization = '7.0' is out of range" in line for line in answer["unknown"])


def test_a_missing_length_decides_nothing_by_itself() -> None:
    case = {"id": "x", "model": "Qwen/Qwen3-32B", "gpu": "H100", "tp": 1, "gpu_memory_utilization": 0.9, "vllm_version": "0.11.0"}
    assert answer_of(case)["verdict"] == "unsure"
    assert answer_of({**case, "max_model_len": 40960})["verdict"] == "does_not_fit"


def test_gpus_without_a_split_are_tensor_parallel() -> None:
    request, _ = request_of({"model": "Qwen/Qwen3-8B", "n_gpus": 4})
    assert request.tp == 4


def test_the_config_of_a_case_wins_over_its_model_name() -> None:
    config = {
        "model_type": "llama",
        "num_hidden_layers": 2,
        "hidden_size": 256,
        "num_attention_heads": 4,
        "vocab_size": 1024,
        "intermediate_size": 512,
        "max_position_embeddings": 512,
    }
    answer = answer_of({"model": "Qwen/Qwen3-8B", "config": config, "gpu": "L4", "given_kv_gib": 1})
    assert answer["param_bytes"] == 2 * (2 * 1024 * 256 + 256 + 2 * (4 * 256 * 256 + 3 * 256 * 512 + 2 * 256))
    assert answer["num_blocks"] == 2**30 // (2 * 16 * 4 * 128 * 2)


def test_the_speculative_config_adds_the_drafts_layer_to_the_pool() -> None:
    case = {**GOOD, "model": "deepseek-ai/DeepSeek-V3", "given_kv_gib": 20}
    plain = answer_of(case)["num_blocks"]
    drafted = answer_of({**case, "speculative_config": {"method": "mtp", "num_speculative_tokens": 1}})["num_blocks"]
    assert drafted == pytest.approx(plain * 61 / 62, abs=1)


def test_a_field_that_nobody_knows_is_named_and_never_dropped_in_silence() -> None:
    assert any(
        line.startswith("foo_bar is neither a field of a case nor an argument") for line in answer_of({**GOOD, "foo_bar": 3})["unknown"]
    )


def test_every_refusal_of_a_case_has_its_kind_its_argument_and_its_fix() -> None:
    (refusal,) = answer_of({**GOOD, "block_size": 17})["refusals"]
    assert (refusal["kind"], refusal["field"]) == ("block-size", "block-size")
    assert refusal["remedy"] == "set --block-size to 16, or leave it to the engine"
