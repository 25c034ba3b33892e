"""What the plan must know about a model: from the config's typed fields first, else from the catalog."""

from dataclasses import dataclass

from interlock.infra.config.models import ModelConfig
from interlock.infra.values import GIB


@dataclass(frozen=True, slots=True)
class ModelShape:
    """The few model facts that placement needs; None = not known."""

    attention_heads: int | None
    kv_heads: int | None
    weight_bytes: int | None
    max_position: int | None
    source: str


def model_shape(model: ModelConfig) -> ModelShape:
    """The shape of ``model``."""
    stated = int(model.weights_gib * GIB) if model.weights_gib else None
    return ModelShape(model.attention_heads, model.kv_heads, stated, model.max_position, "config")
