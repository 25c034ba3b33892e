"""Counting the tensors one rank holds, the way vLLM creates them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from interlock.infra.catalog.versions import newest, since
from interlock.infra.sizing.model.config import round_up
from interlock.infra.sizing.model.quantization import Quantization, Scheme
from interlock.infra.values import Version

MIB = 1024**2
_LAYER = re.compile(r"^model\.layers\.\d+")
# PyTorch's caching allocator: blocks of 10 MiB and more come from segments rounded to 2 MiB; a rest of at most 1 MiB is not split off
# and stays with the block (c10/cuda/CUDACachingAllocator.cpp: kMinLargeAlloc, kRoundLarge, kSmallSize).
_LARGE, _STEP, _UNSPLIT = 10 * MIB, 2 * MIB, MIB


@dataclass(frozen=True, slots=True)
class Shard:
    """Which part of the model a rank holds."""

    tp: int = 1
    pp: int = 1
    stage: int = 0
    expert_ranks: int = 1
    """Ranks that share the experts (TP x DP with expert parallelism, else 1: every rank then holds a slice of each expert)."""
    version: Version = field(default_factory=newest)
    data_ranks: int = 1
    """Data-parallel ranks, over which experts are cut too."""
    layer_parts: tuple[int, ...] = ()
    """Layers of each pipeline stage where they are stated."""

    @property
    def expert_slices(self) -> int:
        """Ranks over which each expert is cut when experts are not spread whole (vLLM: ``fused_moe/config.py``, flattened TP)."""
        return self.tp * self.data_ranks

    @property
    def first(self) -> bool:
        """It holds the input embedding."""
        return self.stage == 0

    @property
    def last(self) -> bool:
        """It holds the output head."""
        return self.stage == self.pp - 1


@dataclass(slots=True)
class Ledger:
    """The tensors of one rank so far."""

    shard: Shard
    width: int
    """Bytes of one number in the model's dtype."""
    quantization: Quantization | None
    bytes: int = 0
    elements: int = 0
    padding: int = 0
    """Bytes the allocator holds beyond the tensors."""
    scale: int = field(default=1)
    """How many times the tensors that are added now occur (equal layers are counted once and multiplied)."""
    home: str = ""
    """Where the modules that are added now live when it is not ``model.layers.N`` (a prediction module's layer)."""

    def named(self, module: str) -> str:
        """The module's name as exclusions of the quantization see it."""
        return _LAYER.sub(self.home, module) if self.home else module

    def add(self, elements: int, width: int | None = None, size: int | None = None) -> None:
        """One tensor of so many elements; ``size`` when its bytes are not elements x width."""
        total = size if size is not None else elements * (self.width if width is None else width)
        self.bytes += total * self.scale
        self.elements += elements * self.scale
        if total >= _LARGE:
            rest = round_up(total, _STEP) - total
            self.padding += (rest if rest <= _UNSPLIT else 0) * self.scale

    def linear(self, module: str, inputs: int, outputs: int | Sequence[int], *, bias: bool = False) -> None:
        """One linear layer with this rank's sizes. ``outputs``: rows of each logical part of a merged layer."""
        parts = (outputs,) if isinstance(outputs, int) else tuple(outputs)
        rows = sum(parts)
        quantized = self.quantization is not None and self.quantization.covers(self.named(module))
        size = self.quantization.linear_bytes(inputs, parts, self.width, module) if quantized and self.quantization else None
        self.add(rows * inputs, size=size)
        if quantized and self.quantization and self.quantization.scheme is Scheme.GPTQ and not since("gptq_order_gone", self.shard.version):
            self.add(inputs, 4)
        if bias:
            self.add(rows)

    def cache_scales(self, *, latent: bool = False) -> None:
        """Scales of query, key, value and probabilities, one number each; compressed-tensors: three in float32 with zero points."""
        kind = self.quantization.cache_scales if self.quantization else ""
        if kind == "all" or (kind and not latent):
            self.bytes += (3 * (4 + self.width) if kind == "zeros" else 4 * self.width) * self.scale

    def column(self, module: str, inputs: int, outputs: Sequence[int] | int, *, bias: bool = False) -> None:
        """A column-parallel layer of the whole model's sizes: its rows are divided over TP."""
        parts = (outputs,) if isinstance(outputs, int) else outputs
        self.linear(module, inputs, [out // self.shard.tp for out in parts], bias=bias)

    def row(self, module: str, inputs: int, outputs: int, *, bias: bool = False) -> None:
        """A row-parallel layer of the whole model's sizes: its columns are divided over TP; the bias is whole."""
        self.linear(module, inputs // self.shard.tp, outputs, bias=bias)

    def experts(self, module: str, count: int, hidden: int, inter: int, *, gated: bool = True) -> None:
        """A bank of routed experts: whole experts with expert parallelism, else a slice of each."""
        spread = self.shard.expert_ranks
        local = -(-count // spread)
        width = inter if spread > 1 else inter // self.shard.expert_slices
        elements = local * (3 if gated else 2) * hidden * width
        quantized = self.quantization is not None and self.quantization.covers(self.named(module))
        if not quantized or self.quantization is None:
            self.add(local * (2 if gated else 1) * hidden * width)
            self.add(local * hidden * width)
            return
        self.add(elements, size=self.quantization.expert_bytes(local, hidden, width, self.width, gated))
        if self.quantization.scheme is Scheme.INT4_PACKED and not since("packed_order_gone", self.shard.version):
            self.add(2 * local * (hidden + width), 4)

    def vocabulary(self, vocab: int, hidden: int) -> None:
        """An embedding or output head: rows padded to a multiple of 64, divided over TP
        (vLLM: ``layers/vocab_parallel_embedding.py``)."""
        self.add(round_up(vocab, 64) // self.shard.tp * hidden)
