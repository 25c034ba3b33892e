"""Peak of a multimodal encoder in the profile run: its largest item, as often as the encoder's budget takes, by the tower's shapes.

Shapes read off vLLM's towers on the meta device (tests/engine/activation.jsonl, kind `encoder`). The encoder runs eagerly; in a
deployment that compiles, its activations are torch's own, which keep one tensor more. Widths are in elements per patch.
"""

from dataclasses import dataclass

from interlock.infra.sizing.model.config import Config, integer, mapping, text
from interlock.infra.sizing.model.facts import ModelFacts
from interlock.infra.sizing.terms.forward import BLAS_GIB
from interlock.infra.values import GIB

_ELEMENT = 2
# What the encoder of a model takes whose tower is not described here (GiB, logs of 0.11 to 0.29).
UNKNOWN_GIB = (0.6, 1.6, 2.4)
# Pixels of the largest image in the published preprocessor files (they are no part of config.json).
_QWEN2_PIXELS, _QWEN3_PIXELS = 12_845_056, 16_777_216
# Frames of a dummy video, two to a grid step (models/qwen2_vl.py::_MAX_FRAMES_PER_VIDEO).
_QWEN2_STEPS = 7
_GEMMA4_FRAMES, _GEMMA4_FRAME_TOKENS, _GEMMA4_FRAME_EXTRA = 32, 70, 8
_LLAMA4_TILES, _INTERN_TILES = 17, 13


@dataclass(frozen=True, slots=True)
class Item:
    """The largest item of a tower."""

    tokens: int
    """Of the language model."""
    patches: int
    shorter: int = 0
    """Patches of the next smaller kind of item (an image, where the largest is a video), which is profiled if that kind is off."""


@dataclass(frozen=True, slots=True)
class Encoder:
    """GiB at the encoder's peak; `output` of them (its embeddings) stay through the forward pass."""

    low: float
    likely: float
    high: float
    output: float
    how: str
    pixels: float = 0.0
    """GiB of the dummy items' pixel values, which live as long."""


@dataclass(frozen=True, slots=True)
class Tower:
    """Shapes of a vision transformer."""

    width: int
    inner: int
    patch: int
    head_dim: int
    tp: int
    native: bool
    """Activations and norms are torch's own: whenever the deployment compiles."""

    @property
    def reduced(self) -> int:
        """1 where an all-reduce writes beside its input."""
        return 1 if self.tp > 1 else 0


def _tower(vision: Config, tp: int, native: bool) -> Tower:
    width = integer(vision, "hidden_size", "embed_dim", "width")
    if text(vision, "model_type") == "qwen2_vl" or (integer(vision, "embed_dim") and integer(vision, "mlp_ratio")):
        width = integer(vision, "embed_dim")
    inner = integer(vision, "intermediate_size") or (integer(vision, "mlp_ratio") or 4) * width
    heads = integer(vision, "num_attention_heads", "num_heads", default=16)
    return Tower(width, inner, integer(vision, "patch_size", default=14), integer(vision, "head_dim") or width // max(heads, 1), tp, native)


def largest(facts: ModelFacts, length: int) -> Item | None:
    """The item that the profile run takes: the one with the most tokens; ``length``: tokens of the longest request."""
    vision, kind = mapping(facts.config, "vision_config"), facts.towers.encoder
    patch, merge = integer(vision, "patch_size", default=14), integer(vision, "spatial_merge_size", default=2)
    if kind in ("qwen2_5_vl", "qwen2_vl", "qwen3"):
        tokens = (_QWEN3_PIXELS if kind == "qwen3" else _QWEN2_PIXELS) // (patch * merge) ** 2
        steps = 1 if kind == "qwen3" else min(max(length // tokens, 1), _QWEN2_STEPS)
        return Item(steps * tokens, steps * tokens * merge**2, tokens * merge**2)
    if kind == "pixtral":
        side = integer(vision, "image_size", default=1540) // patch
        rows = side // integer(facts.config, "spatial_merge_size", default=2)
        return Item(rows * (rows + 1), side**2)
    if kind == "clip":
        tokens = (integer(vision, "image_size", default=336) // patch) ** 2
        return Item(tokens, tokens + 1)
    if kind == "siglip":
        return Item(integer(facts.config, "mm_tokens_per_image", default=256), (integer(vision, "image_size", default=896) // patch) ** 2)
    if kind == "gemma4":
        frame = _GEMMA4_FRAME_TOKENS * integer(vision, "pooling_kernel_size", default=3) ** 2
        return Item(_GEMMA4_FRAMES * (_GEMMA4_FRAME_TOKENS + _GEMMA4_FRAME_EXTRA), _GEMMA4_FRAMES * frame)
    if kind == "llama4":
        tile = (integer(vision, "image_size", default=336) // patch) ** 2
        return Item(_LLAMA4_TILES * tile // 4, _LLAMA4_TILES * (tile + 1))
    if kind == "intern":
        tile = (integer(vision, "image_size", default=448) // patch) ** 2
        return Item(_INTERN_TILES * tile // 4, _INTERN_TILES * (tile + 1))
    return None


def peak_elements(facts: ModelFacts, tp: int, *, native: bool) -> float:
    """Elements per patch at the encoder's peak, pixels included (for Gemma 4: of the frames that are computed at once, without pixels)."""
    vision, kind = mapping(facts.config, "vision_config"), facts.towers.encoder
    tower = _tower(vision, 1 if kind == "gemma4" else tp, native)
    width, inner, reduced = tower.width, tower.inner / tower.tp, tower.reduced
    pixels = _pixels(kind, tower)
    if kind == "qwen3":
        during, after = 8 * width / tower.tp + (4 + reduced) * width, 2 * inner + (4 + reduced) * width
        return max(during, after) + pixels + tower.head_dim + _deepstack(facts, vision)
    if kind == "qwen2_vl":  # a quick GELU in torch keeps what it multiplies
        during, after = 8 * width / tower.tp + (4 + reduced) * width, 3 * inner + (3 + 2 * reduced) * width
        return max(during, after) + pixels + tower.head_dim
    if kind == "clip":
        return (3 if native else 2) * inner + (4 + reduced) * width + pixels
    if kind == "qwen2_5_vl":
        activated = 4 if native else 3
        return max(activated * inner + activated * width, 3 * inner + (activated + 1 + reduced) * width) + pixels + 2 * tower.head_dim
    if kind == "pixtral":
        return (4 if native else 3) * inner + 6 * width + pixels + 2 * tower.head_dim + 8
    if kind == "llama4":  # queries and keys rotated as complex float32
        return 13 * width / tower.tp + 3 * width + pixels
    if kind == "gemma4":
        return 3 * inner + 4 * width + 2 * tower.head_dim
    return max(2 * inner + 4 * width, inner + (5 + reduced) * width) + pixels


def _pixels(kind: str, tower: Tower) -> int:
    return 3 * (2 if kind.startswith("qwen") else 1) * tower.patch**2


def _deepstack(facts: ModelFacts, vision: Config) -> float:
    """Embeddings of intermediate layers, kept to the end (Qwen3-VL)."""
    merge = integer(vision, "spatial_merge_size", default=2)
    return facts.deepstack * (integer(vision, "out_hidden_size") or facts.hidden_size) / merge**2


def output_elements(facts: ModelFacts) -> int:
    """Elements of the embeddings per token of an item."""
    vision = mapping(facts.config, "vision_config")
    merge = integer(vision, "spatial_merge_size", default=2)
    return facts.hidden_size + int(_deepstack(facts, vision)) * merge**2


def _framewise(facts: ModelFacts, item: Item, items: int, memory_gib: float) -> float:
    """Gemma 4: frames in chunks whose position table of one-hot rows would fill a tenth of the card
    (models/gemma4_mm.py::_encoder_chunk)."""
    vision = mapping(facts.config, "vision_config")
    tower = _tower(vision, 1, True)
    frames, patches = items * _GEMMA4_FRAMES, item.patches // _GEMMA4_FRAMES
    cost = patches * 4 * integer(vision, "position_embedding_size", default=10_240) * 8
    chunk = min(frames, max(1, int(memory_gib * GIB) // 10 // cost))
    done = (frames // chunk - 1) * chunk
    elements = chunk * peak_elements(facts, 1, native=True) + frames * _pixels("gemma4", tower) + done * tower.width
    return patches * elements * _ELEMENT / GIB


def undescribed() -> Encoder:
    """An encoder of which only the range of all logs is known."""
    return Encoder(*UNKNOWN_GIB, output=0.0, how="encoder whose tower is not described: range of all logs")


def encoder(
    facts: ModelFacts, tp: int, batched_tokens: int, length: int, *, native: bool, memory_gib: float, no_video: bool = False
) -> Encoder:
    """The encoder's peak on one rank. ``length``: the longest request; ``native``: the deployment compiles; ``no_video``: images only."""
    item, kind = largest(facts, length), facts.towers.encoder
    if item is None:
        return undescribed()
    if no_video and item.shorter:
        merge = integer(facts.vision, "spatial_merge_size", default=2)
        item = Item(item.shorter // merge**2, item.shorter)
    # MultiModalBudget: the encoder's budget is the batch, at least one item.
    items = max(1, batched_tokens // item.tokens)
    each = peak_elements(facts, tp, native=native) * _ELEMENT / GIB
    likely = _framewise(facts, item, items, memory_gib) if kind == "gemma4" else items * item.patches * each
    low = min(likely, item.shorter * each) if item.shorter else likely
    likely += BLAS_GIB
    output = items * item.tokens * output_elements(facts) * _ELEMENT / GIB
    guessed = kind == "intern"
    high = likely * (1.5 if guessed else 1.06) + 0.05
    if kind == "gemma4":  # an older transformers may build that table; logs of 0.20, 0.21 and 0.28 leave no room for more
        high = max(high, UNKNOWN_GIB[2])
    seen = items * item.patches * _pixels(kind, _tower(mapping(facts.config, "vision_config"), 1, native)) * _ELEMENT / GIB
    return Encoder(low * (0.5 if guessed else 0.9), likely, high, output, f"encoder: {items} x {item.patches} patches", seen)
