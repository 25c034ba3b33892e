"""Compressed attention (DeepSeek-V4): caches of several page sizes per layer (vLLM: ``models/deepseek_v4``)."""

from collections.abc import Iterator, Mapping, Sequence

from interlock.infra.sizing.model.config import Config, integer, layers_in, mapping, round_up, sequence
from interlock.infra.sizing.model.layers import Cache, KvLayer

# A cached state: 448 bytes in fp8, 64 rope numbers in 16 bit, 8 bytes of scales; pages are padded for FlashMLA.
_STATE_BYTES, _ALIGNMENT = 584, 576
_WINDOW_BLOCK, _BLOCK = 64, 256
# Tokens that one compressed state stands for -> tokens in a block of the compressor's own float32 states.
COMPRESSOR_BLOCKS: Mapping[int, int] = {4: 4, 128: 8}


def is_compressed(config: Config) -> bool:
    """Whether the model has this attention."""
    return integer(config, "o_lora_rank") > 0


def ratios(config: Config) -> Sequence[int]:
    """Tokens per compressed state of each layer; 0: a sliding window only."""
    listed = [value if isinstance(value, int) else 0 for value in sequence(config, "compress_ratios")]
    if listed:
        return listed
    rates = mapping(config, "compress_rates")
    return [integer(rates, str(name)) for name in sequence(config, "layer_types")]


def described(config: Config) -> bool:
    """Whether the config says how each layer compresses."""
    found, count = ratios(config), layers_in(config, "num_hidden_layers")
    return len(found) >= count and all(value in (0, 1, *COMPRESSOR_BLOCKS) for value in found[:count])


def _page(numbers: int) -> int:
    return round_up(numbers, _ALIGNMENT)


def window_cache(config: Config, index: int) -> KvLayer:
    """The sliding window that every layer has."""
    page = _page(_WINDOW_BLOCK * _STATE_BYTES)
    return KvLayer(Cache.SLIDING, window=integer(config, "sliding_window"), layer=index, block=_WINDOW_BLOCK, page=page)


def _compressor(ratio: int, width: int, index: int) -> KvLayer:
    """Partial sums of keys and scores, in float32, until a state is whole; ratio 4 overlaps two of them."""
    overlap = 2 if ratio == 4 else 1
    block = COMPRESSOR_BLOCKS[ratio]
    return KvLayer(Cache.SLIDING, window=overlap * ratio, layer=index, block=block, page=_page(block * 2 * overlap * width * 4))


def _states(used: int, index: int) -> KvLayer:
    """The compressed states of a block of tokens."""
    return KvLayer(Cache.MLA, layer=index, block=_BLOCK, page=_page(used), unpadded=used)


def resized(layer: KvLayer, size: int | None) -> tuple[int, int]:
    """(tokens, bytes) of a block when the user states the tokens: whole states only, so multiples of the coarsest ratio."""
    if not size or not layer.unpadded or size % max(COMPRESSOR_BLOCKS):
        return layer.block, layer.page
    return size, _page(layer.unpadded * size // layer.block)


def fewer_than_window(size: int | None) -> bool:
    """Whether a stated block holds fewer states than a block of the window, so that its pages are the smaller."""
    return size is not None and size // min(COMPRESSOR_BLOCKS) < _WINDOW_BLOCK


def caches(config: Config) -> Iterator[KvLayer]:
    """All caches in layer order."""
    width, index_width = integer(config, "head_dim"), integer(config, "index_head_dim")
    for index, ratio in enumerate(ratios(config)[: layers_in(config, "num_hidden_layers")]):
        yield window_cache(config, index)
        if ratio not in COMPRESSOR_BLOCKS:
            continue
        yield _states(_BLOCK // ratio * _STATE_BYTES, index)
        yield _compressor(ratio, width, index)
        if ratio == 4 and index_width:
            state = index_width + index_width // 128 * 4
            yield _states(_BLOCK // ratio * state, index)
            yield _compressor(ratio, index_width, index)
