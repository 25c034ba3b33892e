"""Encoders as tensors: BERT and RoBERTa, Nomic, ModernBERT (vLLM: ``models/bert.py``, ``roberta.py``, ``bert_with_rope.py``)."""

from interlock.infra.catalog.versions import since
from interlock.infra.sizing.model.config import integer, layers_in
from interlock.infra.sizing.model.facts import ModelFacts
from interlock.infra.sizing.weights.ledger import Ledger


def labels(facts: ModelFacts) -> int:
    """Scores that a classifier gives (transformers' default is 2)."""
    named = facts.config.get("id2label")
    return integer(facts.config, "num_labels") or integer(facts.text, "num_labels") or (len(named) if isinstance(named, dict) else 2)


def encoder_tensors(ledger: Ledger, facts: ModelFacts) -> None:
    """All tensors of an encoder on one rank."""
    hidden = facts.hidden_size
    if facts.family.tensors == "encoder-modern":
        _modern(ledger, facts)
    else:
        _classic(ledger, facts, rotary=facts.family.tensors == "encoder-rotary")
    if facts.head == "classify":
        ledger.add(hidden * hidden + hidden + labels(facts) * (hidden + 1), 4)


def _classic(ledger: Ledger, facts: ModelFacts, *, rotary: bool) -> None:
    """Embeddings of words, positions and types; post-norm layers. With rotary positions: gated MLPs and no biases."""
    hidden, inter, config = facts.hidden_size, facts.intermediate_size, facts.text
    ledger.vocabulary(facts.vocab_size, hidden)
    if not rotary:
        ledger.vocabulary(integer(config, "max_position_embeddings", default=512), hidden)
    ledger.vocabulary(integer(config, "type_vocab_size", default=2), hidden)
    ledger.add(2 * hidden)
    for _ in range(facts.layers):
        ledger.column("encoder.attention.qkv", hidden, [hidden, hidden, hidden], bias=not rotary)
        ledger.row("encoder.attention.output", hidden, hidden, bias=not rotary)
        ledger.column("encoder.intermediate", hidden, [inter, inter] if rotary else inter, bias=not rotary)
        ledger.row("encoder.output", inter, hidden, bias=not rotary)
        ledger.add(4 * hidden)


def _modern(ledger: Ledger, facts: ModelFacts) -> None:
    """Pre-norm layers without biases; the first has no norm before its attention (vLLM: ``models/modernbert.py``)."""
    hidden, inter = facts.hidden_size, facts.intermediate_size
    ledger.vocabulary(facts.vocab_size, hidden)
    ledger.add(hidden)
    for index in range(facts.layers):
        ledger.column("layers.attn.Wqkv", hidden, [hidden, hidden, hidden])
        ledger.row("layers.attn.Wo", hidden, hidden)
        if not since("modernbert_mlp_cut", ledger.shard.version):
            ledger.linear("layers.mlp.Wi", hidden, [inter, inter])
        else:
            ledger.column("layers.mlp.Wi", hidden, [inter, inter])
        ledger.row("layers.mlp.Wo", inter, hidden)
        ledger.add(hidden * (2 if index else 1))
    ledger.add(hidden)


def speech_tensors(ledger: Ledger, facts: ModelFacts) -> None:
    """Whisper: two convolutions and an encoder, a decoder that also attends to it; the embedding is whole on every rank
    (vLLM: ``models/whisper.py``)."""
    config, hidden = facts.text, facts.hidden_size
    ledger.add(3 * integer(config, "num_mel_bins", default=80) * hidden + hidden + 3 * hidden * hidden + hidden)
    ledger.add(integer(config, "max_source_positions", default=1500) * hidden)
    ledger.add(facts.vocab_size * hidden + integer(config, "max_target_positions", default=448) * hidden)
    ledger.add(4 * hidden)
    for side, attentions in (("encoder", 1), ("decoder", 2)):
        inter = integer(config, f"{side}_ffn_dim")
        for _ in range(layers_in(config, f"{side}_layers")):
            for _ in range(attentions):
                ledger.column(f"{side}.attn.qkv_proj", hidden, [hidden, hidden, hidden], bias=True)
                ledger.row(f"{side}.attn.out_proj", hidden, hidden, bias=True)
            ledger.column(f"{side}.fc1", hidden, inter, bias=True)
            ledger.row(f"{side}.fc2", inter, hidden, bias=True)
            ledger.add(2 * hidden * (1 + attentions))
