"""Wishes that a model cannot meet are refused by name; the same wishes of a model that can are met."""

from typing import Any

import pytest

from interlock.infra.config import load
from interlock.infra.errors import ConfigError
from interlock.infra.plan.plan import plan
from interlock.infra.plan.types import ClusterPlan

TEXT, SEES, HEARS, VECTORS = "Qwen/Qwen2.5-7B-Instruct", "Qwen/Qwen2.5-VL-7B-Instruct", "openai/whisper-large-v3", "BAAI/bge-m3"
SHAPES = {"hidden_size": 2048, "num_hidden_layers": 24, "vocab_size": 32000, "num_attention_heads": 16, "num_key_value_heads": 8}
OMNI = {"architectures": ["Qwen2_5OmniModel"], "model_type": "qwen2_5_omni", "vision_config": {"depth": 2}, "audio_config": {}, **SHAPES}


def planned(model: str, *, engine: dict[str, Any] | None = None, config: dict[str, Any] | None = None, **wishes: Any) -> ClusterPlan:
    server = {"name": "s", "model": {"id": model, "config": config}, "pool": "h", "wishes": wishes, "engine": engine or {}}
    pools = [{"name": "h", "gpu": "h100", "nodes": 1, "gpus_per_node": 8}]
    return plan(load({"target": {"context": "c"}, "namespace": "n", "pools": pools, "servers": [server]}), "s")


@pytest.mark.parametrize(
    ("model", "wishes", "engine", "told"),
    [
        (TEXT, {"images": 3}, {}, "wishes.images: 3, but Qwen2ForCausalLM reads text alone"),
        (HEARS, {"images": 1}, {}, "wishes.images: 1, but WhisperForConditionalGeneration reads text and audio"),
        (SEES, {"images": 3}, {"limit_mm_per_prompt": {"image": 1}}, "wishes.images: 3, but engine.limit_mm_per_prompt allows 1"),
        (SEES, {"images": 3}, {"language_model_only": True}, "wishes.images: 3, but engine.language_model_only"),
        (TEXT, {"task": "transcribe"}, {}, "wishes.task: transcribe, but Qwen2ForCausalLM"),
        (SEES, {"task": "transcribe"}, {}, "reads text and image, video"),
        (VECTORS, {"task": "chat"}, {}, "wishes.task: chat, but XLMRobertaModel answers with vectors"),
    ],
)
def test_a_wish_that_the_model_cannot_meet_is_refused_with_its_field(
    model: str, wishes: dict[str, Any], engine: dict[str, Any], told: str
) -> None:
    with pytest.raises(ConfigError, match="servers\\[0\\]") as refused:
        planned(model, engine=engine, **wishes)
    assert told in str(refused.value)


@pytest.mark.parametrize(
    ("model", "wishes", "engine", "decided"),
    [
        (TEXT, {"images": 0, "task": "code"}, {}, {}),
        (SEES, {"images": 3}, {}, {"limit_mm_per_prompt": {"image": 3}}),
        (SEES, {"images": 0}, {}, {"language_model_only": True}),
        (SEES, {"images": 2}, {"limit_mm_per_prompt": {"image": 4}}, {"limit_mm_per_prompt": {"image": 4}}),
        (HEARS, {"task": "transcribe"}, {}, {}),
        (VECTORS, {"task": "embed"}, {}, {"runner": "pooling"}),
        (TEXT, {"task": "embed"}, {}, {"runner": "pooling", "convert": "embed"}),
    ],
)
def test_a_wish_that_the_model_can_meet_is_met(model: str, wishes: dict[str, Any], engine: dict[str, Any], decided: dict[str, Any]) -> None:
    (server,) = planned(model, engine=engine, **wishes).servers
    stated = server.args.engine.stated()
    assert {
        name: stated.get(name) for name in ("limit_mm_per_prompt", "language_model_only", "runner", "convert") if name in stated
    } == decided


def test_no_images_of_a_model_that_hears_leave_its_sound_alone() -> None:
    (server,) = planned("some/omni", config=OMNI, images=0).servers
    assert server.args.engine.stated()["limit_mm_per_prompt"] == {"image": 0, "video": 0}


def test_images_of_a_model_that_nobody_knows_set_nothing_and_say_so() -> None:
    own = {"architectures": ["OwnForCausalLM"], "model_type": "own", **SHAPES}
    (server,) = planned("some/unknown", config=own, images=2).servers
    assert "limit_mm_per_prompt" not in server.args.engine.stated()
    assert "whether the model sees is not known" in server.why["limit_mm_per_prompt"].reason


def test_one_answer_tells_whether_a_wished_load_is_held() -> None:
    (server,) = planned(TEXT, concurrent=5000, longest_prompt=8000, longest_answer=1000).servers
    assert "surely holds" in server.why["load"].reason
    assert "surely holds" not in server.why["max_num_seqs"].reason


def test_what_no_number_of_cards_mends_takes_no_more_of_them() -> None:
    (server,) = planned(TEXT, longest_prompt=60_000, longest_answer=2_000).servers
    assert server.gpus == 1
    assert "no size helps: max_model_len 62000 is longer than the 32768 positions" in server.why["tensor_parallel_size"].reason
