"""Sizings per second on one core: ``python -m tools.bench.sizing``. The law of the planner is at least 1,000."""

import itertools
import statistics
import time

from interlock.infra.sizing import SizingRequest, size
from tools.bench.goals import Goal
from tools.common import run_main, say

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


def measure(count: int = 1500, times: int = 3) -> float:
    """Sizings per second of the processor: the median of ``times``.

    Every request differs; facts and weights of a model are derived once.
    """
    asked = requests(count)
    for request in asked[:90]:
        size(request, suggest=False)
    taken = []
    for _ in range(times):
        started = time.process_time()
        for request in asked:
            size(request, suggest=False)
        taken.append(time.process_time() - started)
    return count / statistics.median(taken)


def main(arguments: list[str]) -> int:
    """Measures and prints the number."""
    del arguments
    say(str(Goal("sizings", measure(), "a second on one core", WANTED_PER_SECOND, at_least=True)))
    return 0


if __name__ == "__main__":
    run_main(main)
