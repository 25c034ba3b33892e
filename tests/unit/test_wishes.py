"""From wishes to arguments: what a person knows goes in, every argument comes out with its reason."""

from typing import Any

import pytest

from interlock.infra.catalog.exchanges import over_nodes
from interlock.infra.config import load
from interlock.infra.errors import ConfigError
from interlock.infra.plan.plan import plan
from interlock.infra.plan.types import PlannedServer
from interlock.infra.preview import preview
from interlock.infra.preview.offers import with_offers
from interlock.infra.values import GIB, bytes_of
from tests.support import TODAY, config, config_data

LARGE = "Qwen/Qwen3-235B-A22B-FP8"


def planned(**changes: Any) -> PlannedServer:
    """The server of the smallest config, its engine left out, with these fields."""
    fields = {f"servers[0].{name.replace('__', '.')}": value for name, value in {"engine": {}, **changes}.items()}
    return plan(config(fields), "dev").servers[0]


def test_a_model_that_needs_several_cards_gets_them_where_no_size_is_stated() -> None:
    made = preview(config({"servers[0].model": {"id": LARGE}, "servers[0].engine": {}}), "dev", today=TODAY)
    server = made.servers[0]
    assert server.args.engine.tp == server.gpus == 4
    assert not made.refused
    assert "the smallest size that fits" in server.why["tensor_parallel_size"].reason
    assert "exceed the budget" in server.why["tensor_parallel_size"].instead


def test_the_smallest_size_that_fits_is_one_card_for_a_small_model() -> None:
    server = planned()
    assert (server.args.engine.tp, server.gpus) == (1, 1)


def test_a_stated_size_is_kept_although_another_would_fit() -> None:
    server = planned(model={"id": LARGE}, engine={"tensor_parallel_size": 8})
    assert server.args.engine.tp == 8
    assert server.why["tensor_parallel_size"].told == "8: set in the config"


def test_experts_stay_whole_at_a_size_that_their_widths_refuse() -> None:
    wishes = {"longest_prompt": 30000, "longest_answer": 2000, "concurrent": 30}
    server = planned(model={"id": LARGE}, wishes=wishes, image={"reference": "vllm/vllm-openai:v0.26.0"})
    assert (server.args.engine.tp, server.args.engine.enable_expert_parallel) == (8, True)
    assert "30 requests" in server.why["tensor_parallel_size"].reason


def test_the_longest_prompt_and_answer_give_the_length_with_a_margin() -> None:
    server = planned(wishes={"longest_prompt": 4000, "longest_answer": 1000})
    assert server.args.engine.max_model_len == 6000
    assert server.why["max_model_len"].reason == "prompt 4000 + answer 1000 + 20 %"


def test_the_margin_is_capped_by_the_model_and_the_wish_is_not() -> None:
    capped = planned(wishes={"longest_prompt": 30000, "longest_answer": 2000})
    assert capped.args.engine.max_model_len == 32768
    data = {"servers[0].engine": {}, "servers[0].wishes": {"longest_prompt": 60000, "longest_answer": 2000}}
    refused = preview(config(data), "dev", today=TODAY).refused
    assert any("62000" in each.summary for each in refused), [each.summary for each in refused]


def test_what_is_assumed_beside_half_a_wish_is_named() -> None:
    assert "answer 2048 is assumed" in planned(wishes={"longest_prompt": 4000}).why["max_model_len"].reason


def test_a_context_that_does_not_fit_is_shortened_only_where_nobody_stated_it() -> None:
    small: dict[str, Any] = {"pools[0].gpu": "l4", "servers[0].model": {"id": "meta-llama/Llama-3.1-8B-Instruct"}, "servers[0].engine": {}}
    small |= {"pools[0].gpus_per_node": 1}
    server = plan(config(small), "dev").servers[0]
    assert server.args.engine.max_model_len == 24576
    assert "131072" in server.why["max_model_len"].reason
    stated = preview(config(small | {"servers[0].engine": {"max_model_len": 131072}}), "dev", today=TODAY)
    assert stated.servers[0].args.engine.max_model_len == 131072
    assert stated.refused


def test_a_plan_says_that_a_model_was_not_compared_with_its_repository() -> None:
    for name, said in (("HuggingFaceTB/SmolLM3-3B", True), ("Qwen/Qwen3-8B", False)):
        told = planned(model={"id": name}, engine={}).why["GPU_memory"].reason
        assert (f"{name} is not verified against its config.json" in told) == said


def test_the_wished_concurrency_is_shared_by_the_replicas() -> None:
    assert planned(replicas=3, wishes={"concurrent": 50}).args.engine.max_num_seqs == 17
    assert planned(wishes={"requests_per_second": 0.5}).args.engine.max_num_seqs == 150
    with pytest.raises(ConfigError, match="not both"):
        planned(wishes={"concurrent": 5, "requests_per_second": 1})


def test_the_queue_is_bounded_by_what_runs_in_one_step_where_the_version_can() -> None:
    assert planned(engine={"max_num_seqs": 64}).args.engine.max_num_queued_reqs == 128
    old = planned(engine={"max_num_seqs": 64}, image={"reference": "vllm/vllm-openai:v0.26.0"})
    assert old.args.engine.max_num_queued_reqs is None
    assert planned(engine={"max_num_queued_reqs": 7}).args.engine.max_num_queued_reqs == 7


def test_latency_and_throughput_pull_the_step_in_opposite_directions() -> None:
    throughput = planned(wishes={"goal": "throughput"})
    assert throughput.args.engine.max_num_batched_tokens == 16384
    latency = planned(wishes={"goal": "latency", "longest_prompt": 8000})
    assert latency.args.engine.max_num_batched_tokens == 2048
    assert latency.args.engine.long_prefill_token_threshold == 1024
    assert latency.args.engine.tp == 2
    assert planned().args.engine.max_num_batched_tokens is None


def test_latency_takes_more_cards_only_where_the_pool_holds_them() -> None:
    full: dict[str, Any] = {"pools[0].nodes": 1, "pools[0].gpus_per_node": 2, "servers[0].replicas": 2}
    wish = {"servers[0].engine": {}, "servers[0].wishes": {"goal": "latency"}}
    made = preview(config(full | wish), "dev", today=TODAY)
    assert made.servers[0].args.engine.tp == 1
    assert not made.refused


def test_the_family_gives_parsers_that_the_version_has() -> None:
    thinking = planned(model={"id": "Qwen/Qwen3-8B"}).args.engine
    assert (thinking.enable_auto_tool_choice, thinking.tool_call_parser, thinking.reasoning_parser) == (True, "hermes", "qwen3")
    assert (
        planned(
            model={"id": "Qwen/Qwen3-8B"}, engine={"tool_call_parser": "xlam", "enable_auto_tool_choice": True}
        ).args.engine.tool_call_parser
        == "xlam"
    )
    assert planned(model={"id": "Qwen/Qwen3-Coder-30B-A3B-Instruct"}).args.engine.reasoning_parser is None
    old = planned(model={"id": "google/gemma-4-31B-it"}, image={"reference": "vllm/vllm-openai:v0.19.0"}).args.engine
    assert old.tool_call_parser is None


def test_vectors_and_scores_get_the_pooling_runner_and_no_parsers() -> None:
    embed = planned(model={"id": "Qwen/Qwen3-Embedding-4B"}, wishes={"task": "embed"}).args.engine
    assert (embed.runner, embed.convert, embed.tool_call_parser) == ("pooling", "embed", None)


def test_a_model_that_sees_can_be_served_for_text_alone() -> None:
    server = planned(model={"id": "Qwen/Qwen2.5-VL-7B-Instruct"}, wishes={"images": 0})
    assert server.args.engine.language_model_only is True
    assert planned(model={"id": "Qwen/Qwen2.5-VL-7B-Instruct"}, wishes={"images": 2}).args.engine.limit_mm_per_prompt == {"image": 2}
    assert planned(wishes={"images": 0}).args.engine.language_model_only is None


def test_eight_bits_are_taken_only_where_they_are_allowed_and_nothing_else_fits() -> None:
    tight = {"pools[0].gpus_per_node": 1, "servers[0].model": {"id": "Qwen/Qwen2.5-72B-Instruct"}, "servers[0].engine": {}}
    assert plan(config(tight), "dev").servers[0].args.engine.quantization is None
    one = {**tight, "pools[0].gpu": "h200", "servers[0].wishes": {"longest_prompt": 8000, "longest_answer": 1000, "quantized": True}}
    server = plan(config(one), "dev").servers[0]
    assert server.args.engine.quantization == "fp8"
    assert "wishes.quantized" in server.why["quantization"].reason


def test_the_test_only_track_is_not_tuned() -> None:
    server = planned(image={"track": "cpu"}, wishes={"goal": "throughput", "concurrent": 5})
    assert server.args.engine.stated() == {"tensor_parallel_size": 1, "dtype": "float32", "enforce_eager": True}


def latent(**fields: Any) -> PlannedServer:
    data = {"pools[0].gpu": "h200", "servers[0].model": {"id": "deepseek-ai/DeepSeek-R1"}, "servers[0].engine": {}}
    made = preview(config(data | {f"servers[0].{name}": value for name, value in fields.items()}), "dev", today=TODAY)
    assert not made.refused
    return made.servers[0]


def test_latent_attention_is_served_by_data_parallel_ranks_where_throughput_is_wished() -> None:
    spread = latent(wishes={"goal": "throughput", "concurrent": 80})
    engine = spread.args.engine
    assert (engine.tp, engine.dp, engine.enable_expert_parallel, engine.max_num_seqs, spread.gpus) == (1, 8, True, 10, 8)
    assert "8 data-parallel ranks hold 8 x" in spread.why["data_parallel_size"].reason
    assert "allgather_reducescatter" in spread.why["all2all_backend"].reason
    assert latent(wishes={"goal": "latency"}).args.engine.dp == 1
    stated = latent(wishes={"goal": "throughput"}, engine={"enable_expert_parallel": False}).args.engine
    assert (stated.tp, stated.dp) == (8, 1)


def test_heads_that_are_shared_out_are_served_by_tensor_parallel_ranks_for_throughput_too() -> None:
    engine = latent(model={"id": "Qwen/Qwen3-235B-A22B-FP8"}, wishes={"goal": "throughput"}).args.engine
    assert engine.tp > 1
    assert engine.dp == 1


def test_what_only_some_networks_carry_is_named_and_not_set_over_several_nodes() -> None:
    wide = latent(gpus=16, engine={"data_parallel_size": 16, "enable_expert_parallel": True}, transfer={"role": "decode"})
    assert wide.args.engine.stated().get("all2all_backend") is None
    assert "deepep_low_latency: needs DeepEP in the image and RDMA" in wide.why["all2all_backend"].instead
    stated = {"data_parallel_size": 16, "enable_expert_parallel": True, "all2all_backend": "deepep_low_latency"}
    assert latent(gpus=16, engine=stated).args.engine.stated()["all2all_backend"] == "deepep_low_latency"


@pytest.mark.parametrize(
    ("card", "version", "role", "names"),
    [
        (8.0, "0.33.0", "", []),
        (9.0, "0.33.0", "", ["deepep_high_throughput", "deepep_low_latency"]),
        (9.0, "0.33.0", "prefill", ["deepep_high_throughput"]),
        (10.0, "0.33.0", "decode", ["deepep_low_latency", "flashinfer_nvlink_one_sided"]),
        (10.0, "0.14.0", "decode", ["deepep_low_latency"]),
    ],
)
def test_how_ranks_on_several_nodes_may_exchange_follows_from_the_card_the_side_and_the_version(
    card: float, version: str, role: str, names: list[str]
) -> None:
    assert [each.backend for each in over_nodes(card, role, version)] == names


def test_tool_calls_that_need_another_chat_template_are_not_parsed_unasked() -> None:
    own = latent(model={"id": "deepseek-ai/DeepSeek-R1-0528"})
    assert own.args.engine.stated().keys() & {"chat_template", "tool_call_parser", "enable_auto_tool_choice"} == set()
    assert "/vllm-workspace/examples/tool_chat_template_deepseekr1.jinja" in own.why["chat_template"].instead
    assert own.args.engine.reasoning_parser == "deepseek_r1"
    stated = {"chat_template": "/t.jinja", "tool_call_parser": "deepseek_v3", "enable_auto_tool_choice": True}
    assert stated.items() <= latent(engine=stated).args.engine.stated().items()


def test_every_argument_of_vllm_can_be_stated_by_its_name() -> None:
    engine = {
        "async_scheduling": False,
        "hf_overrides": {"rope_theta": 1000000},
        "cudagraph_capture_sizes": [1, 2, 4],
        "disable_log_stats": True,
        "middleware": ["a.B", "c.D"],
        "aggregate_engine_logging": False,
        "decode_context_parallel_size": 1,
        "disable_log_requests": False,
    }
    argv = " ".join(planned(engine=engine).args.to_argv())
    assert "--no-async-scheduling" in argv
    assert '--hf-overrides {"rope_theta":1000000}' in argv
    assert "--cudagraph-capture-sizes 1 2 4" in argv
    assert "--middleware a.B --middleware c.D" in argv
    assert "aggregate" not in argv
    assert "--enable-log-requests" in argv


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("async_schedule", True, "near in meaning: async_scheduling"),
        ("context_length", 4096, "write max_model_len"),
        ("gpu_memory_fraction", 0.5, "gpu_memory_utilization"),
        ("tensor_paralel_size", 2, "did you mean tensor_parallel_size?"),
        ("served_model_name", "x", "served_name says it"),
        ("async_scheduling", "yes", "true or false is meant"),
        ("api_server_count", "many", "a whole number is meant"),
        ("performance_mode", "fast", "vLLM takes balanced, interactivity, throughput"),
        ("compilation_config", "{", "is not JSON"),
        ("cudagraph_capture_sizes", [1, "many"], "a whole number is meant"),
        ("all2all_backend", "passthrough", "vLLM takes allgather_reducescatter"),
        ("data_parallel_multi_port_external_lb", True, "servers[].balance say"),
    ],
)
def test_an_argument_that_no_version_takes_is_refused_with_the_nearest_by_meaning(name: str, value: Any, told: str) -> None:
    with pytest.raises(ConfigError, match=rf"servers\[0\]\.engine\.{name}: ") as caught:
        planned(engine={name: value})
    assert told in str(caught.value)


@pytest.mark.parametrize(
    ("version", "engine", "fix"),
    [
        ("0.33.0", {"compilation_config": {"cudagraph_mod": "NONE"}}, "write cudagraph_mode"),
        ("0.30.0", {"kv_transfer_config": {"kv_connector": "NixlConnector", "kv_roles": "kv_both"}}, "write kv_role"),
        ("0.26.0", {"compilation_config": {"level": 3}}, "write mode"),
        ("0.33.0", {"compilation_config": {"use_inductor": True}}, "its keys are backend, cache_dir"),
        ("0.33.0", {"compilation_config": {"mode": 3}}, ""),
        ("0.33.0", {"hf_overrides": {"anything": 3}}, ""),
        ("0.12.0", {"compilation_config": {"level": 3}}, ""),
    ],
)
def test_a_key_that_an_object_does_not_have_in_the_version_is_refused_with_those_that_it_has(
    version: str, engine: dict[str, Any], fix: str
) -> None:
    stack = config({"servers[0].engine": engine, "servers[0].image": {"reference": f"vllm/vllm-openai:v{version}"}})
    found = [each.remedy for each in preview(stack, "dev", today=TODAY).refused if each.code == "ARG-003"]
    assert [each[: len(fix)] for each in found] == ([fix] if fix else [])


def test_an_argument_of_another_version_is_refused_by_the_version_of_the_image() -> None:
    old = {"servers[0].engine": {"max_num_queued_reqs": 9}, "servers[0].image": {"reference": "vllm/vllm-openai:v0.26.0"}}
    codes = {(each.code, each.path) for each in preview(config(old), "dev", today=TODAY).refused}
    assert ("ARG-001", "servers[0].engine.max_num_queued_reqs") in codes


def test_several_wrong_arguments_are_all_told() -> None:
    with pytest.raises(ConfigError) as caught:
        load({"target": {"local": "x"}, "namespace": "n", "pools": [], "servers": [{"name": "a", "engine": {"aa_bb": 1, "cc_dd": 2}}]})
    assert "engine.aa_bb" in str(caught.value)
    assert "engine.cc_dd" in str(caught.value)


def offered(changes: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """(code, changes) of what is offered where something is refused."""
    stack = config({"servers[0].engine": {}, **changes})
    made = with_offers(stack, preview(stack, "dev", today=TODAY), TODAY)
    return [(each.code, {fix.path: fix.value for fix in each.fixes}) for each in made.offers]


def test_a_model_that_does_not_fit_is_offered_what_costs_least_first() -> None:
    tight = {"servers[0].model": {"id": "Qwen/Qwen3-32B"}, "servers[0].engine": {"tensor_parallel_size": 1, "max_model_len": 40960}}
    assert offered(tight) == [
        ("MEM-002", {"servers[0].engine.tensor_parallel_size": None}),
        ("MEM-002", {"servers[0].engine.max_model_len": 27648}),
        ("MEM-002", {"servers[0].engine.kv_cache_dtype": "fp8"}),
        ("MEM-002", {"servers[0].model.id": "Qwen/Qwen3-32B-FP8"}),
    ]


def test_replicas_beyond_the_pool_are_offered_as_many_as_it_holds() -> None:
    assert ("GPU-004", {"servers[0].replicas": 16}) in offered({"servers[0].replicas": 20})
    assert offered({"servers[0].replicas": 16}) == []


def packing(changes: dict[str, Any]) -> list[tuple[str, str]]:
    """(severity, summary) of what is said about the room in the pool."""
    found = preview(config({"servers[0].engine": {"max_model_len": 8192}, **changes}), "dev", today=TODAY).findings
    return [(each.severity.value, each.summary) for each in found if each.code == "GPU-004"]


def test_eight_pods_of_200_gib_on_one_node_of_1_tib_are_refused_with_the_arithmetic() -> None:
    ((severity, text),) = packing({"pools[0].nodes": 1, "servers[0].replicas": 8, "servers[0].memory": "200Gi"})
    assert severity == "error"
    assert "8 pods x 200.0 GiB of memory: a node of pool h100 has 1024.0 GiB and holds 5 of them, 1 node 5" in text


def test_pods_whose_memory_and_cores_fit_beside_each_other_pass() -> None:
    assert packing({"pools[0].nodes": 1, "servers[0].replicas": 8, "servers[0].memory": "100Gi"}) == []
    assert packing({"pools[0].nodes": 2, "servers[0].replicas": 8, "servers[0].memory": "200Gi"}) == []
    assert packing({"pools[0].nodes": 1, "servers[0].replicas": 8, "servers[0].cpu": "11"}) == []


def test_what_daemon_sets_take_refuses_where_it_is_stated_and_warns_where_it_is_assumed() -> None:
    full = {"pools[0].nodes": 1, "servers[0].replicas": 8, "servers[0].memory": "128Gi"}
    assert [severity for severity, _ in packing(full)] == ["warning"]
    stated = packing({**full, "pools[0].daemon_memory": "2Gi"})
    assert [severity for severity, _ in stated] == ["error"]
    assert "less 2.0 GiB of DaemonSets" in stated[0][1]


def test_cores_count_like_memory() -> None:
    ((severity, text),) = packing({"pools[0].nodes": 1, "servers[0].replicas": 8, "servers[0].cpu": "20"})
    assert severity == "error"
    assert "8 pods x 20 cores of cpu" in text


@pytest.mark.parametrize(
    ("changes", "value", "told"),
    [
        ({}, "no Ray", "nothing here needs it"),
        ({"wishes": {"requests_per_second": 49}}, "no Ray", "49 requests per second (wishes.requests_per_second), below 50"),
        ({"wishes": {"requests_per_second": 50}}, "no Ray", "nothing here needs it"),
        ({"wishes": {"concurrent": 600}}, "no Ray", "2 requests per second (wishes.concurrent 600 / 300 s), below 50"),
        ({"wishes": {"swaps_per_day": 4}}, "no Ray", "exchanged 4 times a day"),
        ({"gpus": 16, "engine": {"tensor_parallel_size": 8, "pipeline_parallel_size": 2}}, "no Ray", "a LeaderWorkerSet"),
        ({"wishes": {"one_scaler": True}}, "Ray", "several models behind one scaler"),
        ({"wishes": {"python_around": True, "requests_per_second": 5}}, "Ray", "against it: 5 requests per second"),
    ],
)
def test_ray_is_decided_from_load_swaps_nodes_and_what_stands_around_the_engine(changes: dict[str, Any], value: str, told: str) -> None:
    why = planned(**changes).why["ray"]
    assert (why.value, told in why.reason) == (value, True), why.told


def test_parts_of_cards_that_must_lie_together_need_ray_and_single_shares_do_not() -> None:
    shares = {"pools[0].share": {"kind": "time-slicing", "replicas": 4}}
    assert plan(config({**shares, "servers[0].gpus": 2}), "dev").servers[0].why["ray"].value == "Ray"
    assert plan(config(shares), "dev").servers[0].why["ray"].value == "no Ray"


def test_one_model_on_mixed_cards_needs_no_ray_in_any_order_of_the_servers() -> None:
    data = config_data()
    data["pools"].append({**data["pools"][0], "name": "l40s", "gpu": "l40s"})
    data["servers"].append({**data["servers"][0], "name": "other", "pool": "l40s"})
    for servers in (data["servers"], data["servers"][::-1]):
        told = {each.why["ray"].told for each in plan(load({**data, "servers": servers}), "dev").servers}
        assert len(told) == 1
        assert "mixed cards (h100-80gb-sxm, l40s)" in told.pop()


def test_kv_blocks_kept_in_the_host_widen_shared_memory_and_the_pod() -> None:
    plain, kept = planned(), planned(engine={"kv_offloading_size": 50})
    assert (plain.shm, kept.shm) == ("1Gi", "51Gi")
    assert bytes_of(kept.memory) - bytes_of(plain.memory) == 50 * GIB
    assert "kv_offloading_size 50 GiB" in kept.why["shm"].reason
    assert planned(engine={"kv_offloading_size": 50, "kv_offloading_backend": "lmcache"}).shm == "1Gi"
    assert planned(engine={"kv_offloading_size": 50}, shm="60Gi").shm == "60Gi"


def test_shared_memory_that_does_not_hold_the_kept_blocks_is_refused_where_they_lie_in_it() -> None:
    def refused(image: str, **fields: Any) -> list[str]:
        data = {"servers[0].engine": {"kv_offloading_size": 50}, "servers[0].image": {"reference": f"vllm/vllm-openai:{image}"}}
        made = preview(config(data | {f"servers[0].{name}": value for name, value in fields.items()}), "dev", today=TODAY)
        return [each.path for each in made.refused if each.code == "MEM-013"]

    assert refused("v0.33.0", shm="2Gi", memory="200Gi") == ["servers[0].shm"]
    assert refused("v0.26.0", shm="2Gi", memory="200Gi") == []
    assert refused("v0.33.0") == []


def test_a_batch_mixes_as_many_adapters_as_are_named_and_fit() -> None:
    lora = {"enable_lora": True, "max_lora_rank": 16, "lora_modules": ["a=/a", "b=/b", "c=/c"]}
    made = planned(engine=lora)
    assert made.args.engine.max_loras == 3
    assert "one after another" in made.why["max_loras"].instead
    assert planned(engine=lora | {"max_loras": 1}).args.engine.max_loras == 1
    assert planned(engine=lora | {"lora_modules": ["a=/a"]}).args.engine.max_loras is None
    assert planned(engine=lora | {"lora_modules": [f"a{index}=/a" for index in range(20)]}).args.engine.max_loras == 8


@pytest.mark.parametrize(
    ("engine", "told"),
    [({}, "on, the next step"), ({"speculative_config": {"method": "suffix", "num_speculative_tokens": 3}}, "off, drafts by suffix")],
)
def test_asynchronous_scheduling_is_left_to_the_engine_and_what_it_does_is_told(engine: dict[str, Any], told: str) -> None:
    made = planned(engine=engine)
    assert "async_scheduling" not in made.args.engine.stated()
    assert told in made.why["async_scheduling"].reason
