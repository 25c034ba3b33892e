"""Runs inside the throw-away environment of llm-d-planner: its overheads for each case on standard input (one JSON list)."""

import json
import sys
from types import SimpleNamespace
from typing import Any


def namespace(config: Any) -> Any:
    """A config.json as attributes, the way transformers gives it."""
    if isinstance(config, dict):
        return SimpleNamespace(**{key: namespace(value) if key == "text_config" else value for key, value in config.items()})
    return config


def main() -> None:
    from planner import capacity_planner as planner  # type: ignore[import-not-found]

    answers = {}
    for case in json.load(sys.stdin):
        try:
            config = namespace(case["config"])
            overhead = planner.estimate_vllm_activation_memory(config, case["tp"]) + planner.estimate_vllm_cuda_graph_memory()
            answers[case["id"]] = overhead + planner.estimate_vllm_non_torch_memory(case["tp"], case["pp"])
        except Exception as error:  # what it cannot answer counts as no answer
            answers[case["id"]] = f"{type(error).__name__}: {error}"[:120]
    print(json.dumps(answers))


if __name__ == "__main__":
    main()
