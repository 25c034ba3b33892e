"""Sizings per second on one core: ``python -m tools.bench.sizing``. The law of the planner is at least 1,000."""

import itertools
import json
import time

from interlock.infra.sizing import SizingRequest, size
from tools.common import run_main

MODELS = ("Qwen/Qwen3-8B", "google/gemma-3-27b-it", "openai/gpt-oss-120b", "deepseek-ai/DeepSeek-V3", "Qwen/Qwen3-Next-80B-A3B-Instruct")
GPUS = ("H100", "H200", "B200")
VERSIONS = ("0.11.0", "0.26.0", "0.33.0")
WANTED_PER_SECOND = 1000


def requests(count: int) -> list[SizingRequest]:
    mixes = itertools.cycle(itertools.product(MODELS, GPUS, VERSIONS, (1, 8)))
    return [
        SizingRequest(model=model, gpu=gpu, vllm_version=version, tp=tp, max_model_len=4096 + number)
        for number, (model, gpu, version, tp) in zip(range(count), mixes, strict=False)
    ]


def measure(count: int = 3000) -> dict[str, float]:
    """Every request differs; facts and weights of a model are derived once, as in a plan. Seconds are of the processor."""
    asked = requests(count)
    for request in asked[:90]:
        size(request, suggest=False)
    start = time.process_time()
    for request in asked:
        size(request, suggest=False)
    seconds = time.process_time() - start
    return {"sizings": count, "seconds": round(seconds, 3), "per_second": round(count / seconds), "wanted_per_second": WANTED_PER_SECOND}


def main(arguments: list[str]) -> int:
    found = measure()
    print(json.dumps(found))
    return 0 if found["per_second"] >= WANTED_PER_SECOND else 1


if __name__ == "__main__":
    run_main(main)
