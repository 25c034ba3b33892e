"""One vocabulary for the configs of all model types: fields under their usual names, and what a config leaves to its class."""

from typing import Any

from interlock.infra.catalog.tables import table
from interlock.infra.sizing.model.config import Config, integer, mapping, text
from interlock.infra.sizing.model.families import family

# Sizes that are never taken from a class: a config without them describes no model.
_OWN = ("hidden_size", "num_hidden_layers", "d_model", "n_embd", "n_layer", "n_layers")


def _classes() -> dict[str, dict[str, Any]]:
    found = table("config_fields.json")["model_types"]
    assert isinstance(found, dict)
    return found


def in_transformers(model_type: str) -> bool:
    """Whether transformers has a class for it."""
    return model_type in _classes()


def normalise(config: Config) -> Config:
    """The config with its fields under their usual names too, and with its class's defaults where it says nothing.

    A field that is stated as null counts as stated. Without the sizes that tell models apart nothing is filled in.
    """
    model_type = text(config, "model_type")
    row, own_row = _classes().get(model_type, {}), family(model_type)
    found = dict(config)
    for name, own in {**row.get("names", {}), **own_row.names}.items():
        if own in found and name not in found:
            found[name] = found[own]
        elif name in found and own not in found:
            found[own] = found[name]
    for name, (outer, inner) in own_row.nested.items():
        if inner in mapping(config, outer):
            found.setdefault(name, mapping(config, outer)[inner])
    if not (integer(found, "hidden_size", "d_model") and integer(found, "num_hidden_layers", "encoder_layers")):
        return found
    return {**{name: value for name, value in row.get("defaults", {}).items() if name not in _OWN}, **found}
