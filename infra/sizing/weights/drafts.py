"""What a speculative draft adds: layers in the KV pool and weights."""

from dataclasses import replace

from interlock.infra.sizing.model.compressed import is_compressed, window_cache
from interlock.infra.sizing.model.config import integer
from interlock.infra.sizing.model.facts import ModelFacts
from interlock.infra.sizing.model.layer_plan import attention_cache, head_dim_of, is_mla, kv_heads_of
from interlock.infra.sizing.model.layers import Cache, KvLayer
from interlock.infra.sizing.model.quantization import Quantization
from interlock.infra.sizing.weights import compressed
from interlock.infra.sizing.weights import decoder as blocks
from interlock.infra.sizing.weights.ledger import Ledger, Shard
from interlock.infra.sizing.weights.rank import rank_weights

_OWN_LAYER = ("mtp", "eagle", "eagle3", "deepseek_mtp")
# Words that an EAGLE-3 head can say when its config is not at hand.
_DRAFT_VOCABULARY = 32_000
_NO_LAYERS = ("ngram", "ngram_gpu", "suffix", "medusa")


def mtp_layers(facts: ModelFacts) -> int:
    """Prediction modules of the checkpoint (1 when it does not say); of MiMo-V2 only the first is used (``models/mimo_v2_mtp.py``)."""
    if _first_only(facts):
        return 1
    return max(1, integer(facts.text, "num_nextn_predict_layers", "mtp_num_hidden_layers", default=1))


def _first_only(facts: ModelFacts) -> bool:
    return facts.family.predictor == "first"


def draft_caches(facts: ModelFacts, method: str | None, draft: ModelFacts | None) -> tuple[KvLayer, ...]:
    """Caches of the draft's layers; they live on the last pipeline stage."""
    if not method or method in _NO_LAYERS or _borrows(facts, method):
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
    if is_compressed(config):
        return (window_cache(config, last),)
    if is_mla(config):
        latent = KvLayer(Cache.MLA, 1, integer(config, "kv_lora_rank") + integer(config, "qk_rope_head_dim"), 0, layer=last)
        index = integer(config, "index_head_dim")
        return (latent, KvLayer(Cache.INDEXER, 1, index, 0, layer=last)) if index else (latent,)
    if _first_only(facts):
        return (attention_cache(config, "sliding", last),)
    width = head_dim_of(config)
    return (KvLayer(Cache.FULL, kv_heads_of(config), width, integer(config, "v_head_dim") or width, layer=last),)


def _borrows(facts: ModelFacts, method: str) -> bool:
    """Whether the draft has queries only and reads the target's cache (``models/gemma4_mtp.py``): no cache, and weights of its own."""
    return facts.family.predictor == "borrowed" and method.endswith("mtp")


def unknown_draft(facts: ModelFacts, method: str | None, draft: ModelFacts | None) -> bool:
    """A draft of its own whose config is not at hand: its weights are not known."""
    if method and _borrows(facts, method):
        return True
    return bool(method) and method not in (*_NO_LAYERS, *_OWN_LAYER) and (draft is None or not draft.complete)


def draft_bytes(facts: ModelFacts, method: str | None, draft: ModelFacts | None, shard: Shard, width: int) -> int:
    """Weights of the draft on one rank. Embedding and head are shared with the target where the method shares them."""
    if not method or method in _NO_LAYERS:
        return 0
    if method in ("eagle", "eagle3"):
        return _eagle_bytes(facts, draft if draft is not None and draft.hidden_size else None, method, shard, width)
    if draft is not None and draft.complete and method != "mtp":
        return rank_weights(draft, Shard(shard.tp, version=shard.version), width).param_bytes
    if method not in _OWN_LAYER or _borrows(facts, method):
        return 0
    ledger = Ledger(shard, width, _stored(facts))
    for number in range(mtp_layers(facts)):
        _predictor(ledger, facts, number)
    return ledger.bytes


def _stored(facts: ModelFacts) -> Quantization | None:
    """The model's own quantization; MiMo-V2 leaves its module's output projection in 16 bit (``models/mimo_v2.py``)."""
    if facts.quantization is None or not _first_only(facts):
        return facts.quantization
    return replace(facts.quantization, ignore=(*facts.quantization.ignore, "mtp.layers.0.self_attn.o_proj"))


def _predictor(ledger: Ledger, facts: ModelFacts, number: int) -> None:
    """One prediction module: what joins the token's embedding and the hidden state, norms, a decoder layer."""
    hidden, last = facts.hidden_size, facts.layers - 1
    family, together = facts.traits(ledger.shard.version), facts.family.predictor == "joined"
    ledger.home = f"mtp.layers.{number}" if together or _first_only(facts) else f"model.layers.{facts.layers + number}"
    if number == 0 or not together:
        _joined(ledger, facts, together)
        ledger.add(facts.family.predictor_norms * hidden)
    ledger.add(2 * hidden)
    if is_compressed(facts.text):
        compressed.head(ledger, facts.text, hidden)
        compressed.attention(ledger, facts.text, hidden, facts.attention_heads, facts.layers)
    elif is_mla(facts.text):
        blocks.latent_attention(ledger, facts, last)
    else:
        blocks.attention(ledger, facts, family, last)
    if facts.experts and not facts.family.predictor_dense:
        blocks.mixture(ledger, facts, family, last)
    else:
        blocks.mlp(ledger, f"model.layers.{last}.mlp", hidden, facts.intermediate_size, family)


def _joined(ledger: Ledger, facts: ModelFacts, together: bool) -> None:
    """The projection of embedding and hidden state: divided over TP and stored as the checkpoint's other linear layers (Qwen3-Next and
    its relatives; modelopt's FP4 leaves Qwen's in 16 bit), two stored so (DeepSeek-V4), else whole and in the model's dtype."""
    hidden, found = facts.hidden_size, facts.quantization
    if is_compressed(facts.text):
        ledger.linear(f"{ledger.home}.e_proj", hidden, hidden)
        ledger.linear(f"{ledger.home}.h_proj", hidden, hidden)
    elif not together:
        ledger.add(2 * hidden * hidden)
    elif facts.family.predictor_in_16_bit and found is not None and found.modelopt_fp4:
        ledger.add(2 * hidden * hidden // ledger.shard.tp)
    else:
        ledger.column("mtp.fc", 2 * hidden, hidden)


def _eagle_bytes(facts: ModelFacts, draft: ModelFacts | None, method: str, shard: Shard, width: int) -> int:
    """A decoder layer that reads hidden states of the target (EAGLE-3: of three layers, beside the token's embedding) and shares its
    embedding; EAGLE-3 has a small head of its own (vLLM: ``models/llama_eagle.py``, ``llama_eagle3.py``)."""
    shape = draft or facts
    third, hidden = method == "eagle3", shape.hidden_size
    family = shape.traits()
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
