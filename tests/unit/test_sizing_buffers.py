"""Weights with their buffers against vLLM's own constructors (tests/engine/oracle.jsonl): tables of angles, towers, deepstack."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from interlock.cli.size_lines import answer_of, request_of
from interlock.infra.sizing import SizingRequest, size
from interlock.infra.sizing.settings import Resolved, resolve
from interlock.infra.sizing.weights.rank import rank_weights, rotary_bytes
from tests.unit.test_sizing_oracle import case_of, groups

MIB = 2**20
EIGHT_OR_FOUR_BIT = {"float8_e4m3fn", "int8", "int32", "uint8"}


def built() -> Iterator[tuple[dict[str, Any], Resolved]]:
    """Lines that tell what the constructors made on one GPU, with the planner's reading of the same question."""
    for lines in groups().values():
        for line in lines:
            if line["kind"] == "model" and line.get("buffer_bytes") is not None and (line.get("tp", 1), line.get("pp", 1)) == (1, 1):
                yield line, resolve(request_of(case_of(line))[0])


def test_parameters_and_buffers_are_within_half_a_percent_of_the_constructors() -> None:
    """Matrices that latent attention makes after loading are no buffers: those are left out."""
    compared, wrong = 0, []
    for line, found in built():
        quantized = found.facts is not None and found.facts.quantization is not None
        if found.facts is None or (quantized and not EIGHT_OR_FOUR_BIT & set(line["param_bytes_by_dtype"])):
            continue  # 16-bit weights that the engine quantizes after its constructors
        own = rank_weights(found.facts, found.shard, found.width).param_bytes + rotary_bytes(found.facts, found.width, found.version)
        whole = line["param_bytes"] + line["buffer_bytes"]
        compared += 1
        if abs(own / whole - 1) > 0.005:
            wrong.append((line["vllm"], line["model"], own / whole))
    assert wrong == []
    assert compared > 300


@pytest.mark.parametrize(
    ("model", "mib"), [("qwen2.5-vl-7b", 125), ("gemma-3-4b", 720), ("gemma-3-27b", 360), ("gemma-4-31b", 384), ("deepseek-v4-flash", 512)]
)
def test_tables_that_are_longer_than_the_models_positions_equal_vllms(model: str, mib: int) -> None:
    found = {
        (line["buffer_bytes"] // MIB, rotary_bytes(own.facts, own.width, own.version) // MIB)
        for line, own in built()
        if line["model"] == model and own.facts is not None and (line.get("args") or {}).get("dtype") is None
    }
    assert found == {(mib, mib)}


def test_qwen3_vl_has_the_long_table_until_0_33() -> None:
    tables = {
        (line["vllm"], rotary_bytes(own.facts, own.width, own.version) // MIB)
        for line, own in built()
        if line["model"] == "qwen3-vl-8b" and own.facts is not None
    }
    assert tables == {("0.26.0", 256), ("0.29.0", 256), ("0.33.0", 64)}


def test_deepstack_buffers_grow_with_the_batch() -> None:
    case = {"model": "Qwen/Qwen3-VL-30B-A3B-Instruct", "gpu": "H100", "max_model_len": 8192}
    small, large = (answer_of({**case, "max_num_batched_tokens": tokens})["weights_gib"]["likely"] for tokens in (2048, 16384))
    assert large - small == pytest.approx(3 * (16384 - 2048) * 2048 * 2 / 2**30, abs=0.002)


def test_a_tower_that_is_left_out_weighs_nothing_and_takes_no_peak() -> None:
    request = SizingRequest(model="Qwen/Qwen2.5-VL-7B-Instruct", gpu="L40S", max_model_len=4096)
    whole, text = size(request), size(replace(request, language_model_only=True))
    assert whole.param_bytes is not None
    assert text.param_bytes is not None
    assert whole.param_bytes - text.param_bytes == pytest.approx(0.677e9 * 2, rel=0.02)
    assert whole.activation_gib is not None
    assert text.activation_gib is not None
    assert text.activation_gib.high < whole.activation_gib.low
