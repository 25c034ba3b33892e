"""Quantization: what a checkpoint is stored as, and the method at work."""

import re
from collections.abc import Mapping

from interlock.infra.facts import Workload

_MARKS = (
    (re.compile(r"(^|[-_/.])awq([-_.]|$)", re.IGNORECASE), "awq"),
    (re.compile(r"(^|[-_/.])gptq([-_.]|$)", re.IGNORECASE), "gptq"),
    (re.compile(r"(^|[-_/.])(bnb|bitsandbytes)([-_.]|$)", re.IGNORECASE), "bitsandbytes"),
    (re.compile(r"(^|[-_/.])gguf([-_.]|$)", re.IGNORECASE), "gguf"),
    (re.compile(r"(^|[-_/.])(nvfp4|fp4)([-_.]|$)", re.IGNORECASE), "nvfp4"),
    (re.compile(r"(^|[-_/.])fp8([-_.]|$)", re.IGNORECASE), "fp8"),
)
KERNELS: Mapping[str, tuple[str, ...]] = {"marlin": ("awq", "gptq")}
"""Names of kernels that --quantization takes, in every version read, for checkpoints of these formats alone."""
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
    if flag.known and str(flag.value).lower().endswith("_marlin"):
        return str(flag.value).lower()  # It chooses the kernels for the stored format.
    if own in (None, "none"):
        return str(flag.value).lower() if flag.known and flag.value != "None" else None
    return _SCHEMES.get(own or "", own)
