"""Laws of the one question to the planner: plan, rules and the size command ask the same and say the same."""

import json
from dataclasses import replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from interlock.cli.size_lines import request_of as request_of_case
from interlock.infra.config import load
from interlock.infra.config.cluster import ClusterConfig
from interlock.infra.manifests.bundles import stack_objects
from interlock.infra.plan.plan import plan
from interlock.infra.plan.servers import server_fit
from interlock.infra.preview import preview
from interlock.infra.preview.facts import plan_facts
from interlock.infra.rules.findings import Severity
from interlock.infra.rules.reading.planner import question_of
from interlock.infra.sizing import Kind, SizingRequest, Verdict, size
from interlock.infra.sizing.ask import answer
from tests.support import TODAY, config_data

LAW = settings(max_examples=40, deadline=None, derandomize=True)
MODELS = (
    *("Qwen/Qwen2.5-7B-Instruct", "Qwen/Qwen3-30B-A3B-FP8", "google/gemma-2-9b-it", "deepseek-ai/DeepSeek-V2-Lite", "BAAI/bge-m3"),
    *("Qwen/Qwen2.5-72B-Instruct", "Qwen/Qwen2.5-7B-Instruct-AWQ", "Qwen/Qwen2.5-VL-7B-Instruct", "openai/gpt-oss-20b"),
)
DRAFT = {"model": "Qwen/Qwen2.5-0.5B-Instruct", "num_speculative_tokens": 3}
ARGUMENTS: dict[str, st.SearchStrategy[Any]] = {
    "tensor_parallel_size": st.sampled_from((1, 2, 3, 4, 8)),
    "pipeline_parallel_size": st.sampled_from((1, 2)),
    "data_parallel_size": st.sampled_from((1, 2)),
    "enable_expert_parallel": st.booleans(),
    "dtype": st.sampled_from(("auto", "bfloat16", "float16", "float32")),
    "kv_cache_dtype": st.sampled_from(("auto", "fp8", "float16")),
    "max_model_len": st.integers(1, 200_000),
    "max_num_seqs": st.integers(1, 2048),
    "max_num_batched_tokens": st.integers(64, 32_768),
    "gpu_memory_utilization": st.floats(0.1, 0.97).map(lambda share: round(share, 2)),
    "kv_cache_memory_bytes": st.integers(1, 100).map(lambda gib: gib * 2**30),
    "block_size": st.sampled_from((16, 17, 32)),
    "enforce_eager": st.booleans(),
    "enable_prefix_caching": st.booleans(),
    "speculative_config": st.sampled_from(
        (DRAFT, DRAFT | {"use_heterogeneous_vocab": True}, {"method": "ngram", "num_speculative_tokens": 2})
    ),
}
EXTRA: dict[str, st.SearchStrategy[Any]] = {
    "decode_context_parallel_size": st.sampled_from((1, 2)),
    "cpu_offload_gb": st.sampled_from((2, 10)),
    "hf_overrides": st.sampled_from(({"max_position_embeddings": 131_072}, {"text_config": {}})),
    "limit_mm_per_prompt": st.sampled_from(({"image": 0, "video": 0}, {"image": 2})),
    "chunked": st.booleans(),
}


@st.composite
def servers(draw: st.DrawFn) -> tuple[ClusterConfig, dict[str, Any]]:
    """A stack of one server, and its engine arguments as a case of the size command."""
    names = draw(st.lists(st.sampled_from([*ARGUMENTS, *EXTRA]), unique=True, max_size=6))
    values = {name: draw((ARGUMENTS | EXTRA)[name]) for name in names}
    chunked = values.pop("chunked", None)
    model, gpu = draw(st.sampled_from(MODELS)), draw(st.sampled_from(("h100-80gb-sxm", "l4", "h200")))
    extra = [] if chunked is None else ["--enable-chunked-prefill" if chunked else "--no-enable-chunked-prefill"]
    for name, value in values.items():
        if name in EXTRA:
            extra += [f"--{name}", json.dumps(value) if isinstance(value, dict) else str(value)]
    engine = {name: value for name, value in values.items() if name in ARGUMENTS}
    changes = {"pools[0].gpu": gpu, "servers[0].model": {"id": model}, "servers[0].engine": engine, "servers[0].extra": {"args": extra}}
    case = {**values, **({} if chunked is None else {"enable_chunked_prefill": chunked})}
    return load(config_data(changes)), case | {"model": model, "gpu": gpu}


@LAW
@given(made=servers())
def test_plan_rules_and_the_size_command_ask_the_same_question(made: tuple[ClusterConfig, dict[str, Any]]) -> None:
    config, case = made
    decided = plan(config, "dev")
    bundle = plan_facts(decided, stack_objects(config, decided).drafts)
    (workload,) = [each for each in bundle.workloads if each.origin.name == "chat"]
    asked = question_of(workload, bundle)
    assert not asked.open
    assert answer(asked.request) is server_fit(config, 0)
    chosen = {name: value for name, value in decided.servers[0].args.engine.stated().items() if name in ARGUMENTS}
    request, strange = request_of_case({**case, **chosen, "vllm_version": decided.servers[0].vllm})
    assert not strange
    assert request == asked.request


@LAW
@given(made=servers())
def test_what_does_not_fit_is_refused_and_why_says_the_same(made: tuple[ClusterConfig, dict[str, Any]]) -> None:
    config, _ = made
    found, shown = server_fit(config, 0), preview(config, "dev", today=TODAY)
    said = "; ".join((*found.reasons, *found.doubts))
    assert shown.servers[0].why["GPU_memory"].told == f"{found.verdict.value.replace('_', ' ')}: {said}"
    told = [each for each in shown.findings if each.severity is Severity.ERROR and any(text in each.summary for text in found.reasons)]
    assert (found.verdict is Verdict.DOES_NOT_FIT) == bool(found.refusals)
    assert not found.refusals or told


@LAW
@given(made=servers(), less=st.sampled_from(("card", "utilization", "ranks")), part=st.floats(0.3, 0.95))
def test_fewer_resources_never_turn_a_refusal_by_memory_into_a_pass(
    made: tuple[ClusterConfig, dict[str, Any]], less: str, part: float
) -> None:
    request, _ = request_of_case({"max_num_seqs": 64, "max_num_batched_tokens": 4096, **made[1], "vllm_version": "0.33.0"})
    whole = replace(request, gpu_total_gib=79.0, gpu_memory_utilization=request.gpu_memory_utilization or 0.9)
    before = size(whole, suggest=False)
    if not {each.kind for each in before.refusals} & {Kind.WEIGHTS, Kind.REQUEST, Kind.POOL}:
        return
    after = size(_with_less(whole, less, part), suggest=False)
    assert after.verdict is not Verdict.FITS


def _with_less(request: SizingRequest, less: str, part: float) -> SizingRequest:
    share = request.gpu_memory_utilization or 0.9
    changes: dict[str, dict[str, Any]] = {
        "card": {"gpu_total_gib": 79.0 * part},
        "utilization": {"gpu_memory_utilization": share * part},
        "ranks": {"tp": 1, "dp": 1, "dcp": 1},
    }
    return replace(request, **changes[less])
