"""How ``--kv-cache-dtype`` stores a number (vLLM: ``v1/kv_cache_interface.py``, ``utils/torch_utils.py``)."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class KvFormat:
    """Bytes of cached keys and values."""

    element: int = 2
    """Bytes of one number; 1 for formats of four bits too, whose numbers share bytes."""
    four_bit: bool = False
    """Two numbers share a byte."""
    scaled: int = 0
    """Numbers that share one byte of scale; 0: none."""
    scales: int = 0
    """Bytes of scales per token and head, for keys and values each."""
    latent: int = 0
    """Bytes of a token of latent attention, where they are not the width times the element."""

    def side(self, width: int) -> int:
        """Bytes of keys, or of values, of one token and head."""
        data = width // 2 if self.four_bit else width * self.element
        return data + (width // self.scaled if self.scaled else 0) + self.scales


_FP8 = KvFormat(1)
_NVFP4 = KvFormat(1, four_bit=True, scaled=16)
FORMATS: Mapping[str, KvFormat] = {
    "float16": KvFormat(2),
    "half": KvFormat(2),
    "bfloat16": KvFormat(2),
    "fp8": _FP8,
    "fp8_e4m3": _FP8,
    "fp8_e5m2": _FP8,
    "fp8_inc": _FP8,
    "fp8_ds_mla": KvFormat(1, latent=656),
    "int8": _FP8,
    "nvfp4": _NVFP4,
    "nvfp4_4over6": _NVFP4,
    "nvfp4_ds_mla": KvFormat(1, four_bit=True, scaled=16, latent=352),
    "int4_per_token_head": KvFormat(1, four_bit=True, scales=4),
    "int8_per_token_head": KvFormat(1, scales=4),
    "fp8_per_token_head": KvFormat(1, scales=4),
}
"""The formats whose layout was read; others of a release (TurboQuant, Octave, UltraQuant) pack by layer and card."""
DEFAULT = ("", "auto", "none")
SMALLEST, LARGEST = "nvfp4", "bfloat16"
"""Between these lies a format that is not known."""
