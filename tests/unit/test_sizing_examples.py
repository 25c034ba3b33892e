"""What people type, line by line (tests/data/size.jsonl): names, words, cards, versions, cache types, drafts, pipelines."""

import json
from pathlib import Path
from typing import Any

import pytest

from interlock.cli.size_lines import answer_of

LINES = [json.loads(line) for line in (Path(__file__).parents[1] / "data/size.jsonl").read_text("utf-8").splitlines()]
ABOUT = ("expect", "now", "why", "source", "truth")
# Model cards give the override alone; the code of 0.30 and later compares the length with the positions that the config states.
SOURCE_SAYS = {"yarn-by-hf-overrides": "unsure"}


def within(found: Any, wanted: Any) -> bool:
    if isinstance(wanted, dict):
        return all(within(found[end], bounds) for end, bounds in wanted.items())
    return bool(wanted[0] <= found <= wanted[1]) if isinstance(wanted, list) else bool(found == wanted)


@pytest.mark.parametrize("line", LINES, ids=lambda line: line["id"])
def test_what_people_type_is_understood(line: dict[str, Any]) -> None:
    answer, expected = answer_of({name: value for name, value in line.items() if name not in ABOUT}), line["expect"]
    assert answer["verdict"] == SOURCE_SAYS.get(line["id"], expected.get("verdict", answer["verdict"])), answer["reasons"]
    for name, wanted in expected.items():
        if name not in ("verdict", "reasons", "unknown"):
            assert within(answer[name], wanted), (name, answer[name])


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("kv-cache-type-that-is-not-known", ["kv_cache_dtype"]),
        ("version-of-a-source-build", ["0.1.dev20500"]),
        ("version-with-a-letter", ["0.3x"]),
        ("unknown-argument-is-named", ["foo_bar", "limit_mm_per_prompt"]),
    ],
)
def test_what_is_not_understood_is_named(name: str, words: list[str]) -> None:
    line = next(each for each in LINES if each["id"] == name)
    unknown = answer_of({key: value for key, value in line.items() if key not in ABOUT})["unknown"]
    assert all(any(word in text for text in unknown) for word in words), unknown


def test_an_encoder_says_that_it_keeps_no_cache() -> None:
    assert answer_of({"model": "BAAI/bge-m3", "gpu": "L4"})["reasons"][0].startswith("no KV cache needed")


def test_fits_is_told_as_requests_at_the_same_time() -> None:
    case = {"model": "Qwen/Qwen3-8B", "gpu": "H100", "max_model_len": 16384, "vllm_version": "0.33.0"}
    reason = answer_of(case)["reasons"][0]
    assert reason.endswith("concurrent requests of 16,384 tokens (2.25 GiB each)")
    assert " GiB KV cache = " in reason


def test_of_two_lengths_the_sure_one_comes_first_and_the_likely_one_beside_it() -> None:
    answer = answer_of({"model": "Qwen/Qwen3-8B", "gpu": "L4", "max_model_len": 24576, "vllm_version": "0.33.0"})
    assert answer["verdict"] == "unsure"
    assert f"{answer['longest_model_len']:,} tokens surely fit" in answer["reasons"][0]
    assert answer["kv_tokens"]["likely"] > answer["longest_model_len"]
