"""The quantization flag against the format that the checkpoint is stored in."""

from collections.abc import Iterable

from interlock.infra.facts import Bundle, Place, Workload
from interlock.infra.rules.findings import Severity
from interlock.infra.rules.reading.planner import facts_of
from interlock.infra.rules.reading.quantization import stored
from interlock.infra.rules.reading.units import where
from interlock.infra.rules.rule import Hit, Settings, drop, rule

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


@rule(
    "ARG-012",
    Severity.ERROR,
    demand="The quantization flag names the format that the checkpoint is stored in.",
    reason="vLLM compares both at start and raises; AWQ and GPTQ flags read stored weights and quantize nothing.",
    source="vllm/config/model.py _verify_quantization",
    remedy="Remove the flag: the checkpoint names its own format.",
    fault="quantization-mismatch",
    links=("https://docs.vllm.ai/en/latest/features/quantization/",),
)
def agree(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    flag, own = workload.engine.flag("quantization"), stored(workload)
    if not flag.known:
        return
    asked = flag.get().lower()
    path = where(workload, Place.ARGS, flag)
    if own in _FAMILIES and asked not in _FAMILIES[own] and _family(asked) is not None:
        text = f"the checkpoint is stored as {own}, but --quantization says {asked}"
        yield Hit(
            path, text, "remove --quantization: vLLM reads the format from the checkpoint", asked, fixes=drop(path, flag="quantization")
        )
    elif own in (None, "none") and asked in ("awq", "gptq", "awq_marlin", "gptq_marlin") and _surely_plain(workload, own):
        text = f"--quantization {asked} reads stored {asked.split('_')[0]} weights, and this checkpoint is not quantized"
        yield Hit(path, text, f"name a checkpoint that is stored as {asked.split('_')[0]}, or remove the flag", asked)


def _family(asked: str) -> str | None:
    return next((name for name, flags in _FAMILIES.items() if asked in flags), None)


def _surely_plain(workload: Workload, own: str | None) -> bool:
    if own == "none":
        return True
    if not workload.engine.model.known or workload.engine.model.get().startswith("/"):
        return False
    found = facts_of(workload)
    return found is not None and found.name == workload.engine.model.get() and "quantization_config" not in found.config
