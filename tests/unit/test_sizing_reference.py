"""The planner equals what vLLM's own planning code answers (tests/data/vllm_reference.jsonl)."""

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from interlock.cli.size_lines import answer_of
from interlock.infra.sizing import model_facts
from interlock.infra.sizing.weights.ledger import Shard
from interlock.infra.sizing.weights.rank import rank_weights

LINES = Path(__file__).parents[1] / "data/vllm_reference.jsonl"
CATALOG = {
    "gemma-2-9b": "google/gemma-2-9b-it",
    "llama-3.1-8b": "meta-llama/Meta-Llama-3.1-8B",
    "llama-3.1-70b": "meta-llama/Meta-Llama-3.1-70B",
    "mistral-7b-v0.3": "mistralai/Mistral-7B-Instruct-v0.3",
    "qwen2.5-0.5b": "Qwen/Qwen2.5-0.5B-Instruct",
    "qwen2.5-1.5b": "Qwen/Qwen2.5-1.5B-Instruct",
    "qwen2.5-7b": "Qwen/Qwen2.5-7B-Instruct",
    "qwen2.5-32b": "Qwen/Qwen2.5-32B-Instruct",
    "qwen3-0.6b": "Qwen/Qwen3-0.6B",
    "qwen3-8b": "Qwen/Qwen3-8B",
    "qwen3-32b": "Qwen/Qwen3-32B",
}


@cache
def lines() -> tuple[dict[str, Any], ...]:
    return tuple(json.loads(line) for line in LINES.read_text("utf-8").splitlines())


def answer(line: dict[str, Any]) -> dict[str, Any]:
    arguments = line.get("args") or {"max_model_len": -1, "max_num_seqs": 256, "max_num_batched_tokens": 8192}
    case = {"model": CATALOG[line["model"]], "gpu": "H200", "vllm_version": line["vllm"], "given_kv_gib": line["available_gib"]}
    return answer_of({**case, **arguments})


@pytest.mark.parametrize("model", CATALOG)
def test_parameter_bytes_equal_those_of_the_model_that_vllm_builds(model: str) -> None:
    expected = {line["param_bytes"] for line in lines() if line["kind"] == "model" and line["model"] == model}
    facts = model_facts(CATALOG[model])
    assert facts is not None
    assert {rank_weights(facts, Shard()).param_bytes} == expected


@pytest.mark.parametrize("model", CATALOG)
def test_blocks_tokens_and_concurrency_equal_those_of_vllm(model: str) -> None:
    for line in lines():
        if line.get("model") != model or line["kind"] not in ("kv", "autofit") or line.get("ok") is False:
            continue
        own = answer(line)
        assert own["num_blocks"] == line["num_blocks"]
        assert abs(own["kv_tokens"]["likely"] - line["kv_tokens"]) <= 1
        assert own["max_concurrency"]["likely"] == pytest.approx(line["max_concurrency"], abs=1e-3)
        assert own["block_size"] == line["block_size"]
        assert own["max_model_len"] == line["max_model_len"]
        assert line["kind"] == "autofit" or own["verdict"] == "fits"


@pytest.mark.parametrize("model", CATALOG)
def test_refusals_carry_the_figures_of_vllms_own_message(model: str) -> None:
    for line in lines():
        if line.get("model") != model or line.get("ok") is not False:
            continue
        message = re.search(r"\(([\d.]+) GiB KV cache is needed.*length is (\d+)", line["error"])
        own = answer(line)
        assert own["verdict"] == "does_not_fit"
        assert message is not None
        assert own["kv_needed_gib"] == pytest.approx(float(message.group(1)), abs=0.0051)
        assert own["longest_model_len"] == int(message.group(2))
