"""Every kind of refusal of the planner is told as an error, in the plan and by check, at the argument to change."""

import json
import re
from dataclasses import replace
from typing import Any

import pytest

from interlock.infra.preview import preview
from interlock.infra.recognise import Document, recognise
from interlock.infra.rules.findings import Finding, Severity
from interlock.infra.rules.judge import RULES, judge
from interlock.infra.rules.reading.planner import CLAIMED, OTHERS
from interlock.infra.sizing import Kind, SizingRequest, Verdict, size
from tests.support import TODAY, config, deployment

QWEN, DRAFT = "Qwen/Qwen2.5-7B-Instruct", "Qwen/Qwen2.5-0.5B-Instruct"
# kind -> (model, GPUs, engine arguments, the argument that is named). A model is a catalog id.
CASES: dict[Kind, tuple[str, int, dict[str, Any], str]] = {
    Kind.HEADS: (QWEN, 3, {"tensor_parallel_size": 3}, "tensor_parallel_size"),
    Kind.PIPELINE: (QWEN, 8, {"pipeline_parallel_size": 64}, "pipeline_parallel_size"),
    Kind.CONTEXT_PARALLEL: (QWEN, 4, {"tensor_parallel_size": 4, "decode_context_parallel_size": 2}, "decode_context_parallel_size"),
    Kind.EXPERTS: (QWEN, 1, {"enable_expert_parallel": True}, "enable_expert_parallel"),
    Kind.FORMAT: (QWEN, 1, {"quantization": "bitsandbytes"}, "quantization"),
    Kind.LENGTH: (QWEN, 1, {"max_model_len": 65536}, "max_model_len"),
    Kind.STEP: (QWEN, 1, {"max_num_seqs": 512, "max_num_batched_tokens": 256}, "max_num_batched_tokens"),
    Kind.DTYPE: ("google/gemma-2-9b-it", 1, {"dtype": "float16"}, "dtype"),
    Kind.CACHE_DTYPE: (QWEN, 1, {"kv_cache_dtype": "float16"}, "kv_cache_dtype"),
    Kind.BLOCK_SIZE: (QWEN, 1, {"block_size": 17}, "block_size"),
    Kind.BLOCK_TABLE: ("Qwen/Qwen3-Next-80B-A3B-Instruct", 4, {"disable_hybrid_kv_cache_manager": True}, "disable_hybrid_kv_cache_manager"),
    Kind.SCHEDULING: (QWEN, 1, {"async_scheduling": True, "speculative_config": {"method": "suffix"}}, "async_scheduling"),
    Kind.DRAFT: (QWEN, 1, {"speculative_config": {"model": DRAFT, "num_speculative_tokens": 3}}, "speculative_config"),
    Kind.FREE_MEMORY: (QWEN, 1, {"gpu_memory_utilization": 1.0}, "gpu_memory_utilization"),
    Kind.WEIGHTS: ("Qwen/Qwen2.5-72B-Instruct", 1, {}, "model"),
    Kind.POOL: (QWEN, 1, {"kv_cache_memory_bytes": 75 * 2**30}, "kv_cache_memory_bytes"),
    Kind.REQUEST: (QWEN, 1, {"gpu_memory_utilization": 0.215, "max_model_len": 32768}, "max_model_len"),
}
# Kinds that need a config.json of their own or several engines of one request, and one that is only ever likely.
ELSEWHERE = {Kind.WIDTHS, Kind.GROUPS, Kind.ARCHITECTURE, Kind.SHARES, Kind.CARD, Kind.OUTSIDE}
TYPED = ("decode_context_parallel_size", "disable_hybrid_kv_cache_manager", "async_scheduling")
LLAMA = {
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
OWN: dict[Kind, tuple[dict[str, Any], str]] = {
    Kind.WIDTHS: ({"intermediate_size": 2049}, "engine.tensor_parallel_size"),
    Kind.GROUPS: (
        {"intermediate_size": 2080, "quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]}},
        "engine.tensor_parallel_size",
    ),
    Kind.ARCHITECTURE: ({"architectures": ["BartForConditionalGeneration"], "model_type": "bart"}, "model.id"),
}


def line(arguments: dict[str, Any]) -> list[str]:
    """Engine arguments as a command line."""
    words: list[str] = []
    for name, value in arguments.items():
        flag = "--" + name.replace("_", "-")
        words += [flag] if value is True else [flag, json.dumps(value) if isinstance(value, dict) else str(value)]
    return words


def planned(model: str, gpus: int, arguments: dict[str, Any]) -> tuple[Finding, ...]:
    typed = {name: value for name, value in arguments.items() if name not in TYPED}
    extra = line({name: value for name, value in arguments.items() if name in TYPED})
    changes = {"model": {"id": model}, "gpus": gpus, "engine": typed, "extra": {"args": extra}}
    return preview(config({f"servers[0].{name}": value for name, value in changes.items()}), "dev", today=TODAY).findings


def checked(model: str, gpus: int, arguments: dict[str, Any]) -> tuple[Finding, ...]:
    container = "spec.template.spec.containers[0]"
    made = deployment(
        {
            f"{container}.args": [model, *line(arguments)],
            f'{container}.resources.requests["nvidia.com/gpu"]': str(gpus),
            f'{container}.resources.limits["nvidia.com/gpu"]': str(gpus),
            "spec.template.spec.nodeSelector": {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"},
        }
    )
    return judge(recognise([Document(made)]), today=TODAY)


def told(findings: tuple[Finding, ...], kind: Kind) -> list[Finding]:
    code = CLAIMED.get(kind, OTHERS)
    return [each for each in findings if each.code == code and each.severity is Severity.ERROR]


def test_every_kind_has_a_case() -> None:
    assert {*CASES, *ELSEWHERE} == set(Kind)


def test_every_rule_that_claims_a_kind_exists() -> None:
    assert {*CLAIMED.values(), OTHERS} <= {rule.code for rule in RULES}


@pytest.mark.parametrize(("kind", "case"), CASES.items(), ids=CASES)
def test_the_plan_tells_it_at_the_field_that_a_person_wrote(kind: Kind, case: tuple[str, int, dict[str, Any], str]) -> None:
    model, gpus, arguments, field = case
    found = told(planned(model, gpus, arguments), kind)
    assert len(found) == 1, found
    wanted = "model.id" if field == "model" else "extra.args" if field in TYPED else f"engine.{field}"
    assert found[0].path.startswith(f"servers[0].{wanted}")
    assert found[0].remedy


@pytest.mark.parametrize(("kind", "case"), CASES.items(), ids=CASES)
def test_check_tells_it_at_the_argument(kind: Kind, case: tuple[str, int, dict[str, Any], str]) -> None:
    found = told(checked(*case[:3]), kind)
    assert len(found) == 1, found
    assert ".containers[0].args[" in found[0].path


@pytest.mark.parametrize(("kind", "case"), OWN.items(), ids=OWN)
def test_a_model_with_a_config_of_its_own_is_told_as_well(kind: Kind, case: tuple[dict[str, Any], str]) -> None:
    changes, field = case
    server = {"model": {"id": "own", "config": LLAMA | changes}, "engine": {"tensor_parallel_size": 2}, "gpus": 2}
    found = told(preview(config({f"servers[0].{name}": value for name, value in server.items()}), "dev", today=TODAY).findings, kind)
    assert [each.path for each in found] == [f"servers[0].{field}"]


def test_engines_of_one_card_are_refused_together() -> None:
    answer = size(SizingRequest(model=QWEN, gpu="H100", max_model_len=8192, sharers=2, gpu_memory_utilization=0.6))
    assert [each.kind for each in answer.refusals] == [Kind.SHARES]


def test_four_fixed_pools_of_40_gib_do_not_fit_a_card_of_80() -> None:
    asked = SizingRequest(model=QWEN, gpu="H100", max_model_len=8192, gpu_memory_utilization=0.24, kv_cache_memory_bytes=40 * 2**30)
    assert size(asked).verdict is Verdict.FITS
    assert [each.kind for each in size(replace(asked, sharers=4)).refusals] == [Kind.POOL]


def test_four_engines_with_fixed_pools_of_40_gib_cannot_meet_on_a_card() -> None:
    shared = {
        "pools[0].share": {"kind": "time-slicing", "replicas": 4},
        "servers[0].replicas": 4,
        "servers[0].engine.kv_cache_memory_bytes": 40 * 2**30,
    }
    assert "GPU-101" in {each.code for each in preview(config(shared), "dev", today=TODAY).refused}


@pytest.mark.parametrize(
    ("model", "gpu", "arguments"),
    [
        ("deepseek-ai/DeepSeek-V3", "h200", {"data_parallel_size": 8, "enable_expert_parallel": True, "max_model_len": 16384}),
        ("Qwen/Qwen3-235B-A22B", "h200", {"tensor_parallel_size": 4, "data_parallel_size": 2, "enable_expert_parallel": True}),
        ("Qwen/Qwen3-235B-A22B", "h100", {"tensor_parallel_size": 4, "data_parallel_size": 2, "enable_expert_parallel": True}),
        ("Qwen/Qwen3-235B-A22B", "h200", {"tensor_parallel_size": 8, "decode_context_parallel_size": 2}),
    ],
    ids=["DeepSeek DP 8", "Qwen TP 4 DP 2", "Qwen on H100", "shared contexts"],
)
def test_the_usual_recipes_for_large_models_are_accepted(model: str, gpu: str, arguments: dict[str, Any]) -> None:
    typed = {name: value for name, value in arguments.items() if name not in TYPED}
    extra = line({name: value for name, value in arguments.items() if name in TYPED})
    changes = {"model": {"id": model}, "gpus": 8, "engine": typed, "extra": {"args": extra}}
    whole = {"pools[0].gpu": gpu, **{f"servers[0].{name}": value for name, value in changes.items()}}
    made = preview(config(whole), "dev", today=TODAY)
    assert not made.refused
    assert made.servers[0].why["GPU_memory"].told.startswith("fits")


@pytest.mark.parametrize(
    ("version", "overrides", "refused"),
    [
        ("v0.33.0", '{"rope_scaling": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768}}', True),
        ("v0.29.0", '{"rope_scaling": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768}}', False),
        ("v0.33.0", '{"max_position_embeddings": 131072}', False),
        ("v0.33.0", "", True),
    ],
)
def test_a_length_beyond_the_models_own_needs_the_overrides_that_the_version_reads(version: str, overrides: str, refused: bool) -> None:
    server = {"engine": {"max_model_len": 65536}, "extra": {"args": ["--hf-overrides", overrides] if overrides else []}}
    image = {"reference": f"vllm/vllm-openai:{version}"}
    changes = {f"servers[0].{name}": value for name, value in (server | {"image": image}).items()}
    found = told(preview(config(changes), "dev", today=TODAY).findings, Kind.LENGTH)
    assert bool(found) == refused


def fixed(changes: dict[str, Any], code: str) -> list[str]:
    return [each.remedy for each in preview(config(changes), "dev", today=TODAY).findings if each.code == code]


LARGE = {"pools[0].gpu": "h100", "servers[0].model.id": "Qwen/Qwen2.5-72B-Instruct"}


def test_more_ranks_are_advised_with_the_gpus_that_a_person_typed() -> None:
    (typed,) = fixed(LARGE | {"servers[0].gpus": 1}, "MEM-001")
    assert "set engine.tensor_parallel_size to 4 and gpus to 4" in typed
    (two,) = fixed(LARGE | {"servers[0].gpus": 2, "servers[0].engine.data_parallel_size": 2}, "MEM-001")
    assert "set engine.tensor_parallel_size to 4 and gpus to 8" in two
    (followed,) = fixed(LARGE | {"servers[0].engine.tensor_parallel_size": 1}, "MEM-001")
    assert "set engine.tensor_parallel_size to 4, or" in followed


def test_where_neither_ranks_nor_fewer_bits_do_alone_both_are_advised_together() -> None:
    (small,) = fixed(LARGE | {"pools[0].gpu": "l4", "servers[0].gpus": 1}, "MEM-001")
    assert small.startswith("an fp8 checkpoint and engine.gpu_memory_utilization 0.85 with engine.tensor_parallel_size 8 and 8 GPUs")
    assert "--" not in small


def test_what_is_advised_against_a_short_cache_names_length_and_ranks() -> None:
    long = {"servers[0].model.id": "meta-llama/Llama-3.3-70B-Instruct", "servers[0].engine.max_model_len": 131072}
    (found,) = fixed(LARGE | long | {"servers[0].gpus": 2}, "MEM-002")
    assert re.fullmatch(
        r"set engine\.max_model_len to \d+ \(fits for sure\), or set engine\.tensor_parallel_size to 4 and gpus to 4", found
    )
    container = "spec.template.spec.containers[0]"
    words = ["meta-llama/Llama-3.3-70B-Instruct", "--tensor-parallel-size=2", "--max-model-len=131072"]
    changes = {f"{container}.args": words, f"{container}.resources.limits": {"nvidia.com/gpu": 2}}
    pod = deployment(changes | {"spec.template.spec.nodeSelector": {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"}})
    told_ = [each.remedy for each in judge(recognise([Document(pod)]), today=TODAY) if each.code == "MEM-002"]
    assert all("set --tensor-parallel-size to 4 and ask for 4 GPUs per replica" in each for each in told_)
    assert told_


@pytest.mark.parametrize(
    ("env", "codes"),
    [
        ({"HF_HUB_OFFLINE": "1"}, ["STO-005"]),
        ({"HF_HUB_OFFLINE": "0"}, []),
        ({"VLLM_ENGINE_READY_TIMEOUT_S": "30"}, ["ROLL-017"]),
        ({"VLLM_ENGINE_READY_TIMEOUT_S": "1800"}, []),
        ({"VLLM_READY_TIMEOUT_S": "30"}, ["ARG-007"]),
    ],
)
def test_a_variable_that_undoes_the_plan_is_told_where_it_stands(env: dict[str, str], codes: list[str]) -> None:
    found = preview(config({"servers[0].extra.env": env}), "dev", today=TODAY).findings
    assert [each.code for each in found] == codes
    assert all(each.path == f"servers[0].extra.env.{next(iter(env))}" for each in found)


@pytest.mark.parametrize(("given", "level"), [("30", "error"), ("120", "warning")])
def test_what_only_a_fast_source_could_make_good_is_a_warning(given: str, level: str) -> None:
    found = preview(config({"servers[0].extra.env": {"VLLM_ENGINE_READY_TIMEOUT_S": given}}), "dev", today=TODAY).findings
    assert [(each.code, each.severity.value) for each in found] == [("ROLL-017", level)]
