"""What a speculative draft adds: layers in the KV pool and weights."""

from dataclasses import replace

from interlock.infra.sizing import blocks, compressed
from interlock.infra.sizing.facts import ModelFacts
from interlock.infra.sizing.kv_layers import head_dim_of, is_mla, kv_heads_of
from interlock.infra.sizing.layers import Cache, KvLayer
from interlock.infra.sizing.ledger import Ledger, Shard
from interlock.infra.sizing.reading import integer
from interlock.infra.sizing.traits import traits
from interlock.infra.sizing.weights import rank_weights

_OWN_LAYER = ("mtp", "eagle", "eagle3", "deepseek_mtp")
_NO_LAYERS = ("ngram", "ngram_gpu", "suffix", "medusa")


def mtp_layers(facts: ModelFacts) -> int:
    """Prediction modules of the checkpoint (1 when it does not say)."""
    return max(1, integer(facts.text, "num_nextn_predict_layers", "mtp_num_hidden_layers", default=1))


def draft_caches(facts: ModelFacts, method: str | None, draft: ModelFacts | None) -> tuple[KvLayer, ...]:
    """Caches of the draft's layers; they live on the last pipeline stage."""
    if not method or method in _NO_LAYERS:
        return ()
    last = facts.layers - 1
    if draft is not None and draft.kv_layers and method != "mtp":
        return tuple(replace(layer, layer=last) for layer in draft.kv_layers)
    if method not in _OWN_LAYER:
        return ()
    count = mtp_layers(facts) if method.endswith("mtp") else 1
    return _one_layer(facts, last) * count


def _one_layer(facts: ModelFacts, last: int) -> tuple[KvLayer, ...]:
    config = facts.text
    if compressed.is_compressed(config):
        return (compressed.window_cache(config, last),)
    if is_mla(config):
        latent = KvLayer(Cache.MLA, 1, integer(config, "kv_lora_rank") + integer(config, "qk_rope_head_dim"), 0, layer=last)
        index = integer(config, "index_head_dim")
        return (latent, KvLayer(Cache.INDEXER, 1, index, 0, layer=last)) if index else (latent,)
    width = head_dim_of(config)
    return (KvLayer(Cache.FULL, kv_heads_of(config), width, integer(config, "v_head_dim") or width, layer=last),)


def draft_bytes(facts: ModelFacts, method: str | None, draft: ModelFacts | None, shard: Shard, width: int) -> int:
    """Weights of the draft on one rank. Embedding and head are shared with the target where the method shares them."""
    if not method or method in _NO_LAYERS:
        return 0
    if draft is not None and draft.complete and method != "mtp":
        return rank_weights(draft, Shard(shard.tp, version=shard.version), width).param_bytes
    if method not in _OWN_LAYER:
        return 0
    ledger, hidden = Ledger(shard, width, None if method.startswith("eagle") else facts.quantization), facts.hidden_size
    family = traits(facts.model_type, facts.text)
    last = facts.layers - 1
    for _ in range(mtp_layers(facts) if method.endswith("mtp") else 1):
        ledger.add(2 * hidden * hidden + (5 if method.endswith("mtp") else 4) * hidden)
        if compressed.is_compressed(facts.text):
            compressed.attention(ledger, facts.text, hidden, facts.attention_heads, facts.layers)
        elif is_mla(facts.text):
            blocks.latent_attention(ledger, facts, last)
        else:
            blocks.attention(ledger, facts, family, last)
        if facts.experts and method.endswith("mtp"):
            blocks.mixture(ledger, facts, family, last)
        else:
            blocks.mlp(ledger, f"model.layers.{last}.mlp", hidden, facts.intermediate_size, family)
    return ledger.bytes
