"""Model facts: what is read from a config, which tensor parallel sizes are valid and why not."""

import pytest

from interlock.infra.sizing import ModelFacts, model_facts
from interlock.infra.sizing.model.facts import from_config
from interlock.infra.sizing.model.fields import from_fields
from interlock.infra.sizing.model.layers import Cache
from interlock.infra.sizing.model.quantization import Scheme
from interlock.infra.sizing.model.quantization_words import parse_quantization
from interlock.infra.sizing.refusals.parallel import tp_problem
from interlock.infra.sizing.weights.drafts import draft_bytes
from interlock.infra.sizing.weights.ledger import Shard
from interlock.infra.sizing.weights.rank import parameters, rank_weights, stage_layers
from interlock.infra.values import Version
from tools.oracle import catalog


def facts_of(name: str) -> ModelFacts:
    found = model_facts(name)
    assert found is not None, name
    return found


def valid_tp(facts: ModelFacts) -> tuple[int, ...]:
    return tuple(tp for tp in range(1, 9) if tp_problem(facts, tp) is None)


@pytest.mark.parametrize(
    ("name", "billions"),
    [
        ("deepseek-ai/DeepSeek-V3", 671.0),
        ("Qwen/Qwen3-235B-A22B", 235.1),
        ("Qwen/Qwen3-Next-80B-A3B-Instruct", 79.7),
        ("openai/gpt-oss-120b", 116.8),
        ("meta-llama/Llama-4-Scout-17B-16E-Instruct", 108.6),
        ("mistralai/Mixtral-8x7B-v0.1", 46.7),
        ("nvidia/Nemotron-H-56B-Base-8K", 56.3),
        ("ai21labs/AI21-Jamba-1.5-Mini", 51.6),
        ("microsoft/phi-2", 2.78),
        ("google/gemma-3-27b-it", 27.4),
        ("Qwen/Qwen2.5-VL-7B-Instruct", 8.29),
    ],
)
def test_parameters_derived_from_shapes_are_those_of_the_model_card(name: str, billions: float) -> None:
    assert parameters(facts_of(name)) / 1e9 == pytest.approx(billions, rel=0.01)


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("meta-llama/Llama-3.1-8B-Instruct", "dense"),
        ("deepseek-ai/DeepSeek-V3", "mla"),
        ("google/gemma-3-27b-it", "sliding"),
        ("openai/gpt-oss-20b", "sliding"),
        ("meta-llama/Llama-4-Scout-17B-16E-Instruct", "chunked"),
        ("Qwen/Qwen3-Next-80B-A3B-Instruct", "hybrid"),
        ("Qwen/Qwen3-30B-A3B", "moe"),
        ("Qwen/Qwen3-VL-8B-Instruct", "vision"),
        ("BAAI/bge-m3", "pooling"),
    ],
)
def test_families_are_told_apart(name: str, family: str) -> None:
    assert facts_of(name).group == family


def test_an_encoder_has_no_kv_cache() -> None:
    assert facts_of("BAAI/bge-m3").kv_layers == ()


def test_layers_that_share_a_cache_have_none_of_their_own() -> None:
    assert len(facts_of("google/gemma-4-E4B").kv_layers) == 24


def test_sparse_latent_attention_has_a_second_cache_for_its_indexer() -> None:
    kinds = [layer.cache for layer in facts_of("deepseek-ai/DeepSeek-V3.2").kv_layers]
    assert kinds.count(Cache.MLA) == kinds.count(Cache.INDEXER) == 61


def test_a_window_longer_than_the_context_is_still_a_window() -> None:
    assert {layer.cache for layer in facts_of("microsoft/Phi-4-mini-instruct").kv_layers} == {Cache.SLIDING}


@pytest.mark.parametrize(
    ("heads", "tp", "words"),
    [
        ((52, 52), 3, "52 attention heads"),
        ((64, 8), 3, "64 attention heads"),
        ((12, 2), 8, "12 attention heads"),
        ((28, 4), 7, "4 KV heads"),
        ((40, 10), 4, "10 KV heads"),
        ((6, 3), 6, "vocabulary"),
    ],
)
def test_a_refused_tensor_parallel_size_says_what_does_not_divide(heads: tuple[int, int], tp: int, words: str) -> None:
    query, keys = heads
    facts = from_fields(
        "x", layers=2, hidden_size=7680, attention_heads=query, kv_heads=keys, head_dim=128, vocab_size=32000, intermediate_size=26880
    )
    problem = tp_problem(facts, tp)
    assert problem is not None
    assert words in problem


def test_kv_heads_are_repeated_when_there_are_more_ranks() -> None:
    facts = facts_of("Qwen/Qwen2.5-3B-Instruct")
    assert tp_problem(facts, 8) is None
    assert facts.kv_layers[0].heads_on_rank(8) == 1


def test_a_block_quantized_width_must_hold_whole_blocks_on_each_rank() -> None:
    facts = facts_of("Qwen/Qwen3-32B-FP8")
    assert valid_tp(facts) == (1, 2, 4, 8)
    narrow = from_config({**facts.config, "intermediate_size": 25600 // 8 * 3}, "narrow")
    assert "block of 128" in (tp_problem(narrow, 8) or "")


def test_valid_sizes_of_a_model_with_28_heads() -> None:
    assert valid_tp(facts_of("Qwen/Qwen2.5-7B-Instruct")) == (1, 2, 4)


@pytest.mark.parametrize(
    ("words", "scheme"),
    [
        ("awq", Scheme.AWQ),
        ("compressed-tensors fp8", Scheme.FP8_CHANNEL),
        ("fp8 (online)", Scheme.FP8_ONLINE),
        ("mxfp4", Scheme.MXFP4),
        ("modelopt mixed NVFP4/FP8", Scheme.NVFP4),
        ("GGUF Q4_K_M", Scheme.GGUF),
        ("moe_wna16 (gptq int4)", Scheme.GPTQ),
        ("something else", Scheme.UNKNOWN),
    ],
)
def test_quantization_in_words_is_understood(words: str, scheme: Scheme) -> None:
    found = parse_quantization(words)
    assert found is not None
    assert found.scheme is scheme


def test_bf16_in_words_is_no_quantization() -> None:
    assert parse_quantization("bfloat16") is None


@pytest.mark.parametrize(
    ("layers", "pp", "parts"), [(61, 4, [15, 15, 16, 15]), (80, 2, [40, 40]), (62, 4, [15, 16, 16, 15]), (27, 2, [14, 13])]
)
def test_pipeline_stages_get_the_layers_that_vllm_gives_them(layers: int, pp: int, parts: list[int]) -> None:
    assert [len(stage_layers(layers, pp, i)) for i in range(pp)] == parts


def test_tied_embeddings_are_held_twice_in_a_pipeline() -> None:
    facts = facts_of("Qwen/Qwen2.5-0.5B-Instruct")
    whole = rank_weights(facts, Shard()).param_bytes
    stages = sum(rank_weights(facts, Shard(pp=2, stage=i)).param_bytes for i in range(2))
    assert stages - whole == facts.vocab_size * facts.hidden_size * 2


def test_replicated_parts_make_the_ranks_exceed_the_whole() -> None:
    facts = facts_of("deepseek-ai/DeepSeek-V3")
    ranks = 8 * rank_weights(facts, Shard(tp=8)).param_bytes
    assert ranks / rank_weights(facts, Shard()).param_bytes == pytest.approx(1.012, abs=0.004)


def test_a_variant_finds_its_base_model_and_how_it_is_stored() -> None:
    found = facts_of("RedHatAI/Qwen3-32B-FP8-dynamic")
    assert found.quantization is not None
    assert found.quantization.scheme is Scheme.FP8_CHANNEL
    assert found.layers == 64


def test_an_unknown_model_is_none() -> None:
    assert model_facts("nobody/nothing-7B") is None


def predictor_bytes(tp: int = 1, **fields: object) -> int:
    config = catalog.models()["qwen3.5-27b"].config
    facts = from_config({**config, **fields}, "predictor")
    return draft_bytes(facts, "mtp", None, Shard(tp), 2)


def test_the_projection_before_a_predictor_is_cut_over_ranks() -> None:
    whole, cut = predictor_bytes(), predictor_bytes(tp=4)
    norms = 2 * (5 * 5120 + 2 * 256)
    assert cut - norms == (whole - norms) // 4


def test_a_predictor_is_excluded_from_quantization_by_its_own_name() -> None:
    def stored(*names: str) -> int:
        scheme = {"quant_method": "fp8", "weight_block_size": [128, 128], "activation_scheme": "dynamic"}
        return predictor_bytes(quantization_config=scheme | {"modules_to_not_convert": list(names)})

    plain, quantized = predictor_bytes(), stored("model.layers.63.mlp")
    projection = 2 * 5120 * 5120
    assert quantized < plain * 0.51
    assert stored("mtp.fc") == quantized + projection - 4 * projection // 128**2
    assert stored("mtp.fc", "mtp.layers.0.self_attn", "mtp.layers.0.mlp") >= plain


def test_vllm_s_own_classes_kept_the_embedding_on_every_stage_until_transformers_took_their_place() -> None:
    facts = from_config(catalog.models()["pythia-6.9b"].config, "pythia")
    old, new = (rank_weights(facts, Shard(pp=2, version=version)).param_bytes for version in (Version(0, 31), Version(0, 32)))
    assert old - new == 2 * (50432 * 4096 + 2 * 4096)


def test_multi_query_attention_has_one_kv_head_and_transformers_class_cuts_no_mlp() -> None:
    """Bytes of rank 0 as vLLM 0.33.0 built it."""
    shape = {"n_embd": 2048, "n_head": 16, "n_layer": 24, "n_positions": 8192, "n_inner": 8192, "vocab_size": 49152}
    named = {"architectures": ["GPTBigCodeForCausalLM"], "model_type": "gpt_bigcode", "torch_dtype": "bfloat16", "multi_query": True}
    facts = from_config(shape | named, "starcoder")
    assert facts.kv_heads == 1
    assert [rank_weights(facts, Shard(tp)).param_bytes for tp in (1, 4, 8)] == [2274414592, 1821356032, 1745846272]
