"""Values that an argument takes: those that its parser lists, and those that are registered by name."""

from collections.abc import Sequence
from dataclasses import dataclass

from interlock.infra.catalog.near import like
from interlock.infra.catalog.vllm_flags import flag_facts
from interlock.infra.catalog.vllm_tables import Span, vllm_names

_ALIASES = {
    ("dtype", "fp16"): "float16",
    ("dtype", "bf16"): "bfloat16",
    ("dtype", "fp32"): "float32",
    ("kv-cache-dtype", "fp8_e4m3fn"): "fp8_e4m3",
    ("kv-cache-dtype", "bf16"): "bfloat16",
    ("kv-cache-dtype", "fp16"): "float16",
}
"""What people write elsewhere for a value: names of PyTorch and of other engines."""
# The newest releases read these through packages of their own.
_PACKAGED = ("quantization bitsandbytes", "quantization gguf")


@dataclass(frozen=True, slots=True)
class Unlisted:
    """A value that a version does not take."""

    choices: Sequence[str]
    """Those that it takes."""
    meant: str = ""
    """The one that was probably meant."""

    @property
    def some(self) -> str:
        """The choices as a sentence names them."""
        return ", ".join(self.choices[:12]) + (", ..." if len(self.choices) > 12 else "")


def unlisted(name: str, value: str, version: str | None) -> Unlisted | None:
    """What an argument takes that has a list of values, where ``value`` is none of them; the newest version's without a version."""
    facts = flag_facts(f"--{name}", version) or {}
    choices = [str(choice) for choice in facts.get("choices") or ()]
    if facts.get("kind") != "value" or not choices or value in (*choices, "None") or value.upper() in choices:
        return None
    meant = _ALIASES.get((name, value.lower())) or like(value.lower(), choices)
    return Unlisted(choices, meant if meant in choices else "")


def unregistered(name: str, value: str, version: str | None) -> Unlisted | None:
    """What is registered for an argument (``quantization``, ``tool-call-parser``, ...), where ``value`` certainly is not."""
    table, told = vllm_names("values"), value.lower() if name == "quantization" else value
    if told in ("", "None", "none") or f"{name} {told}" in _PACKAGED or table.at(f"{name} {told}", version) is not None:
        return None
    there = [key.partition(" ")[2] for key in table.spans if key.startswith(f"{name} ")]
    choices = [each for each in there if version is None or isinstance(table.at(f"{name} {each}", version), Span)]
    return Unlisted(choices, like(told, choices) or like(told.replace("-", "_").lower(), choices))


def unknown_key(name: str, key: str, version: str | None) -> Unlisted | None:
    """The keys of an argument that is an object of a class of the engine's, where ``key`` certainly is none of them in that version."""
    table = vllm_names("members")
    there = [each.partition(" ")[2] for each in table.spans if each.startswith(f"{name} ")]
    # Versions older than those that were read have keys of their own: without a version nothing is sure.
    if version is None or not there or table.at(f"{name} {key}", version) is not None:
        return None
    choices = [each for each in there if isinstance(table.at(f"{name} {each}", version), Span)]
    renamed = table.replacements.get(f"{name} {key}")
    return Unlisted(choices, renamed.to if renamed and renamed.to in choices else like(key, choices))
