"""Flags, metrics and variables by version: the cases that articles get wrong, and the honesty about versions that were not read."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import pytest

from interlock.infra.catalog.vllm_flags import (
    canonical_flag,
    env_status,
    flag_facts,
    flag_status,
    metric_status,
    takes_value,
)
from interlock.infra.catalog.vllm_tables import Span, Standing, vllm_names


@pytest.mark.parametrize(
    ("name", "version", "standing", "to"),
    [
        ("--scheduler-policy", "0.33.0", Standing.RENAMED, "--scheduling-policy"),
        ("--scheduler-policy", None, Standing.RENAMED, "--scheduling-policy"),
        ("--draft-model", "0.33.0", Standing.RENAMED, "--speculative-config"),
        ("--num-speculative-tokens", "0.7.3", Standing.EXISTS, None),
        ("--num-speculative-tokens", "0.29.0", Standing.RENAMED, "--speculative-config"),
        ("--lora-dirs", "0.33.0", Standing.RENAMED, "--lora-modules"),
        ("--enable-metrics", "0.33.0", Standing.UNKNOWN, None),
        ("--swap-space", "0.17.1", Standing.EXISTS, None),
        ("--swap-space", "0.33.0", Standing.REMOVED, None),
        ("--task", "0.12.0", Standing.EXISTS, None),
        ("--task=embed", "0.13.0", Standing.RENAMED, "--runner"),
        ("--override-pooler-config", "0.33.0", Standing.RENAMED, "--pooler-config"),
        ("--attention-backend", "0.10.2", Standing.NOT_YET, None),
        ("--max-model-len", "0.33.0", Standing.EXISTS, None),
        ("--max-model-len", None, Standing.EXISTS, None),
        ("--max-model-len", "nightly", Standing.EXISTS, None),
        ("--attention-backend", None, Standing.UNSURE, None),
        ("--max-model-len", "0.99.0", Standing.UNSURE, None),
        ("--nonsense-of-mine", "0.99.0", Standing.UNSURE, None),
        ("--nonsense-of-mine", None, Standing.UNKNOWN, None),
    ],
)
def test_a_flag_stands_as_the_wheels_say(name: str, version: str | None, standing: Standing, to: str | None) -> None:
    status = flag_status(name, version)
    assert (status.standing, status.to) == (standing, to)


def test_a_version_that_was_not_read_is_like_its_neighbours_only_where_they_agree() -> None:
    assert "0.21.0" not in vllm_names("flags").versions
    assert flag_status("--max-num-seqs", "0.21.0").standing is Standing.EXISTS
    assert flag_status("--scheduler-policy", "0.21.0").standing is Standing.RENAMED
    split = next(n for n, spans in vllm_names("flags").spans.items() if spans[0].since == "0.22.0")
    assert flag_status(split, "0.21.0").standing is Standing.UNSURE
    assert flag_status("--attention-backend", "0.13.0rc1").standing is Standing.UNSURE


def test_a_replacement_that_the_version_lacks_is_not_proposed() -> None:
    assert flag_status("--mem-fraction-static", "0.6.6").to == "--gpu-memory-utilization"
    status = flag_status("--chat-template-text-format", "0.6.3.post1")
    assert (status.standing, status.to) == (Standing.NOT_YET, None)
    assert flag_status("--draft-model", "0.6.6").to is None


@pytest.mark.parametrize(
    ("written", "option"),
    [
        ("-tp", "--tensor-parallel-size"),
        ("-tp=4", "--tensor-parallel-size"),
        ("--tensor_parallel_size=2", "--tensor-parallel-size"),
        ("--no-enable-prefix-caching", "--enable-prefix-caching"),
        ("--speculative_config.model", "--speculative-config"),
        ("--device-memory-utilization", "--gpu-memory-utilization"),
        ("-O3", "-O"),
        ("--disable-log-stats", "--disable-log-stats"),
        ("--what_is_this", "--what-is-this"),
    ],
)
def test_every_written_form_belongs_to_one_option(written: str, option: str) -> None:
    assert canonical_flag(written) == option


def test_a_negated_form_exists_only_where_the_option_is_a_boolean() -> None:
    assert flag_status("--no-enable-prefix-caching", "0.33.0").exists
    assert not flag_status("--no-enable-prefix-caching", "0.5.5").exists
    assert not flag_status("--no-disable-log-stats", "0.33.0").exists
    assert flag_status("--disable-prefix-caching", "0.33.0").exists
    assert not flag_status("--disable-prefix-caching", "0.29.0").exists
    assert flag_status("--disable-log-requests", "0.33.0").exists
    assert flag_status("--disable-log-requests", "0.29.0").to is None


def test_a_second_name_exists_only_where_it_was_declared() -> None:
    assert flag_status("--device-memory-utilization", "0.33.0").exists
    assert not flag_status("--device-memory-utilization", "0.26.0").exists


def test_an_unambiguous_beginning_is_taken_as_argparse_takes_it() -> None:
    assert flag_status("--gpu-memory-util", "0.33.0").exists
    assert flag_status("--max-num", "0.33.0").standing is Standing.UNKNOWN


@pytest.mark.parametrize(
    ("flag", "version", "expected"),
    [
        ("-tp", None, True),
        ("--tensor-parallel-size=2", None, False),
        ("--enforce-eager", None, False),
        ("--no-enable-prefix-caching", None, False),
        ("--served-model-name", None, True),
        ("--enable-chunked-prefill", "0.6.6", True),
        ("--enable-chunked-prefill", "0.33.0", False),
        ("--invented", None, None),
    ],
)
def test_whether_the_next_argument_belongs_to_the_flag(flag: str, version: str | None, expected: bool | None) -> None:
    assert takes_value(flag, version) is expected


def test_defaults_and_choices_come_with_the_version() -> None:
    old, new = flag_facts("--gpu-memory-utilization", "0.11.2"), flag_facts("--gpu-memory-utilization", "0.33.0")
    assert old is not None
    assert new is not None
    assert (old["default"], new["default"]) == (0.9, 0.92)
    policy = flag_facts("--scheduling-policy", "0.33.0")
    assert policy is not None
    assert policy["choices"] == ["fcfs", "priority"]


@pytest.mark.parametrize(
    ("name", "version", "standing", "to"),
    [
        ("vllm:gpu_cache_usage_perc", "0.33.0", Standing.RENAMED, "vllm:kv_cache_usage_perc"),
        ("vllm:gpu_cache_usage_perc", "0.8.5", Standing.EXISTS, None),
        ("vllm:gpu_cache_usage_perc", "0.11.2", Standing.RENAMED, "vllm:kv_cache_usage_perc"),
        ("vllm:kv_cache_usage_perc", "0.8.5", Standing.NOT_YET, None),
        ("ray_vllm_kv_cache_usage_perc", "0.29.0", Standing.EXISTS, None),
        ("ray_vllm:num_requests_waiting", "0.29.0", Standing.EXISTS, None),
        ("vllm:time_per_output_token_seconds_bucket", "0.33.0", Standing.RENAMED, "vllm:inter_token_latency_seconds"),
        ("vllm:time_to_first_token_seconds_bucket", "0.33.0", Standing.EXISTS, None),
        ("vllm:generation_tokens_total", "0.6.6", Standing.EXISTS, None),
        ("vllm:iteration_tokens_total_bucket", "0.33.0", Standing.EXISTS, None),
        ("vllm:num_requests_waiting_by_reason", "0.17.1", Standing.NOT_YET, None),
        ("vllm:gpu_cache_usage_ratio", "0.33.0", Standing.RENAMED, "vllm:kv_cache_usage_perc"),
        ("vllm:model_load_time_s", "0.33.0", Standing.UNKNOWN, None),
    ],
)
def test_a_metric_stands_as_the_wheels_say(name: str, version: str, standing: Standing, to: str | None) -> None:
    status = metric_status(name, version)
    assert (status.standing, status.to) == (standing, to)


@pytest.mark.parametrize(
    ("name", "version", "standing", "to"),
    [
        ("VLLM_TENSOR_PARALLEL_SIZE", "0.33.0", Standing.RENAMED, "--tensor-parallel-size"),
        ("VLLM_TENSOR_PARALLEL_SIZE", None, Standing.RENAMED, "--tensor-parallel-size"),
        ("VLLM_ATTENTION_BACKEND", "0.10.2", Standing.EXISTS, None),
        ("VLLM_ATTENTION_BACKEND", "0.33.0", Standing.RENAMED, "--attention-backend"),
        ("VLLM_ENGINE_READY_TIMEOUT_S", "0.33.0", Standing.EXISTS, None),
        ("VLLM_ENGINE_READY_TIMEOUT_S", "0.10.2", Standing.NOT_YET, None),
        ("VLLM_USE_V1", "0.33.0", Standing.REMOVED, None),
        ("VLLM_MADE_UP", "0.33.0", Standing.UNKNOWN, None),
    ],
)
def test_an_environment_variable_stands_as_the_wheels_say(name: str, version: str | None, standing: Standing, to: str | None) -> None:
    status = env_status(name, version)
    assert (status.standing, status.to) == (standing, to)


def test_a_beginning_that_two_forms_share_names_neither() -> None:
    assert not flag_status("--device", "0.33.0").exists  # --device-ids, and the second name of --gpu-memory-utilization
    assert flag_status("--device-i", "0.33.0").exists


@pytest.mark.parametrize("kind", ["flags", "metrics", "env"])
def test_a_replacement_exists_today_and_what_it_replaces_does_not(kind: Literal["flags", "metrics", "env"]) -> None:
    data = vllm_names(kind)
    newest = data.versions[-1]
    for name, replacement in data.replacements.items():
        assert data.at(name, newest) is None, name
        assert replacement.source
        if replacement.to:
            target = vllm_names("flags") if replacement.to.startswith("-") else data
            assert target.at(replacement.to, newest), (name, replacement.to)


PARSERS = json.loads((Path(__file__).parents[1] / "data" / "vllm_parser_options.json").read_text("utf-8"))


def forms(option: str, facts: Mapping[str, Any]) -> set[str]:
    """Every option string of one option: itself, its second names, its negations."""
    found = {option, *facts.get("aliases", ())}
    if facts["kind"] in ("boolean", "toggle"):
        found.add(f"--no-{option.removeprefix('--')}")
    if facts["kind"] == "toggle":
        found.add(
            option.replace("--enable-", "--disable-") if option.startswith("--enable-") else option.replace("--disable-", "--enable-")
        )
    return found


@pytest.mark.parametrize("version", PARSERS)
def test_the_table_equals_the_options_of_the_real_parser(version: str) -> None:
    real = PARSERS[version]
    every = {*real["with_value"], *real["without"]}
    spans = {name: span for name in vllm_names("flags").spans if isinstance(span := vllm_names("flags").at(name, version), Span)}
    rewritten = {"-O"}  # the parser turns it into another option before argparse sees it
    assert {form for name, span in spans.items() for form in forms(name, span.facts)} - rewritten == every
    assert [o for o in every if not flag_status(o, version).exists] == []
    assert [o for o in real["with_value"] if takes_value(o, version) is not True] == []
    assert [o for o in real["without"] if takes_value(o, version) is not False] == []
