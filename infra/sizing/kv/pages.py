"""Pages of the KV cache: what one block of one layer costs on one rank (vLLM: ``v1/kv_cache_interface.py``)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import lcm

from interlock.infra.catalog.versions import since, value
from interlock.infra.sizing.kv.formats import KvFormat
from interlock.infra.sizing.model.compressed import resized
from interlock.infra.sizing.model.config import ceil_div, integer
from interlock.infra.sizing.model.facts import ModelFacts
from interlock.infra.sizing.model.layers import Cache, KvLayer, State, StateKind
from interlock.infra.values import Version

# fp8 keys of sparse latent attention carry scales and a 16-bit rope part: 656 bytes per token (vLLM: mla_attention.py).
_SPARSE_FP8_TOKEN = 656
# What FlashInfer's kernels on Hopper take: widths of heads, tokens in a block.
FLASHINFER_HEADS, _FLASHINFER_BLOCKS = (64, 128, 256, 512), (16, 32, 64)
# Kind of caches whose pages of different sizes lie side by side in a block.
PACKED = "packed"


@dataclass(frozen=True, slots=True)
class Settings:
    """What the layout depends on besides the model."""

    version: Version
    tp: int = 1
    pp: int = 1
    context_parallel: int = 1
    """Decode context parallel ranks: full attention is spread over them."""
    block_size: int | None = None
    stored: KvFormat = KvFormat()
    """How keys and values are stored."""
    state_element: int = 2
    """Bytes of a number in the convolution state."""
    state_float32: bool = False
    """The recurrent state was asked in float32."""
    prefix_caching: bool = True
    disable_hybrid: bool = False
    e5m2: bool = False
    """The cache is in fp8_e5m2, which FlashInfer's kernels read on Hopper (FlashAttention does not)."""
    speculative: int = 0
    """Draft tokens per step."""
    in_flight: int = 8192
    """Tokens that may be scheduled but not settled: steps in flight x batched tokens."""
    encoder_tokens: int = 8192
    """Tokens of an encoder's input that one step may take: as many as batched tokens."""
    capability: float = 9.0
    layer_parts: tuple[int, ...] = ()
    """Layers of each pipeline stage where they are stated (``VLLM_PP_LAYER_PARTITION``)."""

    @property
    def element(self) -> int:
        """Bytes of one cached number (2, or 1 for formats of at most eight bits)."""
        return self.stored.element


@dataclass(frozen=True, slots=True)
class KvSpec:
    """One layer's cache on one rank."""

    cache: Cache
    block: int
    """Tokens in a block."""
    token_bytes: int
    """Bytes per token; 0 for a state."""
    page: int
    """Bytes of one block."""
    window: int = 0
    state_blocks: int = 1
    """Blocks one sequence holds in a recurrent layer; 0: one per block of tokens."""
    kind: str = ""
    """What must be equal for two layers to share a group besides the sizes."""

    def blocks(self, length: int, settings: Settings) -> int:
        """Blocks that one request of ``length`` tokens holds at most."""
        match self.cache:
            case Cache.STATE:
                drafted = settings.speculative if since("drafted_states", settings.version) else 0
                return self.state_blocks or ceil_div(length, self.block) + drafted
            case Cache.SLIDING:
                return ceil_div(min(self.window - 1 + settings.in_flight, length), self.block) + 1
            case Cache.CROSS:
                return ceil_div(settings.encoder_tokens, self.block)
            case Cache.CHUNKED:
                return ceil_div(min(self.window + settings.in_flight, length), self.block)
            case _:
                return ceil_div(ceil_div(length, settings.context_parallel), self.block)

    def with_page(self, page: int) -> "KvSpec":
        """The same cache with a page of that size: more tokens in a block when it divides, else padding."""
        if self.cache is not Cache.STATE and page % self.page == 0:
            return replace(self, block=self.block * (page // self.page), page=page)
        return replace(self, page=page)

    def as_full(self) -> "KvSpec":
        """The same layer charged as full attention (hybrid manager off)."""
        return replace(self, cache=Cache.FULL, window=0) if self.cache in (Cache.SLIDING, Cache.CHUNKED) else self


def state_page(state: State, settings: Settings) -> int:
    """Bytes of one sequence's state in one recurrent layer on one rank."""
    wide = 4 if state.float32_state or settings.state_float32 else settings.state_element
    convolution = state.conv_elements(settings.tp, settings.speculative) * settings.state_element
    return convolution + state.recurrent_elements(settings.tp) * wide


def _token_bytes(layer: KvLayer, settings: Settings, sparse: bool) -> int:
    if layer.cache is Cache.INDEXER:
        return layer.head_dim + layer.head_dim // 128 * 4
    stored = settings.stored
    if layer.cache is Cache.MLA:
        return stored.latent or (_SPARSE_FP8_TOKEN if sparse and settings.element == 1 else stored.side(layer.head_dim))
    return layer.heads_on_rank(settings.tp) * (stored.side(layer.head_dim) + stored.side(layer.value_dim))


def base_block(facts: ModelFacts, settings: Settings) -> int:
    """Tokens per block before hybrids are aligned: the user's, else 16 or what the attention backend wants."""
    if settings.block_size:
        return settings.block_size
    caches = {layer.cache for layer in facts.kv_layers}
    if any(layer.page for layer in facts.kv_layers):
        return 256
    if Cache.INDEXER in caches:
        return 64
    if Cache.MLA in caches and 9 <= settings.capability < 12 and (settings.element == 1 or settings.capability >= 10):
        return 64  # FlashMLA for fp8 on Hopper, FlashInfer on data-centre Blackwell; elsewhere FlashAttention or Triton
    wide = any(layer.head_dim == 512 for layer in facts.kv_layers if layer.cache is not Cache.MLA)
    if wide and settings.element == 1 and int(settings.capability) == 9 and since("wide_fp8_block", settings.version):
        return 64  # FlashAttention 4's fp8 kernel for heads of 512
    return 16


def state_mode(facts: ModelFacts, state: State, settings: Settings) -> str:
    """``none``, ``align`` or ``all``: how recurrent states take part in prefix caching."""
    if not settings.prefix_caching:
        return "none"
    scans = state.kind in (StateKind.MAMBA1, StateKind.MAMBA2)
    return "all" if scans and since("mamba_all_mode", settings.version) else "align"


def _state_blocks(state: State, mode: str, settings: Settings) -> int:
    if mode == "all":
        return 0
    if mode == "none":
        return 1 + settings.speculative
    exports = state.kind is StateKind.MAMBA2 or (state.kind is StateKind.GDN and settings.capability >= 9)
    return 2 + settings.speculative + (1 if exports and since("prefill_checkpoint", settings.version) else 0)


def _hybrid_block(facts: ModelFacts, state: State, mode: str, settings: Settings) -> tuple[int, int]:
    """(tokens per attention block, page of every layer) so that an attention page covers a state
    (vLLM: ``platforms/interface.py::_align_hybrid_block_size``)."""
    attention = next(layer for layer in facts.kv_layers if layer.cache is not Cache.STATE)
    per_token, page = _token_bytes(attention, settings, sparse=False), state_page(state, settings)
    kernel = base_block(facts, settings)
    if attention.cache is Cache.MLA:
        kernel = max(kernel, int(value("latent_hybrid_block", settings.version)))
    if mode == "align" and since("states_in_kernel_steps", settings.version):
        kernel = lcm(kernel, 64 if state.kind is StateKind.GDN and settings.capability >= 9 else 16)
    if mode == "all":
        chunk = lcm(integer(facts.text, "mamba_chunk_size", "chunk_size", default=2048), kernel)
        block = chunk * ceil_div(ceil_div(page, per_token), chunk)
    else:
        block = kernel * ceil_div(page, kernel * per_token)
    block = max(block, base_block(facts, settings))
    return block, block * per_token


def _window_block(layer: KvLayer, block: int, settings: Settings) -> int:
    """Tokens per block of a sliding layer, which chooses its own (``layers/attention/attention.py::get_kv_cache_spec``): until 0.29 the
    smallest that its kernel takes, then the layer's page at the model's block size, in sizes the kernel takes."""
    if not since("windows_choose_blocks", settings.version):
        return block
    if not since("windows_fill_blocks", settings.version):
        return min(block, 16)
    flash_infer = settings.e5m2 and layer.head_dim in FLASHINFER_HEADS
    return max((size for size in _FLASHINFER_BLOCKS if size <= block), default=block) if flash_infer else block


def aligned_block(facts: ModelFacts, settings: Settings) -> int:
    """Tokens of a block whose states take part in prefix caching (``align``); 0 when none do."""
    state = next((layer.state for layer in facts.kv_layers if layer.state), None)
    if state is None or not facts.hybrid or state_mode(facts, state, settings) != "align":
        return 0
    return _hybrid_block(facts, state, "align", settings)[0]


def layer_specs(facts: ModelFacts, settings: Settings, max_model_len: int, drafts: Sequence[KvLayer] = ()) -> list[tuple[int, KvSpec]]:
    """(layer index, cache) of every cache of the model, and of its draft, on one rank."""
    if facts.traits(settings.version).plain_cache:
        settings = replace(settings, stored=KvFormat(settings.state_element))
    sparse = any(layer.cache is Cache.INDEXER for layer in facts.kv_layers)
    state = next((layer.state for layer in facts.kv_layers if layer.state), None)
    block, page, mode = base_block(facts, settings), 0, "none"
    if state is not None:
        mode = state_mode(facts, state, settings)
        if facts.hybrid:
            block, page = _hybrid_block(facts, state, mode, settings)
    promoted = settings.disable_hybrid and any(layer.cache in (Cache.FULL, Cache.MLA) for layer in facts.kv_layers)
    specs: list[tuple[int, KvSpec]] = []
    for layer in (*facts.kv_layers, *drafts):
        if layer.state is not None:
            size = max(page, state_page(layer.state, settings))
            tokens = block if mode != "none" else max_model_len
            spec = KvSpec(Cache.STATE, tokens, 0, size, state_blocks=_state_blocks(layer.state, mode, settings), kind=layer.state.kind)
        elif layer.page:
            tokens, size = resized(layer, settings.block_size)
            spec = KvSpec(layer.cache, tokens, size // tokens, size, layer.window, kind=PACKED)
        else:
            per_token = _token_bytes(layer, settings, sparse)
            kind = f"{layer.heads_on_rank(settings.tp)}x{layer.head_dim}+{layer.value_dim}"
            tokens = _window_block(layer, block, settings) if layer.cache is Cache.SLIDING and not promoted else block
            spec = KvSpec(layer.cache, tokens, per_token, tokens * per_token, layer.window, kind=kind)
        specs.append((layer.layer, spec))
    return specs
