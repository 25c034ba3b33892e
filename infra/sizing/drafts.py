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
# Words that an EAGLE-3 head can say when its config is not at hand.
_DRAFT_VOCABULARY = 32_000
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


def unknown_draft(method: str | None, draft: ModelFacts | None) -> bool:
    """A draft of its own whose config is not at hand: its weights are not known."""
    return bool(method) and method not in (*_NO_LAYERS, *_OWN_LAYER) and (draft is None or not draft.complete)


def draft_bytes(facts: ModelFacts, method: str | None, draft: ModelFacts | None, shard: Shard, width: int) -> int:
    """Weights of the draft on one rank. Embedding and head are shared with the target where the method shares them."""
    if not method or method in _NO_LAYERS:
        return 0
    if method in ("eagle", "eagle3"):
        return _eagle_bytes(facts, draft if draft is not None and draft.hidden_size else None, method, shard, width)
    if draft is not None and draft.complete and method != "mtp":
        return rank_weights(draft, Shard(shard.tp, version=shard.version), width).param_bytes
    if method not in _OWN_LAYER:
        return 0
    ledger, hidden = Ledger(shard, width, facts.quantization), facts.hidden_size
    family = traits(facts.model_type, facts.text)
    last = facts.layers - 1
    for _ in range(mtp_layers(facts)):
        ledger.add(2 * hidden * hidden + 5 * hidden)
        if compressed.is_compressed(facts.text):
            compressed.attention(ledger, facts.text, hidden, facts.attention_heads, facts.layers)
        elif is_mla(facts.text):
            blocks.latent_attention(ledger, facts, last)
        else:
            blocks.attention(ledger, facts, family, last)
        if facts.experts:
            blocks.mixture(ledger, facts, family, last)
        else:
            blocks.mlp(ledger, f"model.layers.{last}.mlp", hidden, facts.intermediate_size, family)
    return ledger.bytes


def _eagle_bytes(facts: ModelFacts, draft: ModelFacts | None, method: str, shard: Shard, width: int) -> int:
    """A decoder layer that reads hidden states of the target (EAGLE-3: of three layers, beside the token's embedding) and shares its
    embedding; EAGLE-3 has a small head of its own (vLLM: ``models/llama_eagle.py``, ``llama_eagle3.py``)."""
    shape = draft or facts
    third, hidden = method == "eagle3", shape.hidden_size
    family = traits(shape.model_type, shape.text)
    ledger = Ledger(shard, width, None)
    ledger.add((3 if third else 2) * facts.hidden_size * hidden)
    for index in range(draft.layers if draft else 1):
        blocks.attention(ledger, shape, family, min(index, shape.layers - 1))
        blocks.mlp(ledger, "model.layers.0.mlp", hidden, shape.intermediate_size, family)
        ledger.add((3 if third else 1 if index == 0 else 2) * hidden)
    if third:
        rows = shape.attention_heads // shard.tp + 2 * max(1, shape.kv_heads // shard.tp)
        vocabulary = integer(shape.config, "draft_vocab_size", default=_DRAFT_VOCABULARY)
        ledger.add(hidden * rows * shape.head_dim + hidden)
        ledger.vocabulary(vocabulary, hidden)
        ledger.add(vocabulary, 8)
    return ledger.bytes
