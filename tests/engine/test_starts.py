"""The real vLLM starts with what the plan makes of wishes for models of five families, answers, and does so within the planned time."""

import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from interlock.infra.config import load
from interlock.infra.plan.plan import plan
from interlock.infra.plan.types import PlannedServer
from tools.common import ToolError
from tools.engine_env import env
from tools.runtime.real import ENVIRONMENT
from tools.runtime.testing import free_port
from tools.starts import worker
from tools.starts.judged import Starts

# Processors have no graphs, and their kernel for experts takes no float32.
CPU = {"dtype": "bfloat16", "enforce_eager": True}
# The worker stays in the engine core, as on one GPU.
ONE_PROCESS = {"VLLM_ENABLE_V1_MULTIPROCESSING": "0"}
TEXT = {"longest_prompt": 300, "longest_answer": 100, "concurrent": 4}
CHAT = ("/v1/chat/completions", {"messages": [{"role": "user", "content": "hello"}], "max_tokens": 4})
VECTOR = ("/v1/embeddings", {"input": "hello"})


@dataclass(frozen=True, slots=True)
class Family:
    """A tiny model under a name by which the plan knows its family, and what is wished of it."""

    model: str
    name: str
    wishes: Mapping[str, Any]
    ask: tuple[str, Mapping[str, Any]] = CHAT
    decided: tuple[str, ...] = ()
    """Arguments that the plan must have decided for the start to mean anything."""


FAMILIES = {
    "llama": Family("dense", "meta-llama/Llama-2-tiny", {**TEXT, "goal": "latency"}, decided=("max_num_queued_tokens",)),
    "gemma": Family("sliding", "google/gemma-2-tiny", {**TEXT, "goal": "throughput"}, decided=("max_num_seqs", "max_model_len")),
    "qwen3-moe": Family("moe", "Qwen/Qwen3-tiny-Coder", {**TEXT, "task": "code"}, decided=("tool_call_parser",)),
    "deepseek": Family("mla", "deepseek-ai/DeepSeek-V2-tiny", {"requests_per_second": 0.1}, decided=("max_num_seqs",)),
    "encoder": Family("pooling", "BAAI/bge-tiny", {"task": "embed", "concurrent": 4}, VECTOR, ("runner",)),
}


def planned(family: Family, folder: Path) -> PlannedServer:
    """The server as the plan makes it for a GPU; a person has stated what a processor needs."""
    server = {
        "name": "tiny",
        "pool": "p",
        "model": {"id": family.name, "path": str(folder), "config": json.loads((folder / "config.json").read_text())},
        "wishes": dict(family.wishes),
        "engine": CPU,
        "image": {"reference": "vllm/vllm-openai:v0.32.0"},
        "runtime": {"supervised": False},
    }
    pool = {"name": "p", "gpu": "h100-80gb-sxm", "nodes": 1, "gpus_per_node": 1}
    config = load({"target": {"local": "x"}, "namespace": "n", "pools": [pool], "servers": [server]})
    return plan(config, "starts").servers[0]


@pytest.fixture(scope="module")
def servers() -> Mapping[str, PlannedServer]:
    """The plan of each family's server."""
    try:
        environment = env.folder()
        if not env.whole(environment):
            pytest.skip("the engine environment is not built: python -m tools.engine_env")
        return {name: planned(family, env.model(environment, family.model)) for name, family in FAMILIES.items()}
    except ToolError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def started(servers: Mapping[str, PlannedServer], tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, dict[str, Any]]:
    """What came of each server, one after another."""
    folder, jobs = tmp_path_factory.mktemp("starts"), []
    for name, server in servers.items():
        port, (route, body) = free_port(), FAMILIES[name].ask
        argv = [*server.args.model_copy(update={"port": port}).to_argv(), "--host", "127.0.0.1"]
        files = {"log": str(folder / f"{name}.log"), "told": str(folder / f"{name}.json")}
        jobs.append({"argv": argv, "port": port, "route": route, "body": {"model": server.args.served_model_name, **body}, **files})
    (folder / "jobs.json").write_text(json.dumps(jobs))
    command = [str(env.python_of(env.folder())), worker.__file__, str(folder / "jobs.json")]
    done = subprocess.run(command, cwd=folder, env=os.environ | ENVIRONMENT | ONE_PROCESS, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return {name: json.loads((folder / f"{name}.json").read_text()) for name in servers}


@pytest.mark.parametrize("name", FAMILIES)
def test_the_engine_starts_with_the_planned_arguments_answers_and_is_ready_within_the_planned_time(
    name: str, servers: Mapping[str, PlannedServer], started: Mapping[str, dict[str, Any]], record_property: Any, starts: Starts
) -> None:
    server, found = servers[name], started[name]
    assert set(FAMILIES[name].decided) <= server.args.engine.stated().keys() - CPU.keys()
    assert found["status"] == 200, (server.args.to_argv(), found["text"], found["log"])
    seconds = found["imports"] + found["seconds"]
    record_property("start", starts.add(name, seconds, server.start.cold.container))
    assert seconds <= server.times.startup
