"""Quantization: what a checkpoint is stored as, and whether the flag agrees."""

import re
from collections.abc import Iterable

from interlock.infra.facts import Bundle, Workload
from interlock.infra.rules.reading.planner import facts_of
from interlock.infra.rules.reading.units import where
from interlock.infra.rules.rule import Hit, Settings

_FAMILIES = {
    "awq": ("awq", "awq_marlin", "marlin", "moe_wna16", "auto-round", "inc", "ipex"),
    "gptq": ("gptq", "gptq_marlin", "gptq_marlin_24", "marlin", "moe_wna16", "auto-round", "inc", "ipex", "gptq_bitblas"),
    "fp8": ("fp8", "modelopt", "compressed-tensors", "fbgemm_fp8", "ptpc_fp8", "petit_nvfp4", "quark", "fp8_per_tensor", "fp8_per_block"),
    "bitsandbytes": ("bitsandbytes",),
    "gguf": ("gguf",),
    "compressed-tensors": ("compressed-tensors",),
    "nvfp4": ("modelopt_fp4", "modelopt", "compressed-tensors", "petit_nvfp4", "modelopt_mixed"),
    "mxfp4": ("mxfp4", "quark", "gpt_oss_mxfp4"),
}
"""Stored format -> flags that read it (override_quantization_method of vLLM's methods)."""

_MARKS = (
    (re.compile(r"(^|[-_/.])awq([-_.]|$)", re.IGNORECASE), "awq"),
    (re.compile(r"(^|[-_/.])gptq([-_.]|$)", re.IGNORECASE), "gptq"),
    (re.compile(r"(^|[-_/.])(bnb|bitsandbytes)([-_.]|$)", re.IGNORECASE), "bitsandbytes"),
    (re.compile(r"(^|[-_/.])gguf([-_.]|$)", re.IGNORECASE), "gguf"),
    (re.compile(r"(^|[-_/.])(nvfp4|fp4)([-_.]|$)", re.IGNORECASE), "nvfp4"),
    (re.compile(r"(^|[-_/.])fp8([-_.]|$)", re.IGNORECASE), "fp8"),
)
_SCHEMES = {"w4a16": "compressed-tensors-w4a16", "int4": "compressed-tensors-w4a16"}


def stored(workload: Workload) -> str | None:
    """The format that the checkpoint is stored in, as far as it is known; ``none`` for an unquantized one."""
    engine = workload.engine
    if engine.quantization.known:
        return str(engine.quantization.value).lower()
    if not engine.model.known or not isinstance(engine.model.value, str):
        return None
    for pattern, name in _MARKS:
        if pattern.search(engine.model.value):
            return name
    return None


def method_of(workload: Workload) -> str | None:
    """The quantization method at work: the flag, else the checkpoint's own."""
    flag = workload.engine.flag("quantization")
    own = stored(workload)
    if own in (None, "none"):
        return str(flag.value).lower() if flag.known and flag.value != "None" else None
    return _SCHEMES.get(own or "", own)


def agree(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    """ARG-012: the flag names the format that the checkpoint is stored in."""
    flag, own = workload.engine.flag("quantization"), stored(workload)
    if not flag.known:
        return
    asked = flag.get().lower()
    path = where(workload, "args", flag)
    if own in _FAMILIES and asked not in _FAMILIES[own] and _family(asked) is not None:
        text = f"the checkpoint is stored as {own}, but --quantization says {asked}"
        yield Hit(path, text, "take --quantization away: vLLM reads the format from the checkpoint", asked)
    elif own in (None, "none") and asked in ("awq", "gptq", "awq_marlin", "gptq_marlin") and _surely_plain(workload, own):
        text = f"--quantization {asked} reads stored {asked.split('_')[0]} weights, and this checkpoint is not quantized"
        yield Hit(path, text, f"name a checkpoint that is stored as {asked.split('_')[0]}, or take the flag away", asked)


def _family(asked: str) -> str | None:
    return next((name for name, flags in _FAMILIES.items() if asked in flags), None)


def _surely_plain(workload: Workload, own: str | None) -> bool:
    if own == "none":
        return True
    if not workload.engine.model.known or workload.engine.model.get().startswith("/"):
        return False
    found = facts_of(workload)
    return found is not None and found.name == workload.engine.model.get() and "quantization_config" not in found.config
