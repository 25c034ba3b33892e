"""Runs in the Ray environment: reads Serve configurations as a JSON list of texts, and prints what Ray's own classes say of each.

One answer for each: {"error": TEXT} or {"models": [{"id", "bundles", "strategy", "options"}]}.
"""

import json
import sys
from typing import Any

from ray.llm._internal.common.placement import PlacementGroupConfig
from ray.llm._internal.serve.core.configs.llm_config import LLMConfig
from ray.serve.schema import ServeDeploySchema


def answer(text: str) -> dict[str, Any]:
    """What Ray says of one configuration."""
    try:
        schema = ServeDeploySchema.model_validate(json.loads(text))
        (application,) = schema.applications
        args = application.args
        return {"models": [model(each) for each in args.get("llm_configs") or [args["llm_config"]]]}
    except Exception as error:
        return {"error": str(error) or type(error).__name__}


def model(data: dict[str, Any]) -> dict[str, Any]:
    """One model, its bundles expanded as VLLMEngineConfig does it."""
    config = LLMConfig(**data)
    placed = PlacementGroupConfig(**(config.placement_group_config or {}))
    sizes = [config.engine_kwargs.get(name, 1) for name in ("tensor_parallel_size", "pipeline_parallel_size")]
    each = placed.bundle_per_worker
    bundles = [each.model_dump()] * (sizes[0] * sizes[1]) if each else [bundle.model_dump() for bundle in placed.bundles or []]
    return {"id": config.model_id, "bundles": bundles, "strategy": placed.strategy, "options": config.deployment_config}


if __name__ == "__main__":
    json.dump([answer(text) for text in json.load(sys.stdin)], sys.stdout)
