"""A prefill and a decode server of the real vLLM, started with what the plan makes of both, hand the KV cache of a request over NIXL."""

import json
import os
import subprocess
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

# In bfloat16 a step that begins with tokens from elsewhere meets an illegal instruction of the processor's kernels.
CPU = {"dtype": "float32", "enforce_eager": True}
# Interfaces of pods come and go on a machine that has a real node.
ONE_MACHINE = {"VLLM_ENABLE_V1_MULTIPROCESSING": "0", "UCX_NET_DEVICES": "lo", "UCX_TLS": "tcp,self", "PYTHONFAULTHANDLER": "1"}
PROMPT = {"prompt": "hello " * 40, "temperature": 0}


def planned(folder: Path) -> tuple[PlannedServer, ...]:
    """Both sides as the plan makes them for GPUs; a person has stated what a processor needs."""
    own = json.loads((folder / "config.json").read_text())
    servers = [
        {
            "name": role,
            "pool": "p",
            "model": {"id": "meta-llama/Llama-2-tiny", "path": str(folder), "config": own},
            "wishes": {"longest_prompt": 300, "longest_answer": 100, "concurrent": 4},
            "engine": CPU,
            "image": {"reference": "vllm/vllm-openai:v0.32.0"},
            "runtime": {"supervised": False},
            "transfer": {"role": role, "port": free_port(), "router": "splitter"},
        }
        for role in ("prefill", "decode")
    ]
    pool = {"name": "p", "gpu": "h100-80gb-sxm", "nodes": 1, "gpus_per_node": 2}
    return plan(load({"target": {"local": "x"}, "namespace": "n", "pools": [pool], "servers": servers}), "pairs").servers


def job(server: PlannedServer, folder: Path, body: dict[str, Any]) -> dict[str, Any]:
    """How a side is started on this machine, where both have one address, and what it is asked."""
    assert server.config.transfer is not None
    port = free_port()
    argv = [*server.args.model_copy(update={"port": port}).to_argv(), "--host", "127.0.0.1"]
    side = {"VLLM_NIXL_SIDE_CHANNEL_HOST": "127.0.0.1", "VLLM_NIXL_SIDE_CHANNEL_PORT": str(server.config.transfer.port)}
    asked = {"model": server.args.served_model_name, **PROMPT, **body}
    made = {"argv": argv, "port": port, "route": "/v1/completions", "body": asked, "environment": side}
    return {**made, "log": str(folder / f"{server.name}.log")}


def test_a_request_is_read_by_one_side_and_answered_by_the_other_as_if_it_were_whole(tmp_path: Path, starts: Starts) -> None:
    try:
        if not env.whole(env.folder()) or not env.nixl().is_dir():
            pytest.skip("the engine environment is not built: python -m tools.engine_env")
        read, write = planned(env.model(env.folder(), "dense"))
    except ToolError as error:
        pytest.skip(str(error))
    # What a router asks of the prefill side (vLLM documentation, NixlConnector usage guide).
    remote = {"do_remote_decode": True, "do_remote_prefill": False}
    first = job(read, tmp_path, {"max_tokens": 1, "kv_transfer_params": remote})
    whole = {**job(write, tmp_path, {"max_tokens": 8}), "first": first, "told": str(tmp_path / "told.json")}
    (tmp_path / "jobs.json").write_text(json.dumps([whole]))
    command = [str(env.python_of(env.folder())), worker.__file__, str(tmp_path / "jobs.json")]
    surroundings = os.environ | ENVIRONMENT | ONE_MACHINE | {"PYTHONPATH": str(env.nixl())}
    done = subprocess.run(command, cwd=tmp_path, env=surroundings, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    told = json.loads((tmp_path / "told.json").read_text())
    assert told["status"] == 200, (told["text"], told["log"])
    assert told["handed"]["do_remote_prefill"] is True
    assert text(told["text"]) == text(told["whole"])
    counts = [line for line in told["metrics"] if line.startswith("vllm:nixl_xfer_time_seconds_count")]
    assert [line.rpartition(" ")[2] for line in counts] == ["1.0"], told["metrics"]
    starts.add("prefill", told["imports"] + told["first_seconds"], read.start.cold.container)
    starts.add("decode", told["imports"] + told["seconds"], write.start.cold.container)


def text(answer: str) -> str:
    found: str = json.loads(answer)["choices"][0]["text"]
    return found
