"""What the engine refuses before it looks at memory is refused in the plan, with the reason."""

from typing import Any

import pytest

from interlock.cli.size_lines import answer_of
from tools.oracle import catalog

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
LATENT: dict[str, Any] = LLAMA | {
    "architectures": ["DeepseekV2ForCausalLM"],
    "model_type": "deepseek_v2",
    "kv_lora_rank": 512,
    "qk_rope_head_dim": 64,
    "qk_nope_head_dim": 128,
    "v_head_dim": 128,
    "q_lora_rank": None,
    "n_routed_experts": None,
}
WINDOWED: dict[str, Any] = LLAMA | {"architectures": ["Gemma2ForCausalLM"], "model_type": "gemma2", "head_dim": 64, "sliding_window": 512}
HYBRID: dict[str, Any] = MAMBA | {
    "architectures": ["NemotronHForCausalLM"],
    "model_type": "nemotron_h",
    "hybrid_override_pattern": "M*M*",
    "num_attention_heads": 16,
    "num_key_value_heads": 4,
    "mamba_num_heads": 32,
    "mamba_head_dim": 64,
    "ssm_state_size": 128,
    "n_groups": 3,
    "max_position_embeddings": 4096,
}
FP8 = {"quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128], "activation_scheme": "dynamic"}}
FP4 = {"quantization_config": {"quant_method": "modelopt", "quant_algo": "NVFP4", "group_size": 16}}
BITS = {"quantization_config": {"quant_method": "bitsandbytes", "load_in_4bit": True}}
REMOVED = LLAMA | {"architectures": ["GPTJaisForCausalLM", "JAISLMHeadModel"][1:], "model_type": "jais"}
PLUGIN = LLAMA | {"architectures": ["BartForConditionalGeneration"], "model_type": "bart"}
NGRAM = {"method": "ngram", "num_speculative_tokens": 3}
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
        (LLAMA, {"max_num_seqs": 512, "max_num_batched_tokens": 256}, "is below max_num_seqs"),
        (LLAMA, {"block_size": 8}, "not a multiple of the 16 tokens"),
        (LATENT, {"block_size": 8}, "not a multiple of the 16 tokens"),
        (LATENT, {"dtype": "float32"}, "no kernel for float32"),
        (LATENT, {"kv_cache_dtype": "fp8_e5m2"}, "no kernel for kv_cache_dtype fp8_e5m2"),
        (LLAMA, {"dtype": "float16", "kv_cache_dtype": "bfloat16", "vllm_version": "0.33.0"}, "is not the model's dtype"),
        (LLAMA | FP8, {"dtype": "float32"}, "not computed in float32"),
        (LLAMA | FP8, {"kv_cache_dtype": "fp8_e5m2"}, "carries scales"),
        (LLAMA | FP4 | {"intermediate_size": 2016}, {"tp": 4}, "not a multiple of the 16 inputs"),
        (LLAMA | BITS, {"vllm_version": "0.29.0"}, "not loaded since"),
        (WINDOWED, {"dtype": "float16"}, "unstable in float16"),
        (WINDOWED, {"tp": 8, "dcp": 2}, "does not support sliding windows"),
        (WINDOWED, {"disable_hybrid_kv_cache_manager": True, "block_size": 64, "vllm_version": "0.26.0"}, "windows in blocks of 16"),
        (HYBRID, {"disable_hybrid_kv_cache_manager": True}, "cannot share a block table"),
        (HYBRID, {"tp": 2}, "3 Mamba groups"),
        (LLAMA, {"tp": 2, "ep": True}, "names no experts"),
        (LLAMA, {"speculative_config": NGRAM, "async_scheduling": True, "vllm_version": "0.29.0"}, "not possible with ngram"),
        (LLAMA, {"tp": 8, "dcp": 2, "dtype": "float32", "vllm_version": "0.33.0"}, "a context that ranks share"),
        (REMOVED, {"vllm_version": "0.33.0"}, "was served until vLLM"),
        (PLUGIN, {}, "plug-in only"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_it_is_refused_with_the_reason(config: dict[str, Any], arguments: dict[str, Any], reason: str) -> None:
    found = answer(config, **arguments)
    assert found["verdict"] == "does_not_fit"
    assert any(reason in text for text in found["reasons"]), found["reasons"]


@pytest.mark.parametrize(
    "arguments",
    [
        {"tp": 8, "dcp": 2},
        {"speculative_config": DRAFT | {"use_heterogeneous_vocab": True}},
        {"pp": 2},
        {"speculative_config": NGRAM, "async_scheduling": True, "vllm_version": "0.33.0"},
        {"dtype": "float16", "kv_cache_dtype": "bfloat16", "vllm_version": "0.29.0"},
        {"dtype": "float32"},
        {"kv_cache_dtype": "fp8_e5m2"},
        {"block_size": 48},
    ],
    ids=str,
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


@pytest.mark.parametrize(
    "names",
    [
        {"architectures": ["QuasarForCausalLM"], "model_type": "quasar"},
        {"architectures": ["LlamaForCausalLM"], "model_type": "nebula_text"},
        {"architectures": ["PulsarLlamaForCausalLM"], "model_type": "llama"},
    ],
    ids=lambda names: names["architectures"][0],
)
def test_a_model_that_nobody_compared_is_unsure_and_has_no_parameter_bytes(names: dict[str, Any]) -> None:
    for found in (answer(LLAMA | names), answer(LLAMA | names, given_kv_gib=20.0)):
        assert found["verdict"] == "unsure"
        assert found["param_bytes"] is None
        assert any("read as a usual decoder" in text for text in found["unknown"])


def test_unknown_towers_leave_the_cache_exact_and_the_weights_open() -> None:
    config = {"architectures": ["LlavaForConditionalGeneration"], "model_type": "strange_vl", "text_config": LLAMA}
    found = answer(config | {"vision_config": {"hidden_size": 64, "num_hidden_layers": 2}}, given_kv_gib=20.0)
    assert found["verdict"] == "fits"
    assert found["param_bytes"] is None
    assert found["num_blocks"] == answer(LLAMA, given_kv_gib=20.0)["num_blocks"]


def test_a_yarn_factor_counts_once_more_before_0_30() -> None:
    stretched = LLAMA | {"rope_scaling": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 4096}}
    assert answer(stretched, max_model_len=16384, vllm_version="0.29.0")["verdict"] == "fits"
    assert answer(stretched, max_model_len=16384, vllm_version="0.33.0")["verdict"] == "does_not_fit"


def test_fields_that_a_config_leaves_to_its_class_are_filled_in() -> None:
    whole = {"num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 256, "vocab_size": 262208, "max_position_embeddings": 131072}
    short = {"architectures": ["Gemma3ForCausalLM"], "model_type": "gemma3_text", "hidden_size": 2560, "num_hidden_layers": 34}
    short |= {"intermediate_size": 10240, "sliding_window": 1024, "tie_word_embeddings": True}
    wanted = answer(short | whole, given_kv_gib=20.0)
    found = answer(short, given_kv_gib=20.0)
    assert (found["param_bytes"], found["num_blocks"]) == (wanted["param_bytes"], wanted["num_blocks"])
    assert found["param_bytes"] > 7_000_000_000


def test_a_window_alone_is_kept_in_the_smallest_blocks_before_0_30() -> None:
    config = LLAMA | {"architectures": ["MistralForCausalLM"], "model_type": "mistral", "sliding_window": 512}
    old = answer(config, given_kv_gib=2.0, block_size=128, vllm_version="0.29.0")["block_size"]
    new = answer(config, given_kv_gib=2.0, block_size=128, vllm_version="0.33.0")["block_size"]
    assert (old, new) == (16, 128)


def compressed(version: str, **arguments: Any) -> dict[str, Any]:
    config = catalog.models()["deepseek-v4-flash"].config
    asked = {"max_model_len": 131072, "max_num_batched_tokens": 8192, "kv_cache_dtype": "fp8"}
    return answer(config, **(asked | {"vllm_version": version, "gpu": "H200", "given_kv_gib": 20.0} | arguments))


def test_a_compressed_cache_takes_no_smaller_blocks_before_0_29() -> None:
    old, new = (compressed(version, block_size=128, max_model_len=16384) for version in ("0.28.0", "0.29.0"))
    assert any("no block size below its own of 256" in text for text in old["reasons"])
    assert (old["verdict"], new["verdict"]) == ("does_not_fit", "fits")


def test_blocks_of_a_compressed_cache_count_alike_since_0_27() -> None:
    found = compressed("0.27.1")
    held = 131072 // 256 + 2 * (-(-(127 + 16384) // 64) + 1) + (-(-(7 + 16384) // 4) + 1) + (-(-(127 + 16384) // 8) + 1)
    assert found["max_concurrency"]["likely"] == pytest.approx(found["num_blocks"] / held, abs=1e-5)
    assert compressed("0.26.0")["max_concurrency"]["likely"] > found["max_concurrency"]["likely"]
