"""What a quantized checkpoint stores for one linear layer or one bank of experts, in bytes, as vLLM creates the tensors."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction
from math import gcd

from interlock.infra.sizing.model.config import Config, ceil_div, integer, mapping, sequence, text
from interlock.infra.sizing.model.exclusions import ignored, matches
from interlock.infra.sizing.model.families import family


class Scheme(StrEnum):
    """Storage formats of weights (not names of tools: several tools write the same format)."""

    FP8_BLOCK = "fp8 block"
    FP8_TENSOR = "fp8 tensor"
    FP8_CHANNEL = "fp8 channel"
    FP8_ONLINE = "fp8 online"
    INT8_CHANNEL = "int8 channel"
    AWQ = "awq"
    GPTQ = "gptq"
    INT4_PACKED = "int4 packed"
    NVFP4 = "nvfp4"
    MXFP4 = "mxfp4"
    BNB4 = "bitsandbytes 4 bit"
    BNB8 = "bitsandbytes 8 bit"
    GGUF = "gguf"
    MLX = "mlx"
    EXL = "exl"
    UNKNOWN = "unknown"


_SMALLEST_BLOCK = 32
# A group of -1: one scale per output.
_WHOLE = 1 << 30


@dataclass(frozen=True, slots=True)
class Quantization:
    """How a checkpoint is quantized and which layers are not."""

    scheme: Scheme
    group: int = 128
    """Weights that share a scale along the input (AWQ, GPTQ, packed int4: 128; NVFP4 16; MXFP4 32); block rows for FP8."""
    experts_group: int = 16
    """Group size of the experts' own scheme."""
    scale_bytes: int = 4
    """Bytes of one scale of an FP8 block."""
    block_columns: int = 128
    """Block columns for FP8."""
    bits: int = 4
    static: bool = False
    """FP8 per tensor: the checkpoint carries activation scales."""
    zero_points: bool = False
    nested: bool = True
    """bitsandbytes: scales are quantized too (as when quantizing while loading)."""
    ignore: tuple[str, ...] = ()
    """Patterns of modules that stay in the model's dtype."""
    experts_only: bool = False
    """Only the experts are quantized (gpt-oss and its relatives)."""
    expert_scheme: Scheme | None = None
    """How the experts are stored when it is not the scheme of the rest."""
    attention_fp8: bool = False
    """Mixed precision: attention is kept in FP8, only MLPs and experts have the scheme."""
    kv_cache_fp8: bool = False
    """The checkpoint asks for an fp8 KV cache, which ``--kv-cache-dtype auto`` follows."""
    declared: bool = False
    """A config said so; otherwise it is read off a name or was asked."""
    cache_scales: str = ""
    """Layers that carry scales of the KV cache: '' none, 'attention' or 'zeros' (with zero points), 'all' (latent attention too)."""

    @property
    def modelopt_fp4(self) -> bool:
        """Modelopt's FP4 throughout, not that of another tool."""
        return self.scheme is Scheme.NVFP4 and self.cache_scales == "all" and not self.attention_fp8

    @property
    def _four_bits(self) -> Fraction:
        """Bytes of a weight of bitsandbytes: half, and a scale for 64 of them: 4 bytes, or one and 4 more for 256 scales."""
        return Fraction(1, 2) + (Fraction(1, 64) + Fraction(4, 64 * 256) if self.nested else Fraction(4, 64))

    def covers(self, module: str) -> bool:
        """Whether a module such as ``model.layers.3.mlp.experts`` is quantized."""
        if self.experts_only:
            return ".experts" in module
        return not any(matches(pattern, module) for pattern in self.ignore)

    def linear_bytes(self, inputs: int, outputs: Sequence[int], width: int, module: str = "") -> int:
        """Bytes of one linear layer on one rank. ``outputs``: rows of each logical part that is stored as one tensor."""
        rows, parts = sum(outputs), len(outputs)
        if self.attention_fp8 and "attn" in module:
            return rows * inputs + 8 * parts
        match self.scheme:
            case Scheme.FP8_BLOCK:
                blocks = ceil_div(rows, self.group)
                return rows * inputs + self.scale_bytes * blocks * ceil_div(inputs, self.block_columns)
            case Scheme.FP8_TENSOR:
                return rows * inputs + 4 * parts * (2 if self.static else 1)
            case Scheme.FP8_CHANNEL | Scheme.INT8_CHANNEL:
                return rows * inputs + 4 * rows
            case Scheme.FP8_ONLINE:
                return rows * inputs + 4
            case Scheme.AWQ | Scheme.GPTQ:
                groups = ceil_div(inputs, self.group)
                return rows * inputs * self.bits // 8 + groups * rows * self.bits // 8 + groups * rows * width
            case Scheme.INT4_PACKED:
                groups = ceil_div(inputs, self.group)
                zeros = groups * rows * self.bits // 8 if self.zero_points else 0
                return rows * inputs * self.bits // 8 + groups * rows * width + 16 + zeros
            case Scheme.NVFP4:
                return rows * inputs // 2 + rows * ceil_div(inputs, self.group) + 8 * parts
            case Scheme.MXFP4:
                return rows * inputs // 2 + rows * ceil_div(inputs, 32)
            case Scheme.BNB4:
                return int(rows * inputs * self._four_bits)
            case Scheme.BNB8:
                return rows * inputs + 4 * rows
            case _:
                return rows * inputs * width

    def refined_block(self, hidden: int, inter: int) -> int:
        """The smaller block, of at least 32, that experts of this width get when their own does not divide it; else 0
        (vLLM: ``fused_moe/oracle/fp8.py::refine_fp8_moe_block_shape``)."""
        if inter % self.group == 0 and inter % self.block_columns == 0:
            return 0
        found = gcd(self.group, self.block_columns, inter, hidden)
        return found if found >= _SMALLEST_BLOCK else 0

    def halved_group(self, hidden: int, inter: int) -> int:
        """The group of experts whose width Marlin does not take: halved until it divides (vLLM: ``quantization/moe_wna16.py``)."""
        group = min(self.group, hidden)
        while group > 1 and (inter % group or hidden % group):
            group //= 2
        return group

    def expert_bytes(self, experts: int, hidden: int, inter: int, width: int, gated: bool) -> int:
        """Bytes of a bank of experts on one rank: w13 (gate and up) and w2 (down). ``inter``: this rank's width."""
        ups = 2 if gated else 1
        elements = experts * (ups + 1) * hidden * inter
        match self.expert_scheme or self.scheme:
            case Scheme.FP8_BLOCK:
                refined = self.refined_block(hidden, inter)
                tall, wide = (refined, refined) if refined else (self.group, self.block_columns)
                up = ups * ceil_div(inter, tall) * ceil_div(hidden, wide)
                down = ceil_div(hidden, tall) * ceil_div(inter, wide)
                return elements + self.scale_bytes * experts * (up + down)
            case Scheme.FP8_TENSOR:
                return elements + 4 * experts * (ups + 1 + (2 if self.static else 0))
            case Scheme.FP8_CHANNEL | Scheme.INT8_CHANNEL:
                return elements + 4 * experts * (ups * inter + hidden)
            case Scheme.FP8_ONLINE:
                return elements + 8 * experts
            case Scheme.NVFP4:
                group = self.experts_group if self.expert_scheme else self.group
                return elements // 2 + elements // group + 4 * experts * (2 * ups + 2)
            case Scheme.MXFP4:
                return elements // 2 + elements // 32
            case Scheme.AWQ | Scheme.GPTQ if inter % (self.group if 64 < self.group < _WHOLE else 64):
                group = self.halved_group(hidden, inter)
                scales = experts * (ups * inter * (hidden // group) + hidden * (inter // group))
                return elements * self.bits // 8 + scales * width + (scales * self.bits // 8 if self.zero_points else 0)
            case Scheme.AWQ | Scheme.GPTQ | Scheme.INT4_PACKED:
                scales = experts * (ups * inter * ceil_div(hidden, self.group) + hidden * ceil_div(inter, self.group))
                zeros = scales * self.bits // 8 if self.zero_points or self.scheme is Scheme.GPTQ else 0
                # Packed tensors come with their shapes, GPTQ banks with biases that its checkpoints may have.
                others = {Scheme.INT4_PACKED: 4 * experts, Scheme.GPTQ: experts * (ups * inter + hidden)}.get(self.scheme, 0)
                return elements * self.bits // 8 + (scales + others) * width + zeros
            case Scheme.BNB4:
                return int(elements * self._four_bits)
            case Scheme.BNB8:
                return elements
            case _:
                return elements * width


def _compressed_tensors(config: Config) -> Quantization:
    group = next((g for g in mapping(config, "config_groups").values() if isinstance(g, dict)), {})
    weights = mapping(group, "weights")
    bits, strategy, size = integer(weights, "num_bits"), text(weights, "strategy"), integer(weights, "group_size")
    style = text(group, "format") or text(config, "format")
    ignore = ignored(config)
    if "mxfp4" in style:
        return Quantization(Scheme.MXFP4, group=32, ignore=ignore)
    if bits == 4 and text(weights, "type") == "float":
        return Quantization(Scheme.NVFP4, group=size or 16, ignore=ignore)
    if bits == 4:
        return Quantization(Scheme.INT4_PACKED, group=size or 128, ignore=ignore, zero_points=weights.get("symmetric") is False)
    if bits == 8 and text(weights, "type") == "float":
        if strategy == "block":
            rows, columns = _block(weights, "block_structure")
            return Quantization(Scheme.FP8_BLOCK, group=rows, block_columns=columns, bits=8, ignore=ignore)
        static = mapping(group, "input_activations").get("dynamic") is False
        return Quantization(Scheme.FP8_TENSOR if strategy == "tensor" else Scheme.FP8_CHANNEL, bits=8, static=static, ignore=ignore)
    if bits == 8:
        return Quantization(Scheme.INT8_CHANNEL, bits=8, ignore=ignore)
    return Quantization(Scheme.UNKNOWN, ignore=ignore)


def _block(config: Config, key: str) -> tuple[int, int]:
    values = sequence(config, key)
    if len(values) == 2 and all(isinstance(v, int) and v > 0 for v in values):
        return int(values[0]), int(values[1])
    return 128, 128


def _modelopt(config: Config) -> Quantization:
    algo = text(config, "quant_algo").upper()
    ignore = ignored(config)
    group = next((g for g in mapping(config, "config_groups").values() if isinstance(g, dict)), {})
    bits = integer(mapping(group, "weights"), "num_bits")
    if "NVFP4" in algo or algo == "MIXED_PRECISION" or bits == 4:
        return Quantization(Scheme.NVFP4, group=16, ignore=ignore, attention_fp8=algo == "MIXED_PRECISION")
    return Quantization(Scheme.FP8_TENSOR, bits=8, static=True, ignore=ignore)


def from_config(config: Config) -> Quantization | None:
    """The quantization a config.json declares (``quantization_config``, with ``hf_quant_config`` beside it), or None."""
    declared = mapping(config, "quantization_config") or mapping(mapping(config, "text_config"), "quantization_config")
    beside = mapping(config, "hf_quant_config")
    if not declared and not beside:
        return None
    found = _declared(declared, beside)
    kv = text(declared, "kv_cache_quant_algo") or text(beside, "kv_cache_quant_algo")
    fp8_kv = kv.upper() == "FP8" or integer(mapping(declared, "kv_cache_scheme"), "num_bits") == 8
    fp4_experts = text(config, "expert_dtype").lower() == "fp4" and found.scheme is Scheme.FP8_BLOCK
    experts = Scheme.MXFP4 if fp4_experts else found.expert_scheme
    if found.scheme is Scheme.FP8_BLOCK:
        found = replace(found, scale_bytes=family(text(config, "model_type")).scale_bytes)
    scales = _cache_scales(text(declared, "quant_method"), beside)
    return replace(found, kv_cache_fp8=fp8_kv, expert_scheme=experts, cache_scales=scales, declared=True)


def _cache_scales(method: str, beside: Config) -> str:
    """Which layers get scale parameters (vLLM: ``get_quant_method`` of each configuration in ``layers/quantization``)."""
    if method in ("fp8", "compressed-tensors"):
        return "attention" if method == "fp8" else "zeros"
    return "all" if method.startswith("modelopt") or (not method and beside) else ""


def _declared(declared: Config, beside: Config) -> Quantization:
    method = text(declared, "quant_method").lower()
    ignore = ignored(declared)
    if text(declared, "moe_quant_algo").upper() == "NVFP4":
        return Quantization(Scheme.FP8_BLOCK, bits=8, ignore=ignore, expert_scheme=Scheme.NVFP4, experts_group=16)
    bits, group = integer(declared, "bits", "w_bit", default=4), integer(declared, "group_size", "q_group_size", default=128)
    if -1 in (declared.get("group_size"), declared.get("q_group_size")):
        group = _WHOLE
    if method in ("modelopt", "modelopt_fp4", "nvfp4") or (not method and beside):
        return _modelopt({**beside, **declared})
    if method == "compressed-tensors":
        return _compressed_tensors(declared)
    if method == "fp8":
        if sequence(declared, "weight_block_size"):
            rows, columns = _block(declared, "weight_block_size")
            return Quantization(Scheme.FP8_BLOCK, group=rows, block_columns=columns, bits=8, ignore=ignore)
        return Quantization(Scheme.FP8_TENSOR, bits=8, static=text(declared, "activation_scheme") == "static", ignore=ignore)
    if method == "fbgemm_fp8":
        return Quantization(Scheme.FP8_CHANNEL, bits=8, ignore=ignore or FBGEMM_IGNORE)
    if method == "mxfp4":
        return Quantization(Scheme.MXFP4, group=32, ignore=ignore, experts_only=True)
    if method == "bitsandbytes":
        nested = declared.get("bnb_4bit_use_double_quant") is not False
        return Quantization(Scheme.BNB8 if declared.get("load_in_8bit") is True else Scheme.BNB4, nested=nested, ignore=ignore)
    if method in ("awq", "awq_marlin"):
        return Quantization(Scheme.AWQ, group=group, bits=bits, zero_points=True, ignore=ignore)
    if method in ("gptq", "gptq_marlin", "auto-round", "auto_round", "autoround", "moe_wna16"):
        return Quantization(Scheme.GPTQ, group=group or _WHOLE, bits=bits, ignore=ignore)
    if method == "gguf":
        return Quantization(Scheme.GGUF, ignore=ignore)
    return Quantization(Scheme.UNKNOWN, ignore=ignore)


# Meta's fbgemm checkpoints quantize the MLPs only.
FBGEMM_IGNORE = ("lm_head", "re:.*self_attn.*")
