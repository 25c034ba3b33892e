"""What the engine refuses before it looks at memory is refused in the plan, with the reason."""

from typing import Any

import pytest

from interlock.infra.sizing.cases import answer_of

LLAMA: dict[str, Any] = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "num_hidden_layers": 4,
    "hidden_size": 1024,
    "num_attention_heads": 16,
    "num_key_value_heads": 4,
    "intermediate_size": 2048,
    "vocab_size": 32000,
    "max_position_embeddings": 4096,
    "torch_dtype": "bfloat16",
}
ENCODER: dict[str, Any] = LLAMA | {"architectures": ["BertModel"], "model_type": "bert", "num_key_value_heads": 16}
MAMBA: dict[str, Any] = {
    "architectures": ["Mamba2ForCausalLM"],
    "model_type": "mamba2",
    "num_hidden_layers": 4,
    "hidden_size": 1024,
    "num_heads": 32,
    "head_dim": 64,
    "state_size": 128,
    "vocab_size": 32000,
}
DRAFT = {"method": "draft_model", "num_speculative_tokens": 3, "config": LLAMA | {"vocab_size": 32064}}


def answer(config: dict[str, Any], **arguments: Any) -> dict[str, Any]:
    return answer_of({"id": 1, "config": config, "gpu": "H100", **arguments})


@pytest.mark.parametrize(
    ("config", "arguments", "reason"),
    [
        (LLAMA, {"tp": 4, "dcp": 2}, "above the 4 KV heads"),
        (LLAMA, {"tp": 8, "dcp": 4}, "is above tensor parallel size 8 / 4 KV heads"),
        (LLAMA, {"tp": 8, "dcp": 3}, "not divisible by decode context parallel size"),
        (LLAMA, {"speculative_config": DRAFT}, "vocabulary of 32064"),
        (ENCODER, {"pp": 2}, "pipeline parallelism"),
        (MAMBA, {"pp": 2}, "pipeline parallelism"),
        (MAMBA, {"max_model_len": -1}, "its config does not state"),
        (ENCODER, {"max_num_batched_tokens": 2048, "max_model_len": 4096}, "at once"),
        (LLAMA, {"pp": 8}, "8 pipeline stages for 4 layers"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_it_is_refused_with_the_reason(config: dict[str, Any], arguments: dict[str, Any], reason: str) -> None:
    found = answer(config, **arguments)
    assert found["verdict"] == "does_not_fit"
    assert any(reason in text for text in found["reasons"]), found["reasons"]


@pytest.mark.parametrize(
    "arguments", [{"tp": 8, "dcp": 2}, {"speculative_config": DRAFT | {"use_heterogeneous_vocab": True}}, {"pp": 2}], ids=str
)
def test_what_the_engine_takes_is_not_refused(arguments: dict[str, Any]) -> None:
    assert answer(LLAMA, **arguments)["verdict"] == "fits"


def test_a_fork_of_the_engine_is_not_judged() -> None:
    assert answer(LLAMA, engine="V1 fork")["verdict"] == "unsure"


def test_a_pooling_model_has_no_output_head() -> None:
    generating, embedding = answer(LLAMA)["param_bytes"], answer(LLAMA, runner="pooling")["param_bytes"]
    assert generating - embedding == 32000 * 1024 * 2
    scoring = answer(LLAMA | {"num_labels": 1}, convert="classify")["param_bytes"]
    assert scoring - embedding == 1024 * 4
