"""Configs as people may write them, drawn at random and the same for the same seed, and the command lines that the plan makes of them."""

import contextlib
import datetime as dt
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from interlock.infra.catalog.models import names as catalogue
from interlock.infra.catalog.vllm_flags import flag_status
from interlock.infra.config import load
from interlock.infra.engine.args import EngineArgs, ServeArgs
from interlock.infra.engine.options import MANAGED, SWITCHES, Option, options
from interlock.infra.errors import ConfigError
from interlock.infra.plan.plan import plan
from interlock.infra.preview import preview
from interlock.infra.sizing.request import AUTO

Argv = tuple[str, ...]
TODAY = dt.date(2026, 12, 1)
WISHES: Mapping[str, list[Any]] = {
    "longest_prompt": [512, 8000, 30000],
    "longest_answer": [64, 2000],
    "concurrent": [1, 16, 200],
    "requests_per_second": [0.5, 20],
    "goal": ["latency", "throughput"],
    "quantized": [True, False],
    "task": ["chat", "code", "embed", "rerank", "transcribe"],
    "images": [0, 3],
}
SHAPES: tuple[Mapping[str, Any], ...] = (
    {},
    {},
    {"engine": {"data_parallel_size": 2}},
    {"gpus": 16, "engine": {"tensor_parallel_size": 8, "pipeline_parallel_size": 2}},
    {"gpus": 16, "engine": {"data_parallel_size": 16, "enable_expert_parallel": True}},
    {"gpus": 16, "balance": "nodes", "engine": {"data_parallel_size": 4, "tensor_parallel_size": 4}},
    {"gpus": 16, "balance": "nodes", "engine": {"data_parallel_size": 2, "tensor_parallel_size": 8}},
    {"transfer": {"role": "prefill"}},
    {"transfer": {"role": "decode"}},
    {"runtime": {"supervised": False}},
    {"engine": {"enable_lora": True, "max_lora_rank": 16, "lora_modules": ["a=/a", "b=/b"]}},
    {"engine": {"speculative_config": {"method": "ngram", "num_speculative_tokens": 3, "prompt_lookup_max": 4}}},
    {"engine": {"kv_offloading_size": 20}},
    {"engine": {"override_generation_config": {"temperature": 0.5}, "limit_mm_per_prompt": {"image": 2}}},
    {"extra": {"args": ["--max-num-batched-tokens=8k", "--hf-overrides.rope_theta", "1e6"]}},
)
"""What a server states beside its wishes: replicas on several nodes, pairs, adapters, drafts, and JSON."""
OWN: Mapping[str, list[Any]] = {
    "chat_template": ["{{ messages }}"],
    "reasoning_effort_map": [{}, {"low": "brief"}, {"no_such_key": "brief"}],
    "quantization_config": [{}, {"linear": "fp8_per_tensor"}, {"ignore": ["lm_head"]}, {"no_such_key": 1}],
    "max_model_len": [AUTO, 1, 4096],
    "kv_cache_memory_bytes": ["4G"],
}
"""Values of arguments that take neither any text nor any object, or more than their type says."""
POOLS: tuple[Mapping[str, Any], ...] = (
    {"gpu": "h100-80gb-sxm", "nodes": 4, "gpus_per_node": 8},
    {"gpu": "h200", "nodes": 2, "gpus_per_node": 8},
    {"gpu": "l4", "nodes": 3, "gpus_per_node": 2},
    {"gpu": "h100-80gb-sxm", "nodes": 1, "gpus_per_node": 2, "share": {"kind": "time-slicing", "replicas": 3}},
)


@dataclass(frozen=True, slots=True)
class Line:
    """One command line of the plan, and the config that it was made from."""

    data: Mapping[str, Any]
    argv: Argv
    told: str = ""
    """What was stated, where that is all there is to it."""

    def refused(self) -> bool:
        """Whether the config is refused before anything starts."""
        try:
            return bool(preview(load(dict(self.data)), "parsers", today=TODAY).refused)
        except ConfigError:
            return True


def planned(version: str, count: int, seed: int = 1, models: tuple[str, ...] = ()) -> Iterator[Line]:
    """The command lines of ``count`` drawn stacks; ``models``: the ones to draw from, all of the catalogue where none is named."""
    chance = random.Random(seed)
    for _ in range(count):
        data = drawn(chance, version, models or catalogue())
        # A wish that the model cannot meet has no command line.
        with contextlib.suppress(ConfigError):
            yield from [Line(data, argv) for argv in command_lines(data)]


def drawn(chance: random.Random, version: str, models: tuple[str, ...]) -> dict[str, Any]:
    """A stack of one server."""
    wishes = {name: chance.choice(WISHES[name]) for name in chance.sample(sorted(WISHES), chance.randint(0, 4))}
    if "concurrent" in wishes:
        wishes.pop("requests_per_second", None)
    server = {**_server(chance.choice(models), version), "replicas": chance.randint(1, 2), "wishes": wishes}
    return _stack({**server, **chance.choice(SHAPES)}, chance.choice(POOLS))


def _server(model: str, version: str) -> dict[str, Any]:
    return {"name": "s", "pool": "p", "model": {"id": model}, "image": {"reference": f"vllm/vllm-openai:v{version}"}}


def _stack(server: dict[str, Any], pool: Mapping[str, Any]) -> dict[str, Any]:
    whole = {"name": "p", "cpu": "96", "memory": "1Ti", **pool}
    return {"target": {"local": "x"}, "namespace": "n", "pools": [whole], "servers": [server]}


def command_lines(data: dict[str, Any]) -> Iterator[Argv]:
    """What the containers of each server are started with, after the controller's references are resolved."""
    for server in plan(load(data), "parsers").servers:
        for worker in (False, True) if server.args.group else (False,):
            yield tuple(resolved(word) for word in server.args.to_argv(worker=worker))


def resolved(word: str) -> str:
    """As the kubelet writes the references to a LeaderWorkerSet's own variables."""
    return word.replace("$(LWS_WORKER_INDEX)", "1").replace("$(LWS_LEADER_ADDRESS)", "s-0.s.n")


def stated(version: str) -> Iterator[Line]:
    """Command lines with one more argument, for values of the type of each that the config takes in ``version``."""
    for option in options().values():
        if option.name in MANAGED or not flag_status(option.flag, version).exists:
            continue
        for value in values(option):
            data = _stack({**_server("Qwen/Qwen2.5-7B-Instruct", version), "engine": {option.name: value}}, POOLS[0])
            try:
                argv = ServeArgs(model="some/model", served_model_name="some/model", engine=EngineArgs(**{option.name: value})).to_argv()
            except ValidationError:
                continue
            yield Line(data, argv, f"{option.name}: {value!r}")


def values(option: Option) -> list[Any]:
    """Values of an argument's own type."""
    if option.kind in SWITCHES:
        return [True, False]
    if option.choices:
        return list(option.choices)
    if option.kind == "list" or isinstance(option.default, list):
        return [["1", "2"], [1], "a"]
    if option.kind == "optional":
        return [True, "a"]
    if isinstance(option.default, str) and option.default:
        return [option.default]
    typed: dict[str, list[Any]] = {"int": [1, 64], "float": [0.5, 1], "json": [{}, {"no_such_key": 1}]}
    return OWN.get(option.name) or typed.get(option.type, ["a"])
