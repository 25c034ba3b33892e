"""Modules that a quantized checkpoint leaves in the model's dtype."""

import re

from interlock.infra.sizing.model.config import Config


def matches(pattern: str, module: str) -> bool:
    """vLLM and the tools spell exclusions as regular expressions (``re:``), wildcards, prefixes or last names."""
    if pattern.startswith("re:"):
        try:
            return re.match(pattern[3:], module + ".proj") is not None or re.match(pattern[3:], module) is not None
        except re.error:
            return False
    if "*" in pattern:
        body = ".*".join(re.escape(part) for part in pattern.strip().split("*"))
        return re.fullmatch(rf"(?:.*\.)?{body}(?:\..*)?", module) is not None
    return module == pattern or module.startswith(pattern + ".") or module.endswith("." + pattern) or f".{pattern}." in f".{module}."


def ignored(config: Config) -> tuple[str, ...]:
    """Patterns of the modules that a quantization_config leaves out, under the names of its tool."""
    names: list[str] = []
    for key in ("modules_to_not_convert", "ignored_layers", "ignore", "exclude_modules"):
        value = config.get(key)
        if isinstance(value, dict):  # the catalog shortens long lists to their first entries
            value = value.get("first", ())
        if isinstance(value, list | tuple):
            names += [name for name in value if isinstance(name, str)]
    return tuple(_general(name) for name in names)


def _general(name: str) -> str:
    """A module of one numbered layer stands for that module in every layer, except a whole layer that is left out."""
    if name.startswith("backbone."):
        return name
    if re.match(r"(model\.)?visual\.blocks\.", name):
        return "visual"
    plain = name.replace("language_model.", "", 1) if "language_model." in name else name
    return re.sub(r"\blayers\.\d+\.(?=[a-z])", "layers.*.", plain)
