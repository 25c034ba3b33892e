"""The quantization that somebody wrote in words."""

import re

from interlock.infra.sizing.model.quantization import FBGEMM_IGNORE, Quantization, Scheme

# What people write for --quantization or beside a log line -> what the checkpoint stores. First match counts.
_STATED: tuple[tuple[str, Quantization | None], ...] = (
    (r"^(none|null|auto|bf16|bfloat16|fp16|float16|half)?$", None),
    (r"gguf", Quantization(Scheme.GGUF)),
    (r"\bmlx\b", Quantization(Scheme.MLX)),
    (r"\bexl[23]\b", Quantization(Scheme.EXL)),
    (r"mxfp4", Quantization(Scheme.MXFP4, group=32, experts_only=True)),
    (r"nvfp4|modelopt_fp4|w4a4", Quantization(Scheme.NVFP4, group=16, ignore=("lm_head",))),
    (r"fp8.*online|online.*fp8", Quantization(Scheme.FP8_ONLINE, bits=8, ignore=("lm_head",))),
    (r"fp8.*block|block.*fp8", Quantization(Scheme.FP8_BLOCK, bits=8, ignore=("lm_head",))),
    (r"fbgemm", Quantization(Scheme.FP8_CHANNEL, bits=8, ignore=FBGEMM_IGNORE)),
    (r"compressed.tensors.*fp8|fp8.dynamic|fp8", Quantization(Scheme.FP8_CHANNEL, bits=8, ignore=("lm_head",))),
    (r"gptq.*8|awq.*8", Quantization(Scheme.GPTQ, bits=8, ignore=("lm_head",))),
    (r"w8a8|int8", Quantization(Scheme.INT8_CHANNEL, bits=8, ignore=("lm_head",))),
    (r"w4a16|compressed.tensors.*4|4.?bit", Quantization(Scheme.INT4_PACKED, ignore=("lm_head",))),
    (r"awq", Quantization(Scheme.AWQ, zero_points=True, ignore=("lm_head",))),
    (r"gptq|auto.?round|int4|wna16|4.?bit", Quantization(Scheme.GPTQ, ignore=("lm_head",))),
    (r"bitsandbytes.*8|int8.*bnb", Quantization(Scheme.BNB8, ignore=("lm_head",))),
    (r"bitsandbytes|bnb", Quantization(Scheme.BNB4, ignore=("lm_head",))),
)


def parse_quantization(words: str) -> Quantization | None:
    """The quantization somebody wrote in words (``awq``, ``compressed-tensors fp8``, ``fp8 (online)``); None for none."""
    for pattern, found in _STATED:
        if re.search(pattern, words.strip().lower()):
            return found
    return Quantization(Scheme.UNKNOWN)
