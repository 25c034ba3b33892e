"""A new family is one row: what a person who follows docs/add-a-family.md sees."""

from collections.abc import Iterator
from typing import Any

import pytest

from interlock.infra.catalog import architectures
from interlock.infra.catalog.tables import table
from interlock.infra.sizing import SizingRequest, SizingResult, Verdict, size
from interlock.infra.sizing.model import families

CONFIG = {
    "architectures": ["MapletreeForCausalLM"],
    "model_type": "mapletree",
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "vocab_size": 128256,
    "max_position_embeddings": 131072,
    "torch_dtype": "bfloat16",
    "tie_word_embeddings": False,
}
LLAMA = {**CONFIG, "architectures": ["LlamaForCausalLM"], "model_type": "llama"}
KEPT = (families.row, families.family, families._of_version, architectures.known)


def asked(config: dict[str, Any], name: str) -> SizingResult:
    """``name`` tells the questions apart: what is derived from a config is kept under both."""
    return size(SizingRequest(config=config, model=name, gpu="H100", max_model_len=8192), suggest=False)


@pytest.fixture
def mapletree(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    row = {"known": "read", "serves": ["MapletreeForCausalLM"], "qk_norm": "head", "keeps": False, "exact": True}
    monkeypatch.setitem(table("families.json")["families"], "mapletree", row)
    for kept in KEPT:
        kept.cache_clear()
    yield
    monkeypatch.undo()
    for kept in KEPT:
        kept.cache_clear()


def test_without_a_row_the_answer_is_unsure_and_names_model_type_and_architecture() -> None:
    found = asked(CONFIG, "without")
    assert found.verdict is Verdict.UNSURE
    assert any("MapletreeForCausalLM" in reason for reason in found.reasons)
    assert any("model type mapletree" in reason for reason in found.reasons)


@pytest.mark.usefixtures("mapletree")
def test_one_row_makes_the_family_known_with_its_own_tensors() -> None:
    found, usual = asked(CONFIG, "with"), asked(LLAMA, "llama")
    assert found.verdict is usual.verdict is Verdict.FITS
    assert found.param_bytes is not None
    assert usual.param_bytes is not None
    layers, norms, width, two_bytes = 32, 2, 128, 2
    assert found.param_bytes - usual.param_bytes == layers * norms * width * two_bytes
    assert found.activation_gib == usual.activation_gib
    assert not any("mapletree" in note.lower() for note in found.unknown)
