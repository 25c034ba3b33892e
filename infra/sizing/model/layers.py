"""What one layer of a model keeps in the KV cache. Shapes are of the whole model, before tensor parallelism."""

from dataclasses import dataclass
from enum import StrEnum


class Cache(StrEnum):
    """How a layer uses the KV cache."""

    FULL = "full"
    SLIDING = "sliding"
    CHUNKED = "chunked"
    MLA = "mla"
    INDEXER = "indexer"
    STATE = "state"
    CROSS = "cross"
    """Keys and values of an encoder's output."""


class StateKind(StrEnum):
    """Recurrent layers, by the shape of their state."""

    GDN = "gdn"
    KDA = "kda"
    MAMBA1 = "mamba1"
    MAMBA2 = "mamba2"
    SHORT_CONV = "short convolution"


@dataclass(frozen=True, slots=True)
class State:
    """The state of one sequence in one recurrent layer (vLLM: ``model_executor/layers/mamba/mamba_utils.py``)."""

    kind: StateKind
    conv_kernel: int
    heads: int
    """Value heads (GDN), heads (Mamba-2, KDA) or the inner width (Mamba-1, short convolution)."""
    head_dim: int
    """Width of a value head; 1 for Mamba-1."""
    state: int
    """Key width (GDN), state size (Mamba-1 and -2), head width (KDA)."""
    key_heads: int = 0
    """Key heads (GDN), groups (Mamba-2)."""
    float32_state: bool = False
    """The recurrent part is kept in float32 whatever the model's dtype."""

    def conv_elements(self, tp: int, speculative: int) -> int:
        """Elements of the convolution state on one rank."""
        taps = self.conv_kernel - 1 + (0 if self.kind is StateKind.MAMBA1 else speculative)
        if self.kind is StateKind.GDN:
            width = 2 * self.state * self.key_heads + self.head_dim * self.heads
        elif self.kind is StateKind.KDA:
            width = 3 * self.heads * self.head_dim
        elif self.kind is StateKind.MAMBA2:
            # Groups are repeated so that every rank holds those its heads need.
            groups = self.key_heads if self.key_heads % tp == 0 else tp
            width = self.heads * self.head_dim + 2 * groups * self.state
        else:
            width = self.heads
        return width // tp * taps

    def recurrent_elements(self, tp: int) -> int:
        """Elements of the recurrent state on one rank."""
        return self.heads // tp * self.head_dim * self.state


@dataclass(frozen=True, slots=True)
class KvLayer:
    """One cache of one layer. A layer of sparse MLA has two: its latent and its indexer."""

    cache: Cache
    kv_heads: int = 1
    """Of the whole model; MLA and indexer caches have one and are replicated on every rank."""
    head_dim: int = 0
    """Width of a key (for MLA: latent + rope)."""
    value_dim: int = 0
    """Width of a value; 0 for MLA and the indexer."""
    window: int = 0
    """Tokens of a sliding window or a local chunk."""
    state: State | None = None
    layer: int = 0
    """Index of the layer it belongs to (pipeline stages cut here)."""
    block: int = 0
    """Tokens in a block, when the model fixes it."""
    page: int = 0
    """Bytes of such a block."""
    unpadded: int = 0
    """Bytes of it that are used, where the user's block size may replace the model's."""

    def heads_on_rank(self, tp: int) -> int:
        """KV heads one rank holds: divided by TP, at least one."""
        return max(1, self.kv_heads // tp)
