"""The one builder of the planner's question: what it follows, what it names, what it leaves open."""

import json
from pathlib import Path
from typing import Any

import pytest

from interlock.cli.check.config import read_config
from interlock.cli.stackfile import read_stack
from interlock.infra.catalog.vllm_flags import flag_facts
from interlock.infra.errors import ConfigError
from interlock.infra.facts import Fact, known, unknown
from interlock.infra.preview import preview
from interlock.infra.sizing import SizingRequest
from interlock.infra.sizing.ask import Card, Model, Question, ask
from interlock.infra.sizing.follows import DECISIVE, FOLLOWED, JOINED, NAMED
from tests.support import TODAY, config_data

QWEN = Model("Qwen/Qwen2.5-7B-Instruct")
OWN = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "num_hidden_layers": 40,
    "hidden_size": 5120,
    "num_attention_heads": 40,
    "num_key_value_heads": 40,
    "intermediate_size": 13824,
    "vocab_size": 32000,
    "max_position_embeddings": 4096,
    "torch_dtype": "bfloat16",
}


def asked(model: Model = QWEN, env: dict[str, Fact[str]] | None = None, **flags: Any) -> Question:
    written = {name.replace("_", "-"): value if isinstance(value, Fact) else known(str(value)) for name, value in flags.items()}
    return ask(written, env or {}, model, Card("h100"), "0.33.0")


@pytest.mark.parametrize("name", sorted({*FOLLOWED, *JOINED, *DECISIVE, *NAMED}))
def test_every_argument_that_the_planner_speaks_of_is_one_of_vllm(name: str) -> None:
    assert flag_facts(f"--{name}") is not None


@pytest.mark.parametrize(
    ("flags", "field", "value"),
    [
        ({"prefill_context_parallel_size": 2}, "pcp", 2),
        ({"max_model_len": "32k"}, "max_model_len", 32_000),
        ({"max_model_len": "auto"}, "max_model_len", -1),
        ({"cpu_offload_gb": 4}, "cpu_offload_gb", 4.0),
        ({"enable_lora": "true", "max_loras": 4, "max_lora_rank": 64}, "max_lora_rank", 64),
        ({"enable_lora": "true"}, "max_loras", 1),
        ({"max_loras": 4}, "max_loras", 0),
        ({"runner": "pooling"}, "convert", "embed"),
        ({"spec_method": "ngram", "spec_tokens": 3}, "speculative_tokens", 3),
        ({"speculative_config": '{"model": "x/eagle3-head", "num_speculative_tokens": 2}'}, "speculative_method", "eagle3"),
        ({"rope_scaling": '{"rope_type": "yarn"}'}, "hf_overrides", {"rope_scaling": {"rope_type": "yarn"}}),
        ({"enable_chunked_prefill": "false"}, "chunked_prefill", False),
    ],
)
def test_an_argument_reaches_the_request(flags: dict[str, Any], field: str, value: Any) -> None:
    assert getattr(asked(**flags).request, field) == value


def test_a_tower_is_dropped_only_when_no_input_of_it_is_allowed() -> None:
    vision = Model("Qwen/Qwen2.5-VL-7B-Instruct")
    assert asked(vision, limit_mm_per_prompt='{"image": 0, "video": 0}').request.language_model_only
    assert not asked(vision, limit_mm_per_prompt='{"image": 0}').request.language_model_only
    assert asked(vision, limit_mm_per_prompt="image=0,video=0").request.language_model_only


def test_the_environment_counts() -> None:
    allowed = asked(env={"VLLM_ALLOW_LONG_MAX_MODEL_LEN": known("1")}, max_model_len=65_536)
    assert allowed.request.allow_long


def test_what_cannot_be_read_is_open_and_never_guessed() -> None:
    found = asked(max_model_len=unknown("args[1]", "templated"), block_size="many")
    assert "templated" in found.open["max_model_len"]
    assert "is not an integer" in found.open["block_size"] or "could not convert" in found.open["block_size"]
    assert ask({}, {}, QWEN, Card("h100"), complete=False).open.keys() >= {"tp", "max_model_len"}


def test_what_is_not_followed_is_named() -> None:
    named = asked(foo_bar=3, kv_transfer_config="{}", port=8000, load_format="safetensors").request.ignored
    assert named == (
        "--foo-bar is not an argument of vLLM: it is not followed",
        "--kv-transfer-config is not followed: it may change the memory that the engine takes",
    )


def test_a_value_out_of_range_is_open() -> None:
    found = asked(gpu_memory_utilization=7)
    assert found.open == {"gpu_memory_utilization": "'7.0' is out of range"}
    assert found.request.gpu_memory_utilization is None


def test_the_request_of_nothing_is_valid() -> None:
    assert ask({}, {}, Model(), Card()).request == SizingRequest()


def stack(folder: Path, changes: dict[str, Any]) -> Path:
    file = folder / "stack.yaml"
    file.write_text(json.dumps(config_data(changes)))
    return file


def test_a_model_of_ones_own_is_planned_from_its_config_beside_the_stack(tmp_path: Path) -> None:
    (tmp_path / "own.json").write_text(json.dumps(OWN))
    read = read_stack(None, stack(tmp_path, {"servers[0].model": {"id": "acme/chat-13b", "config": "own.json"}, "servers[0].engine": {}}))
    made = preview(read.config, "dev", today=TODAY)
    assert made.servers[0].why["GPU_memory"].told.startswith("fits: ")
    longer = {"servers[0].model": {"id": "acme/chat-13b", "config": "own.json"}, "servers[0].engine": {"max_model_len": 8192}}
    refused = preview(read_stack(None, stack(tmp_path, longer)).config, "dev", today=TODAY).refused
    assert [each.path for each in refused] == ["servers[0].engine.max_model_len"]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"pools[0].gpu": "h10O-80gb-smx"}, "pools[0].gpu: 'h10O-80gb-smx' is not a GPU of the catalog (near: H100 80GB SXM"),
        ({"servers[0].model": {"id": "Qwen/Qwen2.5-7B-Instuct"}}, "(near: Qwen/Qwen2.5-7B-Instruct"),
        ({"servers[0].model": {"id": "a/b", "config": "nowhere.json"}}, "servers[0].model.config: 'nowhere.json' cannot be read"),
    ],
)
def test_a_name_that_nobody_knows_is_an_error_with_the_nearest(tmp_path: Path, changes: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_stack(None, stack(tmp_path, changes))
    assert words in str(caught.value)


@pytest.mark.parametrize(
    "changes",
    [
        {"pools[0].gpu": "b300-custom", "pools[0].gpu_memory": "250Gi"},
        {"servers[0].model": {"id": "a/b", "weights_gib": 20}},
        {"servers[0].model": {"id": "a/b-70b", "unsized": "measured by hand"}},
    ],
    ids=["memory", "weights", "reason"],
)
def test_an_unknown_name_is_accepted_with_what_stands_in_for_it_and_the_plan_does_not_scold_itself(changes: dict[str, Any]) -> None:
    from interlock.infra.config import load

    assert not preview(load(config_data(changes)), "dev", today=TODAY).refused


def test_check_takes_the_config_of_a_model_that_the_catalog_does_not_know(tmp_path: Path) -> None:
    (tmp_path / "own.json").write_text(json.dumps(OWN))
    (tmp_path / ".interlock.yaml").write_text("models:\n  acme/chat-13b: own.json\n")
    assert read_config(tmp_path / ".interlock.yaml").models == {"acme/chat-13b": OWN}
    (tmp_path / ".interlock.yaml").write_text("models:\n  acme/chat-13b: other.json\n")
    with pytest.raises(ConfigError, match=r"models\.acme/chat-13b: 'other.json' cannot be read"):
        read_config(tmp_path / ".interlock.yaml")
