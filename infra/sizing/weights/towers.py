"""Vision towers as tensors. Towers whose shapes are not described here are counted roughly (and said so)."""

from collections.abc import Callable, Mapping

from interlock.infra.sizing.model.config import Config, integer, layers_in, mapping, text
from interlock.infra.sizing.model.facts import ModelFacts
from interlock.infra.sizing.weights.ledger import Ledger


def tower(ledger: Ledger, facts: ModelFacts) -> None:
    """Encoder and projector of a multimodal model on one rank."""
    if facts.towerless:
        return
    thinker = mapping(facts.config, "thinker_config")
    sound = mapping(thinker, "audio_config")
    if text(sound, "model_type") == "qwen3_omni_moe_audio_encoder":
        _qwen3_audio(ledger, sound)
    vision = facts.vision
    if not vision:
        return
    TOWERS[facts.towers.tower](ledger, facts, vision)


def _qwen3(ledger: Ledger, facts: ModelFacts, vision: Config) -> None:
    width, inter, depth = integer(vision, "hidden_size"), integer(vision, "intermediate_size"), layers_in(vision, "depth")
    patch, merge, frames = integer(vision, "patch_size", default=16), integer(vision, "spatial_merge_size", default=2), 2
    out = integer(vision, "out_hidden_size") or facts.hidden_size
    ledger.add(3 * frames * patch * patch * width + width)
    ledger.add(integer(vision, "num_position_embeddings", default=2304) * width)
    for _ in range(depth):
        ledger.add(4 * width)
        _attention(ledger, width)
        ledger.column("visual.mlp.fc1", width, inter, bias=True)
        ledger.row("visual.mlp.fc2", inter, width, bias=True)
    mergers = facts.deepstack
    merged = width * merge * merge
    for i in range(1 + mergers):
        ledger.add(2 * (width if i == 0 else merged))
        ledger.column("visual.merger.fc1", merged, merged, bias=True)
        ledger.row("visual.merger.fc2", merged, out, bias=True)


def _qwen2(ledger: Ledger, facts: ModelFacts, vision: Config) -> None:
    gated = facts.towers.tower == "qwen2-gated"
    width = integer(vision, "hidden_size") if gated else integer(vision, "embed_dim")
    inter, depth = integer(vision, "intermediate_size") or 4 * width, (layers_in(vision, "depth") or 32)
    patch, merge = integer(vision, "patch_size", default=14), integer(vision, "spatial_merge_size", default=2)
    ledger.add(3 * 2 * patch * patch * width)
    for _ in range(depth):
        ledger.add(2 * width if gated else 4 * width)
        _attention(ledger, width)
        ledger.column("visual.mlp.gate_up_proj", width, [inter, inter] if gated else inter, bias=True)
        ledger.row("visual.mlp.down_proj", inter, width, bias=True)
    merged = width * merge * merge
    ledger.add(width if gated else 2 * width)
    ledger.column("visual.merger.0", merged, merged, bias=True)
    ledger.row("visual.merger.2", merged, facts.hidden_size, bias=True)


def _attention(ledger: Ledger, width: int, tower: str = "visual") -> None:
    ledger.column(f"{tower}.attn.qkv", width, [width, width, width], bias=True)
    ledger.row(f"{tower}.attn.proj", width, width, bias=True)


def _moon(ledger: Ledger, facts: ModelFacts, vision: Config) -> None:
    """Kimi K2.5's tower and the projector that merges patches, whole on every rank (vLLM: ``models/kimi_k25_vit.py``)."""
    width, inter, depth = (
        integer(vision, "vt_hidden_size"),
        integer(vision, "vt_intermediate_size"),
        layers_in(vision, "vt_num_hidden_layers"),
    )
    patch, grid = integer(vision, "patch_size", default=14), integer(vision, "init_pos_emb_height", default=64)
    heads = integer(vision, "vt_num_attention_heads", default=16)
    spread = ledger.shard.tp if heads % ledger.shard.tp == 0 else 1
    ledger.add(3 * patch * patch * width + width + grid * integer(vision, "init_pos_emb_width", default=64) * width)
    for _ in range(depth):
        ledger.add(4 * width)
        ledger.add((4 * width * width + 3 * width) // spread + width)
        ledger.add((2 * width * inter + inter) // spread + width)
    merged = 4 * width
    ledger.add(4 * width)
    ledger.add(merged * merged + merged + merged * facts.hidden_size + facts.hidden_size)


def _pixtral(ledger: Ledger, facts: ModelFacts, vision: Config) -> None:
    width, inter, depth = integer(vision, "hidden_size"), integer(vision, "intermediate_size"), layers_in(vision, "num_hidden_layers")
    patch, merge, hidden = (
        integer(vision, "patch_size", default=14),
        integer(facts.config, "spatial_merge_size", default=2),
        facts.hidden_size,
    )
    ledger.add(3 * patch * patch * width)
    ledger.add(width)
    for _ in range(depth):
        ledger.add(2 * width)
        ledger.column("vision_tower.attention.qkv_proj", width, [width, width, width])
        ledger.row("vision_tower.attention.o_proj", width, width)
        ledger.column("vision_tower.feed_forward.gate_up_proj", width, [inter, inter])
        ledger.row("vision_tower.feed_forward.down_proj", inter, width)
    ledger.add(width)
    ledger.add(width * merge * merge * width)
    ledger.column("multi_modal_projector.linear_1", width, hidden)
    ledger.row("multi_modal_projector.linear_2", hidden, hidden)


def _siglip(ledger: Ledger, facts: ModelFacts, vision: Config) -> None:
    width, inter, depth = integer(vision, "hidden_size"), integer(vision, "intermediate_size"), layers_in(vision, "num_hidden_layers")
    patch, image = integer(vision, "patch_size", default=14), integer(vision, "image_size", default=896)
    ledger.add(3 * patch * patch * width + width)
    ledger.add((image // patch) ** 2 * width)
    for _ in range(depth):
        ledger.add(4 * width)
        ledger.column("vision_tower.self_attn.qkv_proj", width, [width, width, width], bias=True)
        ledger.row("vision_tower.self_attn.out_proj", width, width, bias=True)
        ledger.column("vision_tower.mlp.fc1", width, inter, bias=True)
        ledger.row("vision_tower.mlp.fc2", inter, width, bias=True)
    ledger.add(2 * width)
    ledger.add(width + width * facts.hidden_size)


def _clip(ledger: Ledger, facts: ModelFacts, vision: Config) -> None:
    """CLIP up to the layer whose features are taken, and LLaVA's two-layer projector (vLLM: ``models/clip.py``, ``llava.py``)."""
    width, inter, depth = integer(vision, "hidden_size"), integer(vision, "intermediate_size"), layers_in(vision, "num_hidden_layers")
    patch, image = integer(vision, "patch_size", default=14), integer(vision, "image_size", default=336)
    taken = facts.config.get("vision_feature_layer", -2)
    taken = taken if isinstance(taken, int) else -1
    used = depth + taken + 1 if taken < 0 else taken + 1
    ledger.add(3 * patch * patch * width + width + ((image // patch) ** 2 + 1) * width)
    ledger.add(2 * width * (2 if used == depth else 1))
    for _ in range(used):
        ledger.add(4 * width)
        _attention(ledger, width)
        ledger.column("vision_tower.mlp.fc1", width, inter, bias=True)
        ledger.row("vision_tower.mlp.fc2", inter, width, bias=True)
    ledger.column("multi_modal_projector.linear_1", width, facts.hidden_size, bias=True)
    ledger.row("multi_modal_projector.linear_2", facts.hidden_size, facts.hidden_size, bias=True)


def _qwen3_audio(ledger: Ledger, sound: Config) -> None:
    """Three convolutions that halve time and frequency, a transformer and two projections (vLLM: ``models/qwen3_omni_moe_thinker.py``)."""
    width, inter, channels = integer(sound, "d_model"), integer(sound, "encoder_ffn_dim"), integer(sound, "downsample_hidden_size")
    bands = integer(sound, "num_mel_bins", default=128)
    for _ in range(3):
        bands = (bands + 1) // 2
    ledger.add(9 * channels + channels + 2 * (9 * channels * channels + channels))
    ledger.add(channels * bands * width)
    for _ in range(layers_in(sound, "encoder_layers")):
        ledger.add(4 * width)
        _attention(ledger, width)
        ledger.column("audio_tower.fc1", width, inter, bias=True)
        ledger.row("audio_tower.fc2", inter, width, bias=True)
    output = integer(sound, "output_dim")
    ledger.add(2 * width + width * width + width + width * output + output)


def _llama4(ledger: Ledger, facts: ModelFacts, vision: Config) -> None:
    width, inter, depth = integer(vision, "hidden_size"), integer(vision, "intermediate_size"), layers_in(vision, "num_hidden_layers")
    patch, image = integer(vision, "patch_size", default=14), integer(vision, "image_size", default=336)
    ratio = vision.get("pixel_shuffle_ratio")
    ratio = ratio if isinstance(ratio, int | float) and ratio > 0 else 0.5
    ledger.column("vision_model.patch_embedding", 3 * patch * patch, width)
    ledger.add(width)
    ledger.add(((image // patch) ** 2 + 1) * width)
    ledger.add(4 * width)
    for _ in range(depth):
        ledger.add(4 * width)
        _attention(ledger, width, "vision_model")
        ledger.column("vision_model.mlp.fc1", width, inter, bias=True)
        ledger.row("vision_model.mlp.fc2", inter, width, bias=True)
    inputs, outputs = integer(vision, "projector_input_dim", default=4096), integer(vision, "projector_output_dim", default=4096)
    ledger.column("vision_model.vision_adapter.mlp.fc1", int(width // ratio**2), inputs)
    ledger.row("vision_model.vision_adapter.mlp.fc2", inputs, outputs)
    ledger.column("multi_modal_projector.linear_1", integer(vision, "vision_output_dim", default=4096), facts.hidden_size)


def _gemma4(ledger: Ledger, facts: ModelFacts, vision: Config) -> None:
    """Transformers' own tower, whole on every rank (transformers: ``models/gemma4/modeling_gemma4.py``)."""
    width, inter, depth = integer(vision, "hidden_size"), integer(vision, "intermediate_size"), layers_in(vision, "num_hidden_layers")
    heads, head = integer(vision, "num_attention_heads"), integer(vision, "head_dim", default=64)
    keys = integer(vision, "num_key_value_heads", default=12)
    patch, positions = integer(vision, "patch_size", default=16), integer(vision, "position_embedding_size", default=10 * 1024)
    ledger.add(3 * patch * patch * width + 2 * positions * width)
    ledger.add(depth * (width * head * (2 * heads + 2 * keys) + 3 * width * inter + 4 * width + 2 * head))
    ledger.add(width * facts.hidden_size)


def _plain(ledger: Ledger, facts: ModelFacts, vision: Config) -> None:
    """A usual vision transformer with a two-layer projector, divided over TP."""
    width = integer(vision, "hidden_size", "embed_dim")
    depth = layers_in(vision, "num_hidden_layers", "depth")
    inter = integer(vision, "intermediate_size") or 4 * width
    ledger.add(depth * (4 * width * width + 2 * width * inter) // ledger.shard.tp)
    ledger.add(width * facts.hidden_size)


TOWERS: Mapping[str, Callable[[Ledger, ModelFacts, Config], None]] = {
    "": _plain,
    "qwen3": _qwen3,
    "qwen2": _qwen2,
    "qwen2-gated": _qwen2,
    "moon": _moon,
    "pixtral": _pixtral,
    "siglip": _siglip,
    "clip": _clip,
    "llama4": _llama4,
    "gemma4": _gemma4,
}
"""The constructors of vision towers: the ``tower`` of a row in families.json."""
