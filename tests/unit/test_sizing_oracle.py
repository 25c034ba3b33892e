"""The planner against tests/engine/oracle.jsonl: what vLLM's own planning code answered (tools/oracle). No line may differ."""

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from interlock.cli.size_lines import answer_of, request_of
from interlock.infra.plan.derive.parallel import tp_candidates
from interlock.infra.sizing.settings import resolve
from interlock.infra.sizing.weights.drafts import draft_bytes
from interlock.infra.sizing.weights.ledger import Shard
from interlock.infra.sizing.weights.rank import rank_weights
from interlock.infra.values import Version
from tools.oracle import catalog, questions
from tools.oracle.__main__ import VERSIONS

ORACLE = Path(__file__).parents[1] / "engine" / "oracle.jsonl"
NEEDED = re.compile(r"\(([\d.]+) GiB KV cache is needed(?:.*?length is (\d+))?", re.DOTALL)
# The planner's GPU in every question (tools/oracle/fake_gpu.py).
GPU = "H200"
# What a draft does not share with its target, besides its layers.
OWN_PARTS = {"eagle3": ("lm_head",), "draft_model": ("embed_tokens", "lm_head")}
# What the engine refuses with. Other errors are of the oracle's machine: no image processors, values read from tensors that hold none,
# another transformers; as are words about missing modules and tokenizers (an encoder is then as long as its table of positions).
# (TP, PP, sequences) of the five questions drawn about qwen3-4b.
QWEN_DRAWS = [(8, 1, 1024), (3, 1, 64), (3, 1, 256), (1, 1, 16), (6, 1, 256)]
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
    yield "block size", answer["block_size"], line["block_size"]
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
    version, tp = Version.find(line["vllm"]), line["tp"]
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


@pytest.mark.skipif(not ORACLE.exists(), reason="tests/engine/oracle.jsonl is not there: make oracle")
def test_every_question_of_the_catalog_is_answered_in_the_file() -> None:
    for name, model in catalog.models().items():
        asked = {question.key for question in questions.of(model)} if model.family != "draft" else set()
        for version in model.versions:
            answered = {questions.key(line["args"], line["tp"], line["pp"]) for line in groups().get((version, name), ())}
            assert asked == answered, (version, name)


def test_draws_are_the_same_on_every_machine() -> None:
    drawn = list(questions.of(catalog.models()["qwen3-4b"]))[-5:]
    assert [(row.tp, row.pp, row.arguments["max_num_seqs"]) for row in drawn] == QWEN_DRAWS
    assert set(VERSIONS) >= set(catalog.models()["qwen3-4b"].versions)


def test_groups_are_written_once_per_question() -> None:
    model = catalog.models()["llama-2-7b"]
    question = next(iter(questions.of(model)))
    line = {"vllm": "0", "kind": "kv", "model": model.name, "args": question.arguments, "tp": question.tp, "pp": question.pp}
    texts = [json.dumps(line | {"available_gib": gib, "groups": [{"layers": 1}]}) for gib in (*question.available_gib, 77.0)]
    written = [json.loads(text) for text in questions.written(model, {question.key: texts})]
    assert ["groups" in found for found in written] == [True, *[False] * (len(question.available_gib) - 1)]


@pytest.mark.parametrize(
    ("model", "tp", "dp", "ep", "theirs"),
    [
        ("qwen3-30b-a3b", 2, 2, True, 16049401856),
        ("qwen3-30b-a3b", 2, 2, False, 16049401856),
        ("qwen3-30b-a3b", 1, 4, False, 17577701376),
        ("qwen3-30b-a3b", 1, 4, True, 17577701376),
        ("deepseek-v2-lite", 2, 4, True, 5395569664),
        ("deepseek-v2-lite", 2, 4, False, 4945730560),
        ("llama-4-scout", 2, 2, False, 60328946944),
    ],
)
def test_experts_are_cut_over_data_parallel_ranks_too(model: str, tp: int, dp: int, ep: bool, theirs: int) -> None:
    """Bytes of rank 0 as vLLM 0.33.0 built it beside `dp` - 1 others (the file has no data parallelism)."""
    case = {"config": catalog.models()[model].config, "tp": tp, "dp": dp, "ep": ep, "gpu": GPU, "given_kv_gib": 20, "max_model_len": 8192}
    assert answer_of({**case, "vllm_version": "0.33.0"})["param_bytes"] == theirs


TOO_FINE = re.compile(
    r"^(?!.*SpeculativeConfig).*attention heads \(\d+\) must be divisible by tensor"
    r"|^\d+ is not divisible by \d+$|is not divisible by weight quant|the MoE intermediate size per",
    re.DOTALL,
)
"""What vLLM says of a tensor-parallel size that the model cannot be cut into."""


def test_the_sizes_that_the_plan_may_choose_are_those_that_the_engine_took_and_none_that_it_refused() -> None:
    asked: dict[tuple[str, str, int, bool], dict[str, Any]] = {}
    for lines in groups().values():
        for line in lines:
            if line["kind"] == "model" or (line["kind"] == "refused" and TOO_FINE.search(line["error"])):
                asked[line["vllm"], line["model"], line.get("tp", 1), bool((line.get("args") or {}).get("enable_expert_parallel"))] = line
    wrong = []
    for (vllm, model, tp, spread), line in asked.items():
        request, _ = request_of(case_of(line))
        facts = resolve(request).facts if request else None
        assert facts is not None
        if (tp in tp_candidates(facts, tp, Version.find(vllm), expert_parallel=spread)) != (line["kind"] == "model"):
            wrong.append((vllm, model, tp, spread, line["kind"], line.get("error", "")[:200]))
    assert sum(line["kind"] == "refused" for line in asked.values()) > 200
    assert wrong == []
