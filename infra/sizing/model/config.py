"""Reading a model's config.json without trusting it: a field may be missing, null, nested or nonsense."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

Config = Mapping[str, Any]

# Where multimodal configs keep the language model.
_TEXT_KEYS = ("text_config", "llm_config", "language_config", "thinker_config")


def text_of(config: Config) -> Config:
    """The language model's part of a config, with the outer fields as a fallback."""
    for key in _TEXT_KEYS:
        inner = config.get(key)
        if isinstance(inner, Mapping):
            return {**{k: v for k, v in config.items() if k not in inner and k != key}, **text_of(inner)}
    return config


# No field of a real config is larger; what is, is nonsense and would only keep loops busy.
_LARGEST = 2**40
_MOST_LAYERS = 4096


def integer(config: Config, *names: str, default: int = 0) -> int:
    """The first of the named fields that is a whole number of at least 0, else the default."""
    for name in names:
        value = config.get(name)
        if isinstance(value, bool):
            continue
        if isinstance(value, int) and 0 <= value <= _LARGEST:
            return value
        if isinstance(value, float) and math.isfinite(value) and 0 <= value <= _LARGEST and value == int(value):
            return int(value)
    return default


def layers_in(config: Config, *names: str) -> int:
    """A number of layers; more than any model has counts as none."""
    count = integer(config, *names)
    return count if count <= _MOST_LAYERS else 0


def truth(config: Config, name: str, default: bool = False) -> bool:
    """A boolean field."""
    value = config.get(name)
    return value if isinstance(value, bool) else default


def text(config: Config, *names: str, default: str = "") -> str:
    """The first of the named fields that is a non-empty string."""
    for name in names:
        value = config.get(name)
        if isinstance(value, str) and value:
            return value
    return default


def sequence(config: Config, name: str) -> Sequence[Any]:
    """A list field, or an empty tuple."""
    value = config.get(name)
    return value if isinstance(value, list | tuple) else ()


def mapping(config: Config, name: str) -> Config:
    """A nested object, or an empty one."""
    value = config.get(name)
    return value if isinstance(value, Mapping) else {}


def ceil_div(a: int, b: int) -> int:
    """Division rounded up."""
    return -(-a // b)


def round_up(value: int, step: int) -> int:
    """The next multiple of step."""
    return ceil_div(value, step) * step
