"""The planner against tests/engine/oracle.jsonl: what vLLM's own planning code answered (tools/oracle). No line may differ."""

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from interlock.infra.catalog.vllm_defaults import parse_version
from interlock.infra.sizing.cases import answer_of, request_of
from interlock.infra.sizing.defaults import resolve
from interlock.infra.sizing.drafts import draft_bytes
from interlock.infra.sizing.ledger import Shard
from interlock.infra.sizing.weights import rank_weights
from tools.oracle import catalog

ORACLE = Path(__file__).parents[1] / "engine" / "oracle.jsonl"
NEEDED = re.compile(r"\(([\d.]+) GiB KV cache is needed(?:.*?length is (\d+))?", re.DOTALL)
# The planner's GPU in every question (tools/oracle/fake_gpu.py).
GPU = "H200"
# What a draft does not share with its target, besides its layers.
OWN_PARTS = {"eagle3": ("lm_head",), "draft_model": ("embed_tokens", "lm_head")}
# What the engine refuses with. Other errors are of the oracle's machine: no image processors, values read from tensors that hold none,
# another transformers; as are words about missing modules and tokenizers (an encoder is then as long as its table of positions).
ENGINE_ERRORS = ("ValueError", "ValidationError", "NotImplementedError", "AssertionError")
OWN_WORDS = (
    "max_model_len (8194)",
    "Can't load image processor",
    "failed to be inspected",
    "does not recognize this architecture",
    "number of available GPUs",
)


@cache
def groups() -> Mapping[tuple[str, str], list[dict[str, Any]]]:
    """The oracle's lines by version and model."""
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for text in ORACLE.read_text("utf-8").splitlines() if ORACLE.exists() else ():
        line = json.loads(text)
        found.setdefault((line["vllm"], line["model"]), []).append(line)
    return found


def case_of(line: Mapping[str, Any]) -> dict[str, Any]:
    """The question of a line, as a case of `interlock size --jsonl`."""
    models = catalog.models()
    model = models[line["model"]]
    arguments = dict(line.get("args") or {})
    speculative = arguments.get("speculative_config")
    if speculative and speculative.get("model") in models:
        arguments["draft_config"] = models[speculative["model"]].config
    return {
        **model.arguments,
        **arguments,
        "id": f"{line['vllm']} {line['model']}",
        "config": model.config,
        "vllm_version": line["vllm"],
        "gpu": GPU,
        "tp": line.get("tp", 1),
        "pp": line.get("pp", 1),
        "given_kv_gib": line.get("available_gib", 60.0),
    }


def differences(line: Mapping[str, Any]) -> Iterator[str]:
    """What the planner says differently."""
    case = case_of(line)
    asked = f"{line['kind']} tp={case['tp']} pp={case['pp']} {line.get('args')} {line.get('available_gib')}"
    for what, own, theirs in compared(line, case):
        if own != theirs:
            yield f"{asked}: {what} {own} instead of {theirs}"


def compared(line: Mapping[str, Any], case: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """(what, the planner's, the oracle's) of a line."""
    answer = answer_of(case)
    if line["kind"] == "unanswered":
        return
    if line.get("error_type", "ValueError") not in ENGINE_ERRORS or any(words in line.get("error", "") for words in OWN_WORDS):
        return
    if line["kind"] == "refused":
        yield "verdict", answer["verdict"], "does_not_fit"
    elif line["kind"] in ("model", "spec"):
        yield from tensors(line, case)
    elif line.get("ok") is False:
        found = NEEDED.search(line["error"])
        yield "verdict", answer["verdict"], "does_not_fit"
        if found and line["pp"] > 1:  # the first stage that is short is named, not the one that is shortest
            yield "enough GiB needed", answer["kv_needed_gib"] > float(found[1]) - 0.0051, True
            yield "no longer length", not found[2] or answer["longest_model_len"] <= int(found[2]), True
        elif found:
            yield "GiB needed", f"{answer['kv_needed_gib']:.2f}", f"{float(found[1]):.2f}"
            yield "longest length", answer["longest_model_len"], int(found[2] or answer["longest_model_len"])
    elif line["kind"] in ("kv", "autofit"):
        yield from laid_out(line, answer)


def laid_out(line: Mapping[str, Any], answer: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    yield "length", answer["max_model_len"], line["max_model_len"]
    yield "blocks", answer["num_blocks"], line["num_blocks"]
    if line["kind"] == "kv":
        yield "verdict", answer["verdict"], "fits"
    tokens, concurrency = answer["kv_tokens"]["likely"], answer["max_concurrency"]["likely"]
    if line["kv_tokens"] is not None and abs(tokens - line["kv_tokens"]) > 1:
        yield "tokens", tokens, line["kv_tokens"]
    if line["max_concurrency"] is not None and abs(concurrency - line["max_concurrency"]) > 1e-3:
        yield "concurrency", concurrency, line["max_concurrency"]


def tensors(line: Mapping[str, Any], case: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    request, _ = request_of(case)
    assert request is not None
    found = resolve(request)
    assert found.facts is not None
    version, tp = parse_version(line["vllm"]), line["tp"]
    assert version is not None
    stage = line.get("rank", 0) // tp
    if found.facts.quantization and set(line["param_bytes_by_dtype"]) in ({"bfloat16"}, {"float16"}):
        return  # GPTQ before 0.33 looks in the checkpoint for what is quantized, and the oracle has none
    if line["args"].get("quantization"):
        return  # quantized while loading: the parameters as built are in 16 bit, those that stay are not
    shard = Shard(tp, line["pp"], stage, found.shard.expert_ranks, version)
    yield f"bytes of stage {stage}", rank_weights(found.facts, shard, found.width).param_bytes, line["param_bytes"]
    if "draft_param_bytes_by_part" in line:
        own = draft_bytes(found.facts, request.speculative_method, found.draft, found.shard, found.width)
        parts = ("layers", *OWN_PARTS.get(request.speculative_method or "", ()))
        yield "bytes of the draft", own, sum(line["draft_param_bytes_by_part"].get(part, 0) for part in parts)


@pytest.mark.skipif(not ORACLE.exists(), reason="tests/engine/oracle.jsonl is not there: make oracle")
@pytest.mark.parametrize("key", groups(), ids=" ".join)
def test_the_planner_answers_as_the_engine_does(key: tuple[str, str]) -> None:
    wrong = [text for line in groups()[key] for text in differences(line)]
    assert not wrong, f"{len(wrong)} differences, first: {wrong[:3]}"
