"""Laws of what is derived: a person's values stay, orders do not count, more cards never harm, and every argument exists."""

import re
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from interlock.cli.page import page
from interlock.infra.catalog.vllm_flags import flag_facts, flag_status
from interlock.infra.config import ClusterConfig, load
from interlock.infra.engine.arguments import read_line
from interlock.infra.plan.costs import costliest
from interlock.infra.plan.derive.parallel import tp_candidates
from interlock.infra.plan.plan import plan
from interlock.infra.plan.servers import server_fits
from interlock.infra.preview import preview
from interlock.infra.preview.offers import with_offers
from interlock.infra.sizing import SizingRequest, model_facts
from interlock.infra.sizing.budget import start_refusals
from interlock.infra.sizing.refusal import Kind
from interlock.infra.values import Version
from tests.support import TODAY, changed

FEW = settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
MODELS = (
    *("Qwen/Qwen2.5-7B-Instruct", "Qwen/Qwen3-8B", "Qwen/Qwen2.5-72B-Instruct", "Qwen/Qwen3-235B-A22B-FP8", "openai/gpt-oss-20b"),
    *(
        "deepseek-ai/DeepSeek-R1",
        "deepseek-ai/DeepSeek-V2-Lite",
        "google/gemma-3-27b-it",
        "BAAI/bge-m3",
        "Qwen/Qwen2.5-VL-7B-Instruct",
        "mistralai/Mixtral-8x7B-v0.1",
    ),
)
WISHES: dict[str, list[Any]] = {
    "longest_prompt": [512, 8000, 30000],
    "longest_answer": [64, 2000],
    "concurrent": [1, 16, 200],
    "goal": ["latency", "throughput"],
    "quantized": [True, False],
    "task": ["chat", "code", "embed", "rerank"],
    "images": [0, 3],
}
STATED: dict[str, list[Any]] = {
    "tensor_parallel_size": [1, 2],
    "pipeline_parallel_size": [2],
    "max_model_len": [2048, 16384],
    "max_num_seqs": [32],
    "max_num_batched_tokens": [4096],
    "gpu_memory_utilization": [0.8],
    "max_num_queued_reqs": [50],
    "kv_cache_dtype": ["auto", "fp8"],
    "tool_call_parser": ["hermes"],
    "enable_auto_tool_choice": [True],
    "async_scheduling": [False],
    "runner": ["auto"],
    "kv_offloading_size": [20],
    "override_generation_config": [{"temperature": 0.5}],
}
VERSIONS = ("0.26.0", "0.29.0", "0.33.0")


SEEING = ("google/gemma-3-27b-it", "Qwen/Qwen2.5-VL-7B-Instruct")
VECTORS = ("BAAI/bge-m3",)


def met(model: str, wishes: dict[str, Any]) -> dict[str, Any]:
    """The wishes that the model can meet: the others are refused before anything is planned."""
    vain = {"images"} if wishes.get("images") and model not in SEEING else set()
    vain |= {"task"} if wishes.get("task") in ("chat", "code") and model in VECTORS else set()
    return {name: value for name, value in wishes.items() if name not in vain}


def some(fields: dict[str, list[Any]]) -> st.SearchStrategy[dict[str, Any]]:
    """A few of the fields, each with one of its values."""
    names = st.lists(st.sampled_from(sorted(fields)), unique=True, max_size=4)
    return names.flatmap(lambda chosen: st.fixed_dictionaries({name: st.sampled_from(fields[name]) for name in chosen}))


@st.composite
def stacks(draw: st.DrawFn) -> dict[str, Any]:
    """One pool and up to three servers that leave most to the plan."""
    pool: dict[str, Any] = {"name": "p", "gpu": draw(st.sampled_from(("h100-80gb-sxm", "l4", "h200")))}
    pool |= {"nodes": draw(st.integers(1, 3)), "gpus_per_node": draw(st.integers(1, 8)), "cpu": "96", "memory": "1Ti"}
    version = draw(st.sampled_from(VERSIONS))
    models = draw(st.lists(st.sampled_from(MODELS), min_size=1, max_size=3))
    servers = [
        {
            "name": f"s{index}",
            "model": {"id": model},
            "pool": "p",
            "replicas": draw(st.integers(1, 3)),
            "wishes": met(model, draw(some(WISHES))),
            "engine": draw(some(STATED)),
            "image": {"reference": f"vllm/vllm-openai:v{version}"},
        }
        for index, model in enumerate(models)
    ]
    return {"target": {"local": "x"}, "namespace": "n", "pools": [pool], "servers": servers}


def loaded(data: dict[str, Any]) -> ClusterConfig:
    return load(data)


@FEW
@given(stacks())
def test_a_stated_value_is_never_changed(data: dict[str, Any]) -> None:
    made = plan(loaded(data), "laws")
    for written, server in zip(data["servers"], made.servers, strict=True):
        decided = server.args.engine.stated()
        assert {name: decided[name] for name in written["engine"]} == written["engine"]
        assert server.config.wishes == loaded(data).servers[server.index].wishes


@FEW
@given(stacks())
def test_every_decided_value_has_its_reason(data: dict[str, Any]) -> None:
    for written, server in zip(data["servers"], plan(loaded(data), "laws").servers, strict=True):
        for name in server.args.engine.stated():
            assert name in written["engine"] or server.why[name].reason, name


@FEW
@given(stacks(), st.randoms(use_true_random=False))
def test_the_order_of_lists_counts_for_nothing(data: dict[str, Any], chance: Any) -> None:
    shuffled = list(data["servers"])
    chance.shuffle(shuffled)
    one, other = plan(loaded(data), "laws"), plan(loaded({**data, "servers": shuffled}), "laws")
    assert {server.name: server.args for server in one.servers} == {server.name: server.args for server in other.servers}


@FEW
@given(stacks(), st.sampled_from(("nodes", "gpus_per_node")), st.integers(1, 4))
def test_more_cards_never_turn_a_plan_into_a_refusal(data: dict[str, Any], field: str, more: int) -> None:
    before = preview(loaded(data), "laws", today=TODAY)
    if before.refused:
        return
    pool = data["pools"][0]
    larger = {**data, "pools": [{**pool, field: pool[field] + more}]}
    assert not preview(loaded(larger), "laws", today=TODAY).refused


@FEW
@given(stacks())
def test_every_argument_exists_in_the_version_with_a_value_that_its_parser_takes(data: dict[str, Any]) -> None:
    for server in plan(loaded(data), "laws").servers:
        written = data["servers"][server.index]["engine"]
        for flag in read_line(server.args.to_argv()).flags:
            name = flag.name.replace("-", "_")
            if name in written:
                continue
            assert flag_status(f"--{flag.name}", server.vllm).exists, f"--{flag.name} in {server.vllm}"
            facts = flag_facts(f"--{flag.name}", server.vllm) or {}
            choices = [str(choice) for choice in facts.get("choices", ())]
            # The kubelet puts the pod's number in the group in place of this reference before the engine sees it.
            value = flag.value.get().replace("$(LWS_WORKER_INDEX)", "1")
            assert not choices or value in choices, flag
            assert facts.get("type") != "int" or value.isdigit(), flag


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(MODELS), st.integers(1, 16), st.sampled_from(VERSIONS), st.booleans())
def test_the_candidates_are_the_sizes_that_the_engine_accepts(name: str, most: int, version: str, spread: bool) -> None:
    facts, found = model_facts(name), Version.parse(version)
    assert facts is not None
    candidates = tp_candidates(facts, most, found, expert_parallel=spread)
    for tp in range(1, most + 1):
        request = SizingRequest(model=name, tp=tp, vllm_version=version, expert_parallel=spread, gpu="h100-80gb-sxm", max_model_len=512)
        refused = {each.kind for each in start_refusals(request)} & {Kind.HEADS, Kind.WIDTHS, Kind.GROUPS}
        assert (tp in candidates) == (not refused), (tp, refused)


@st.composite
def crowded(draw: st.DrawFn) -> dict[str, Any]:
    """A stack whose stated sizes seldom fit."""
    data = draw(stacks())
    data["pools"].append({"name": "q", "gpu": "h200", "nodes": 1, "gpus_per_node": 8, "cpu": "96", "memory": "1Ti"})
    for server in data["servers"]:
        server["engine"] |= draw(st.sampled_from(({"tensor_parallel_size": 1}, {"max_model_len": 131072}, {})))
        server["replicas"] = draw(st.integers(1, 12))
    return data


@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(crowded())
def test_what_is_offered_removes_its_finding_and_brings_no_other_refusal(data: dict[str, Any]) -> None:
    config = loaded(data)
    made = with_offers(config, preview(config, "laws", today=TODAY), TODAY)
    for offer in made.offers:
        after = data
        for fix in offer.fixes:
            after = changed(after, fix.path, fix.value)
        left = {(each.code, each.subject.name) for each in preview(loaded(after), "laws", today=TODAY).refused}
        assert left < {(each.code, each.subject.name) for each in made.refused}, offer


@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(stacks(), st.integers(0, 24))
def test_a_quota_is_never_overrun_by_a_rollout_that_the_plan_chose(data: dict[str, Any], units: int) -> None:
    made = plan(loaded({**data, "tenants": [{"name": "n", "gpus": {"p": units}}]}), "laws")
    asked = sum(server.gpus * server.max_replicas for server in made.servers)
    assert all(asked + server.gpus * server.surge <= units for server in made.servers if server.surge)


@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(stacks(), st.randoms(use_true_random=False))
def test_what_costs_most_and_the_decision_about_ray_depend_on_no_order(data: dict[str, Any], chance: Any) -> None:
    mixed = {**data, "servers": chance.sample(data["servers"], len(data["servers"]))}
    one, other = plan(loaded(data), "laws"), plan(loaded(mixed), "laws")
    assert costliest(one) == costliest(other)
    assert {each.name: each.why["ray"] for each in one.servers} == {each.name: each.why["ray"] for each in other.servers}


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(stacks())
def test_every_plan_has_a_page_with_each_server_pod_and_finding_and_no_way_out_of_it(data: dict[str, Any]) -> None:
    config = loaded(data)
    made = preview(config, "laws", today=TODAY)
    text = page(made, server_fits(config))
    assert all(f'id="server-{server.name}"' in text for server in made.servers)
    assert text.count('class="finding ') == len(made.findings)
    assert set(re.findall(r'href="(.)', text)) == {"#"}
    assert text.count("<div") == text.count("</div>")
