"""Writes a tiny model with random weights that the engine can serve: config, safetensors, tokenizer, chat template.

Runs on the engine environment's Python (torch, transformers, tokenizers); nothing is downloaded.

usage: make_model.py FAMILY OUT
"""

import sys
from pathlib import Path
from typing import Any

HIDDEN, LAYERS, HEADS, KV_HEADS, HEAD_DIM, CONTEXT = 256, 2, 4, 2, 64, 1024
BASE = {
    "hidden_size": HIDDEN,
    "intermediate_size": 2 * HIDDEN,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": HEADS,
    "num_key_value_heads": KV_HEADS,
    "max_position_embeddings": CONTEXT,
}
#: What each family adds to the common shape, as (configuration class, its fields). One family per way in which
#: the engine lays out its KV cache: per head, latent, in a window, behind routed experts, none at all.
FAMILIES: dict[str, tuple[str, dict[str, Any]]] = {
    "dense": ("LlamaConfig", {"head_dim": HEAD_DIM}),
    "mla": (
        "DeepseekV2Config",
        {
            "num_key_value_heads": HEADS,
            "kv_lora_rank": 512,
            "q_lora_rank": None,
            "qk_rope_head_dim": 64,
            "qk_nope_head_dim": 128,
            "v_head_dim": 128,
            "first_k_dense_replace": 1,
            "moe_intermediate_size": HIDDEN,
            "n_routed_experts": 4,
            "n_shared_experts": 1,
            "num_experts_per_tok": 2,
            "n_group": 1,
            "topk_group": 1,
            "topk_method": "greedy",
        },
    ),
    "sliding": ("Gemma2Config", {"head_dim": HEAD_DIM, "sliding_window": 128, "query_pre_attn_scalar": HEAD_DIM}),
    "moe": (
        "Qwen3MoeConfig",
        {"head_dim": HEAD_DIM, "moe_intermediate_size": HIDDEN, "num_experts": 4, "num_experts_per_tok": 2},
    ),
    "pooling": ("BertConfig", {"pad_token_id": 0}),
}
CHAT_TEMPLATE = (
    "{% for message in messages %}<|{{ message['role'] }}|>{{ message['content'] }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
ALPHABET = "abcdefghijklmnopqrstuvwxyz"
SPECIAL = ["<|pad|>", "<|start|>", "<|end|>", "<|system|>", "<|user|>", "<|assistant|>"]


def save_tokenizer(out: Path) -> int:
    """Saves a byte-level tokenizer (every text has tokens, no training) and returns the size of its vocabulary."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocab = {token: index for index, token in enumerate(SPECIAL + alphabet)}
    raw = Tokenizer(models.BPE(vocab=vocab, merges=[]))
    raw.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    raw.decoder = decoders.ByteLevel()
    raw.add_special_tokens(SPECIAL)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=raw, pad_token=SPECIAL[0], bos_token=SPECIAL[1], eos_token=SPECIAL[2], model_max_length=CONTEXT
    )
    tokenizer.chat_template = CHAT_TEMPLATE
    tokenizer.save_pretrained(out)
    return len(vocab)


def teach_alphabet(model: Any) -> None:
    """Makes the model answer every chat with the alphabet, over and over: a lost or torn token is seen in the text.

    The embeddings are much larger than what the random layers add, and the head gives each token's successor the token's embedding.
    """
    import torch

    order = [SPECIAL.index("<|assistant|>"), *(token_of(letter) for letter in ALPHABET)]
    with torch.no_grad():
        embedding = model.get_input_embeddings().weight.mul_(50)
        head = model.get_output_embeddings().weight.zero_()
        for token, successor in zip(order, [*order[1:], order[1]], strict=True):
            head[successor] += embedding[token]


def token_of(letter: str) -> int:
    """The token of one ASCII letter."""
    from tokenizers import pre_tokenizers

    return len(SPECIAL) + sorted(pre_tokenizers.ByteLevel.alphabet()).index(letter)


def save_model(family: str, out: Path) -> None:
    """Saves the family's model (float32, fixed seed) and its tokenizer into ``out``."""
    import torch
    import transformers

    name, extra = FAMILIES[family]
    vocabulary = save_tokenizer(out)
    fields = BASE | {"vocab_size": vocabulary, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2} | extra
    config = getattr(transformers, name)(**fields)
    torch.manual_seed(0)
    kind = transformers.AutoModel if family == "pooling" else transformers.AutoModelForCausalLM
    model = kind.from_config(config).to(torch.float32)
    if family == "dense":
        teach_alphabet(model)
    model.save_pretrained(out)
    for path in out.iterdir():
        # The weights are written for the owner only, and containers run as another user.
        path.chmod(0o644)


if __name__ == "__main__":
    save_model(sys.argv[1], Path(sys.argv[2]))
