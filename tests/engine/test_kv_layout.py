"""The KV cache that the real engine reports for tiny models of five families is the one the planner lays out."""

import json
import os
import re
import subprocess
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from interlock.cli.size_lines import answer_of
from tools.common import ToolError
from tools.engine_env import env

FAMILIES = ("dense", "mla", "sliding", "moe", "pooling")
# A pool of its own for each: the engine logs a line that it has logged before only once.
KV_BYTES = {family: (64 + 4 * number) * 1024**2 for number, family in enumerate(FAMILIES)}
ARGUMENTS: dict[str, Any] = {
    "max_model_len": 512,
    "max_num_batched_tokens": 2048,
    "max_num_seqs": 8,
    "block_size": 32,
    "dtype": "bfloat16",
    "enforce_eager": True,
}
# Builds the engine for one model after another and prints what its cache configuration holds.
START = """
import json, sys
from importlib.metadata import version
from vllm import LLM
from vllm.distributed import cleanup_dist_env_and_memory
for family, arguments in json.loads(sys.argv[1]).items():
    engine = LLM(**arguments).llm_engine
    cache = engine.vllm_config.cache_config
    print("FAMILY", json.dumps([family, version("vllm").split("+")[0], cache.num_gpu_blocks, cache.block_size]), flush=True)
    del engine, cache
    cleanup_dist_env_and_memory()
"""
LOGGED = re.compile(r"KV cache size: ([\d,]+) tokens(?:, Maximum concurrency for ([\d,]+) tokens per request: ([\d.]+)x)?")
SEPARATE = re.compile(r"Maximum concurrency for ([\d,]+) tokens per request: ([\d.]+)x")


def arguments_of(family: str) -> dict[str, Any]:
    """What the engine is started with."""
    # On a CPU latent attention takes blocks of 16, whatever is asked; its kernel for matrix tiles (AMX) takes multiples of 32.
    tiles = "amx_tile" in Path("/proc/cpuinfo").read_text("utf-8")
    own: dict[str, dict[str, Any]] = {"pooling": {"runner": "pooling"}, "mla": {"block_size": 32 if tiles else 16}}
    return ARGUMENTS | {"kv_cache_memory_bytes": KV_BYTES[family]} | own.get(family, {})


@pytest.fixture(scope="module")
def folders() -> Mapping[str, Path]:
    """The tiny models, by family."""
    try:
        environment = env.folder()
        if not env.whole(environment):
            pytest.skip("the engine environment is not built: python -m tools.engine_env")
        return {family: env.model(environment, family) for family in FAMILIES}
    except ToolError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def reported(folders: Mapping[str, Path]) -> Mapping[str, dict[str, Any]]:
    """What the engine logged and holds, by family."""
    asked = {family: {"model": str(folder)} | arguments_of(family) for family, folder in folders.items()}
    done = subprocess.run(
        [str(env.python_of(env.folder())), "-c", START, json.dumps(asked)],
        capture_output=True,
        text=True,
        check=False,
        cwd="/",
        env=os.environ | {"VLLM_ENABLE_V1_MULTIPROCESSING": "0", "HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1"},
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    return {line["family"]: line for line in parsed(done.stdout)}


def parsed(output: str) -> list[dict[str, Any]]:
    """The log of one run, cut at each family's last line."""
    found, parts = [], output.split("FAMILY ")
    for log, rest in pairwise(parts):
        family, version, blocks, block_size = json.loads(rest.splitlines()[0])
        line = {"family": family, "vllm_version": version, "num_blocks": blocks, "block_size": block_size}
        for match in LOGGED.finditer(log):
            line["kv_tokens"] = int(match[1].replace(",", ""))
        for match in SEPARATE.finditer(log):
            line |= {"length": int(match[1].replace(",", "")), "max_concurrency": float(match[2])}
        found.append(line)
    return found


def planned(family: str, folder: Path, version: str) -> dict[str, Any]:
    """The planner's answer to the same question."""
    config = json.loads((folder / "config.json").read_text())
    given = KV_BYTES[family] / 1024**3
    return answer_of({"id": family, "config": config, "vllm_version": version, "given_kv_gib": given} | arguments_of(family))


@pytest.mark.parametrize("family", [family for family in FAMILIES if family != "pooling"])
def test_blocks_tokens_and_concurrency_are_the_engines(
    family: str, folders: Mapping[str, Path], reported: Mapping[str, dict[str, Any]]
) -> None:
    line = reported[family]
    answer = planned(family, folders[family], line["vllm_version"])
    assert answer["verdict"] == "fits", answer["reasons"]
    assert answer["num_blocks"] == line["num_blocks"]
    assert abs(answer["kv_tokens"]["likely"] - line["kv_tokens"]) <= 1
    assert answer["max_model_len"] == line["length"]
    assert f"{answer['max_concurrency']['likely']:.2f}" == f"{line['max_concurrency']:.2f}"


def test_an_encoder_has_no_kv_cache_in_the_engine_and_in_the_plan(
    folders: Mapping[str, Path], reported: Mapping[str, dict[str, Any]]
) -> None:
    line = reported["pooling"]
    answer = planned("pooling", folders["pooling"], line["vllm_version"])
    assert "kv_tokens" not in line
    assert answer["verdict"] == "fits"
    assert (answer["kv_bytes_per_token"], answer["kv_tokens"]["likely"]) == (0, 0)
