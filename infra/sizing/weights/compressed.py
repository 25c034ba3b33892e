"""Compressed attention (DeepSeek-V4) as tensors: low-rank projections, compressors, an indexer, hyper-connections
(vLLM: ``models/deepseek_v4``)."""

from interlock.infra.sizing.model.compressed import COMPRESSOR_BLOCKS, ratios
from interlock.infra.sizing.model.config import Config, integer
from interlock.infra.sizing.weights.ledger import Ledger


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
    if ratio in COMPRESSOR_BLOCKS:
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
