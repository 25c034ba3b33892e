"""Compressed attention (DeepSeek-V4): caches of several page sizes per layer, and its tensors (vLLM: ``models/deepseek_v4``)."""

from collections.abc import Iterator, Mapping, Sequence

from interlock.infra.sizing.model.config import Config, integer, layers_in, mapping, round_up, sequence
from interlock.infra.sizing.model.layers import Cache, KvLayer
from interlock.infra.sizing.weights.ledger import Ledger

# A cached state: 448 bytes in fp8, 64 rope numbers in 16 bit, 8 bytes of scales; pages are padded for FlashMLA.
_STATE_BYTES, _ALIGNMENT = 584, 576
_WINDOW_BLOCK, _BLOCK = 64, 256
# Tokens that one compressed state stands for -> tokens in a block of the compressor's own float32 states.
_COMPRESSOR_BLOCKS: Mapping[int, int] = {4: 4, 128: 8}


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
    return len(found) >= count and all(value in (0, 1, *_COMPRESSOR_BLOCKS) for value in found[:count])


def _page(numbers: int) -> int:
    return round_up(numbers, _ALIGNMENT)


def window_cache(config: Config, index: int) -> KvLayer:
    """The sliding window that every layer has."""
    page = _page(_WINDOW_BLOCK * _STATE_BYTES)
    return KvLayer(Cache.SLIDING, window=integer(config, "sliding_window"), layer=index, block=_WINDOW_BLOCK, page=page)


def _compressor(ratio: int, width: int, index: int) -> KvLayer:
    """Partial sums of keys and scores, in float32, until a state is whole; ratio 4 overlaps two of them."""
    overlap = 2 if ratio == 4 else 1
    block = _COMPRESSOR_BLOCKS[ratio]
    return KvLayer(Cache.SLIDING, window=overlap * ratio, layer=index, block=block, page=_page(block * 2 * overlap * width * 4))


def _states(used: int, index: int) -> KvLayer:
    """The compressed states of a block of tokens."""
    return KvLayer(Cache.MLA, layer=index, block=_BLOCK, page=_page(used), unpadded=used)


def resized(layer: KvLayer, size: int | None) -> tuple[int, int]:
    """(tokens, bytes) of a block when the user states the tokens: whole states only, so multiples of the coarsest ratio."""
    if not size or not layer.unpadded or size % max(_COMPRESSOR_BLOCKS):
        return layer.block, layer.page
    return size, _page(layer.unpadded * size // layer.block)


def fewer_than_window(size: int | None) -> bool:
    """Whether a stated block holds fewer states than a block of the window, so that its pages are the smaller."""
    return size is not None and size // min(_COMPRESSOR_BLOCKS) < _WINDOW_BLOCK


def caches(config: Config) -> Iterator[KvLayer]:
    """All caches in layer order."""
    width, index_width = integer(config, "head_dim"), integer(config, "index_head_dim")
    for index, ratio in enumerate(ratios(config)[: layers_in(config, "num_hidden_layers")]):
        yield window_cache(config, index)
        if ratio not in _COMPRESSOR_BLOCKS:
            continue
        yield _states(_BLOCK // ratio * _STATE_BYTES, index)
        yield _compressor(ratio, width, index)
        if ratio == 4 and index_width:
            state = index_width + index_width // 128 * 4
            yield _states(_BLOCK // ratio * state, index)
            yield _compressor(ratio, index_width, index)


def attention(ledger: Ledger, config: Config, hidden: int, heads: int, index: int) -> None:
    """Low-rank queries, one shared key-value head, a grouped low-rank output, compressors, hyper-connections."""
    module = f"model.layers.{index}.self_attn"
    query_rank, output_rank, groups = integer(config, "q_lora_rank"), integer(config, "o_lora_rank"), integer(config, "o_groups", default=1)
    head, found = integer(config, "head_dim"), ratios(config)
    ratio = found[index] if index < len(found) else 0
    ledger.linear(f"{module}.fused_wqa_wkv", hidden, [query_rank, head])
    ledger.add(query_rank + head)
    ledger.column(f"{module}.wq_b", query_rank, heads * head)
    ledger.column(f"{module}.wo_a", heads * head // groups, groups * output_rank)
    ledger.row(f"{module}.wo_b", groups * output_rank, hidden)
    ledger.add(64 if heads // ledger.shard.tp <= 64 else 128, 4)  # sinks, padded to what the kernel takes
    if ratio in _COMPRESSOR_BLOCKS:
        _compressor_tensors(ledger, hidden, head, ratio)
    index_heads, index_width = integer(config, "index_n_heads"), integer(config, "index_head_dim")
    if ratio == 4 and index_heads:
        ledger.linear(f"{module}.indexer.wq_b", query_rank, index_heads * index_width)
        ledger.add(hidden * index_heads)
        _compressor_tensors(ledger, hidden, index_width, ratio)
    streams = integer(config, "hc_mult")
    mixed = (2 + streams) * streams
    ledger.add(2 * (mixed * streams * hidden + mixed + 3), 4)


def _compressor_tensors(ledger: Ledger, hidden: int, width: int, ratio: int) -> None:
    overlap = 2 if ratio == 4 else 1
    ledger.add(ratio * overlap * width, 4)
    ledger.add(hidden * 2 * overlap * width)
    ledger.add(width)


def head(ledger: Ledger, config: Config, hidden: int) -> None:
    """What joins the residual streams; every pipeline stage has it."""
    streams = integer(config, "hc_mult")
    ledger.add(streams * streams * hidden + streams + 1, 4)


def routing(ledger: Ledger, config: Config, experts: int, vocab: int, index: int) -> None:
    """The first layers look their experts up by token; the others have a correction per expert."""
    if index < integer(config, "num_hash_layers"):
        ledger.add(vocab * integer(config, "num_experts_per_tok"), 4)
    else:
        ledger.add(experts, 4)
