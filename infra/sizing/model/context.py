"""The context a config.json allows (vLLM: ``config/model.py::_get_and_verify_max_len``)."""

from interlock.infra.catalog.versions import since
from interlock.infra.sizing.model.config import Config, integer, mapping, text
from interlock.infra.sizing.model.families import family
from interlock.infra.values import Version


def rope_of(config: Config) -> Config:
    """How its positions are rotated and scaled, under the older or the newer name; empty where the config says nothing."""
    return mapping(config, "rope_scaling") or mapping(config, "rope_parameters")


def limit_of(config: Config, version: Version) -> int:
    """Longest context in that version; 0 when the config does not say.

    A yarn factor is contained in the stated number of positions since 0.30; before, it was applied to the original one.
    """
    own = integer(config, "max_position_embeddings", "n_positions", "max_seq_len", "seq_length", "model_max_length", "max_target_positions")
    how = family(text(config, "model_type")).context
    if how == "behind padding":
        return max(0, own - integer(config, "pad_token_id", default=1) - 1)
    if how == "trained":
        return min(own, integer(config, "max_trained_positions") or own)
    scaling = rope_of(config)
    kind, factor = text(scaling, "rope_type", "type"), scaling.get("factor")
    if not isinstance(factor, int | float) or factor <= 1 or how == "stated":
        return own
    if kind in ("yarn", "deepseek_yarn"):
        original = integer(scaling, "original_max_position_embeddings")
        return int(original * factor) if original and not since("yarn_in_positions", version) else own
    return int(own * factor) if kind in ("linear", "dynamic") else own


def unscaled_of(config: Config) -> int:
    """With longrope the context before scaling, which is taken when none is stated; else 0."""
    longrope = text(rope_of(config), "rope_type", "type") == "longrope"
    return integer(config, "original_max_position_embeddings") if longrope else 0
