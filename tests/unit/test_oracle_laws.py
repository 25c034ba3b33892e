"""The laws that vLLM's own planning answers (tests/engine/oracle.jsonl) obey, recomputed over every line of the file."""

import json
import math
import re
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tools.oracle import catalog

GIB = 1 << 30
FILE = Path(__file__).parents[1] / "engine" / "oracle.jsonl"
Line = dict[str, Any]
# Its cache is packed by compressed and uncompressed layers; no law is claimed for it.
LOCAL = ("SlidingWindowSpec", "ChunkedLocalAttentionSpec")
SHARED = ("groups", "layer_pages", "groups_by_pp_rank")
WITHOUT_LAW = ("deepseek-v4-flash",)


@cache
def lines() -> tuple[Line, ...]:
    """All lines; a plan's groups and pages are written once per question, with its first memory."""
    found: list[Line] = []
    for text in FILE.read_text("utf-8").splitlines():
        line = json.loads(text)
        if line.get("ok") and found:
            line = {name: found[-1][name] for name in SHARED if name in found[-1] and name not in line} | line
        found.append(line)
    return tuple(line for line in found if line["model"] not in WITHOUT_LAW and line["kind"] != "unanswered")


def started() -> list[Line]:
    return [line for line in lines() if line["kind"] in ("kv", "autofit") and line["ok"] and line["groups"]]


def where(line: Line) -> tuple[Any, ...]:
    return line["vllm"], line["model"], line["tp"], line["pp"], line["args"], line.get("available_gib")


def version(line: Line) -> tuple[int, ...]:
    return tuple(int(x) for x in line["vllm"].split(".")[:2])


def bytes_per_block(groups: list[Line], pages: list[Line]) -> int:
    """One block id costs the largest group; a single group whose layers differ (MLA with an indexer) the sum of its layers' pages."""
    if len(groups) == 1:  # a window that is charged as full attention gets the block size of full attention
        size = groups[0]["block_size"]
        return sum(int(p["layers"] * p["page_size_bytes"] * (size / p["block_size"] if p["spec"] in LOCAL else 1)) for p in pages)
    return max(int(g["layers"] * g["page_size_bytes"]) for g in groups)


def cost_of(group: Line) -> int:
    """Bytes of one block id in a group; a group of differing layers names the sum itself."""
    page = int(group["page_size_bytes"])
    return page if group["spec"] == "UniformTypeKVCacheSpecs" else int(group["layers"]) * page


@cache
def runners() -> dict[tuple[Any, ...], str]:
    return {setup(line): line["runner"] for line in lines() if line["kind"] in ("model", "spec")}


def setup(line: Line) -> tuple[Any, ...]:
    return line["vllm"], line["model"], line["pp"], json.dumps(line["args"].get("speculative_config"))


def steps_in_flight(line: Line) -> int:
    """Steps whose tokens a window must hold at once: one more than the pipeline is deep when scheduling runs ahead."""
    ngram = (line["args"].get("speculative_config") or {}).get("method") == "ngram"
    plain = runners().get((*setup(line)[:3], "null"), "v1")
    runner = runners().get(setup(line), "v1" if ngram and version(line) < (0, 33) else plain)
    stated = line["args"].get("async_scheduling")
    wanted = stated is not False and (stated or catalog.models()[line["model"]].arguments.get("runner") != "pooling")
    return int(line["pp"]) + int(wanted and (runner == "v2" or (line["pp"] == 1 and not ngram)))


def blocks_of_one_request(line: Line) -> int:
    length: int = line["max_model_len"]
    inflight: int = steps_in_flight(line) * line["args"]["max_num_batched_tokens"]
    return sum(blocks_in_group(line, group, length, inflight) for group in line["groups"])


def blocks_in_group(line: Line, group: Line, length: int, inflight: int) -> int:
    size: int = group["block_size"]
    if group["spec"] == "MambaSpec":
        if line.get("mamba_cache_mode") == "all":
            return math.ceil(length / size) + int(group.get("num_speculative_blocks", 0))
        running = 2 if line.get("mamba_cache_mode") == "align" else 1
        checkpoint = group.get("num_prefill_checkpoint_blocks", 0) if running == 2 else 0
        return int(group.get("num_speculative_blocks", 0) + running + checkpoint)
    if group["spec"] == "SlidingWindowSpec":
        window: int = group["sliding_window"]
        return math.ceil(min(window - 1 + inflight, length) / size) + 1
    if group["spec"] == "CrossAttentionSpec":
        tokens: int = line["args"]["max_num_batched_tokens"]
        return math.ceil(tokens / size)
    if group["spec"] == "ChunkedLocalAttentionSpec":
        chunk: int = group["attention_chunk_size"]
        return math.ceil(min(chunk + inflight, length) / size)
    ranks: int = line["args"].get("decode_context_parallel_size", 1)
    return math.ceil(length / (size * ranks))


def test_every_family_and_version_is_asked() -> None:
    models = Counter(version for version, _ in {(line["vllm"], line["model"]) for line in lines()})
    assert set(models) == {"0.26.0", "0.29.0", "0.33.0"}
    assert min(models.values()) >= 40
    specs = {group["spec"] for line in started() for group in line["groups"]}
    assert {"FullAttentionSpec", "MLAAttentionSpec", "SlidingWindowSpec", "ChunkedLocalAttentionSpec", "MambaSpec"} <= specs


def test_blocks_are_the_given_memory_divided_by_what_a_block_costs() -> None:
    for line in started():
        if line["pp"] == 1:
            cost = bytes_per_block(line["groups"], line["layer_pages"])
            assert line["num_blocks"] == int(line["available_gib"] * GIB) // cost, where(line)
            assert line["tensor_bytes"] == line["num_blocks"] * cost, where(line)


def test_a_pipeline_has_the_blocks_of_its_poorest_rank() -> None:
    for line in started():
        if line["pp"] > 1 and len({page["page_size_bytes"] for page in line["layer_pages"]}) == 1:
            costs = [max(map(cost_of, groups)) for groups in line["groups_by_pp_rank"] if groups]
            assert line["num_blocks"] == min(int(line["available_gib"] * GIB) // cost for cost in costs), where(line)


def test_concurrency_is_blocks_over_the_blocks_of_one_request() -> None:
    for line in started():
        assert line["num_blocks"] / blocks_of_one_request(line) == pytest.approx(line["max_concurrency"], abs=1e-6), where(line)


def test_it_starts_when_one_request_fits_and_from_0_29_one_block_more() -> None:
    for line in started():
        assert line["num_blocks"] >= blocks_of_one_request(line) + (version(line) >= (0, 29)), where(line)


def test_tokens_are_concurrency_times_length_or_all_blocks_within_one_token() -> None:
    for line in started():
        by_length = int(line["max_concurrency"] * line["max_model_len"])
        by_blocks = line["num_blocks"] * line["groups"][0]["block_size"]
        assert abs(by_length - line["kv_tokens"]) <= 1 or line["kv_tokens"] == by_blocks, where(line)


def test_a_refusal_prints_what_one_request_needs_and_the_length_that_would_fit() -> None:
    plain = ("FullAttentionSpec", "MLAAttentionSpec")
    shape = {
        json.dumps([*setup(line), line["tp"], line["args"]]): line
        for line in started()
        if line["kind"] == "kv" and line["pp"] == 1 and [group["spec"] in plain for group in line["groups"]] == [True]
    }
    seen = 0
    for line in lines():
        like = shape.get(json.dumps([*setup(line), line["tp"], line["args"]]))
        if line["kind"] != "kv" or line["ok"] or like is None:
            continue
        cost = bytes_per_block(like["groups"], like["layer_pages"])
        size = like["groups"][0]["block_size"] * line["args"].get("decode_context_parallel_size", 1)
        held = int(version(line) >= (0, 29))
        found = re.search(r"\(([\d.]+) GiB KV cache is needed.*length is (\d+)\.", line["error"], re.DOTALL)
        if found is None and "length is" not in line["error"]:
            continue  # not even one token fits: no length is named
        assert found is not None, where(line)
        assert float(found[1]) == pytest.approx(math.ceil(line["args"]["max_model_len"] / size) * cost / GIB, abs=0.0051), where(line)
        assert int(found[2]) == (int(line["available_gib"] * GIB) // cost - held) * size, where(line)
        seen += 1
    assert seen > 0
