"""Entries of one family agree, or say why; verified entries are what was read; aliases take no length from another repository."""

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any

import pytest

from interlock.infra.catalog import models
from interlock.infra.catalog.tables import table
from interlock.infra.sizing import model_facts

MODELS: Mapping[str, Any] = table("models.json")["models"]
ALIASES: Mapping[str, Any] = table("models.json")["aliases"]
# Words of names that tell base, instruct and quantized repositories of one model apart.
SISTER = re.compile(
    r"-(instruct|it|chat|base|hf|fp8|nvfp4|awq|thinking|block|static|pertensor|dynamic|int4|gptq|fp4|\d{4}|preview)(?=-|$)", re.IGNORECASE
)
# Sisters that differ, and why.
EXPLAINED = {
    "qwen2.5-7b": "the Instruct model keeps 32,768 positions, the base model was trained to 131,072",
    "qwen2.5-14b": "as the 7B",
    "qwen2.5-32b": "as the 7B",
    "qwen2.5-72b": "as the 7B",
    "qwen3-235b-a22b": "the releases of July 2025 have 262,144 positions",
    "qwen3-30b-a3b": "the releases of July 2025 have 262,144 positions",
    "qwen3-4b": "the releases of July 2025 have 262,144 positions",
    "minimax-m2.7": "the quantized repository states 196,608 positions, its base 204,800",
    "kimi-k2": "the releases from September 2025 on have 262,144 positions",
    "deepseek-v4-flash": "conversions by others state other types of experts",
    "deepseek-v4-pro": "conversions by others state other types of experts",
}


def sister(name: str) -> str:
    plain, shorter = name.rsplit("/", 1)[-1].lower().removeprefix("meta-"), ""
    while shorter != plain:
        plain, shorter = SISTER.sub("", plain, count=1), plain
    return plain


def groups() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name in (*MODELS, *ALIASES):
        found.setdefault(sister(name), []).append(name)
    return {key: members for key, members in found.items() if len(members) > 1}


def shape(name: str) -> tuple[object, ...]:
    facts = model_facts(name)
    assert facts is not None
    return (
        facts.hidden_size,
        facts.layers,
        facts.attention_heads,
        facts.kv_heads,
        facts.intermediate_size,
        facts.experts,
        facts.max_position,
    )


@pytest.mark.parametrize("key", groups())
def test_sister_entries_agree_or_say_why(key: str) -> None:
    shapes = {name: shape(name) for name in groups()[key]}
    assert (len(set(shapes.values())) == 1) != (key in EXPLAINED), shapes


def test_every_explanation_is_needed() -> None:
    assert set(EXPLAINED) <= set(groups())


def test_sisters_of_llama_2_are_float16() -> None:
    for name in ("meta-llama/Llama-2-7b-hf", "meta-llama/Llama-2-13b-hf", "meta-llama/Llama-2-70b-hf", "meta-llama/Llama-2-7b-chat-hf"):
        facts = model_facts(name)
        assert facts is not None
        assert (facts.dtype, facts.max_position) == ("float16", 4096)


@pytest.mark.parametrize("name", [name for name, row in MODELS.items() if row["verified"]])
def test_a_verified_entry_holds_the_config_and_the_address_of_its_copy(name: str) -> None:
    row = MODELS[name]
    assert re.fullmatch(r"github:[\w.-]+/[\w.-]+@[0-9a-f]{12} [\w./-]+config\.json", row["source"]), row["source"]
    text = json.dumps(row["config"], sort_keys=True)
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == row["digest"], "read the repository's config.json again, then state its digest"


def test_what_else_proves_a_field_is_named() -> None:
    for name, row in (*MODELS.items(), *ALIASES.items()):
        assert not row.get("proven") or row["source"], name
        assert not (row.get("verified") and row.get("proven")), name
        assert "memory" not in row["source"] if len(row.get("proven", ())) > 6 else True, name


def test_presets_and_memories_are_not_verified() -> None:
    wrong = [
        name
        for name, row in MODELS.items()
        if row["verified"] and re.search(r"memory|model_preset\.py|hf_model_configs|defaults", row["source"])
    ]
    assert wrong == []


def test_an_alias_takes_no_length_from_another_repository() -> None:
    for name, alias in ALIASES.items():
        found = models.entry(name)
        assert found is not None
        stored = alias.get("quantization") and name.split("/")[0] == alias["model"].split("/")[0]
        assert not found.exact_length or stored or "max_position_embeddings" in alias["config"], name


def test_every_listed_model_can_be_judged() -> None:
    for name in (*MODELS, *ALIASES):
        facts = model_facts(name)
        assert facts is not None
        assert facts.complete, name
        assert facts.sizes_cache, name


@pytest.mark.parametrize(
    "name",
    [
        *(
            "facebook/opt-125m",
            "Qwen/Qwen3-0.6B",
            "Qwen/Qwen2.5-0.5B-Instruct",
            "HuggingFaceTB/SmolLM2-135M-Instruct",
            "HuggingFaceTB/SmolLM3-3B",
        ),
        *("openai/whisper-large-v3", "microsoft/Phi-4-multimodal-instruct", "BAAI/bge-reranker-v2-m3", "Qwen/Qwen3-Reranker-0.6B"),
        *("google/gemma-2b-it", "codellama/CodeLlama-7b-hf", "ibm-granite/granite-3.1-2b-instruct", "openai-community/gpt2"),
        *("meta-llama/Llama-3.2-1B-Instruct", "TinyLlama/TinyLlama-1.1B-Chat-v1.0", "intfloat/e5-mistral-7b-instruct"),
    ],
)
def test_the_models_of_vllms_own_examples_are_there(name: str) -> None:
    assert models.find(name) is not None
