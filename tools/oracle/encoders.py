"""The multimodal encoder's batch of the profile run: the modality with the most tokens per item, and as many items as the budget takes.

The sizes are those of vLLM's processing classes (`get_mm_max_tokens_per_item`, `MultiModalBudget`), restated here because the real
ones need a tokenizer. Pixels are made on the meta device in the model's dtype, as they arrive on a card.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

# `size.longest_edge` of the published preprocessor files, where the model's folder has none (pixels of one image).
QWEN2, QWEN3 = ("qwen2_vl", "qwen2_5_vl"), ("qwen3_vl", "qwen3_vl_moe", "qwen3_5", "qwen3_5_moe")
MAX_PIXELS = dict.fromkeys(QWEN2, 12_845_056) | dict.fromkeys(QWEN3, 16_777_216)
VIDEO_STEPS = 7
GEMMA4_FRAMES, GEMMA4_FRAME_TOKENS = 32, 70
LLAMA4_TILES = 17  # 16 and the whole image


@dataclass(frozen=True)
class Item:
    """The largest item: how many tokens of the language model and how many patches it is; `build` makes a batch of some items."""

    modality: str
    tokens: int
    patches: int
    build: Callable[[int], dict[str, Any]]


def largest(config: Any, dtype: torch.dtype, processor: dict[str, Any], length: int) -> Item | None:
    """`length`: tokens of the longest request. None: no multimodal tower, or one whose items are not restated here."""
    kind = config.model_type
    if kind in MAX_PIXELS:
        return _qwen(config, dtype, processor.get("max_pixels", MAX_PIXELS[kind]), length)
    builders = {"gemma3": _gemma3, "gemma4": _gemma4, "mistral3": _pixtral, "llama4": _llama4, "llava": _llava}
    if kind == "internvl_chat":
        return _intern(config, dtype, length)
    return builders[kind](config, dtype) if kind in builders else None


def items_of(item: Item, batched_tokens: int) -> int:
    """MultiModalBudget: the encoder's budget is the batch, at least one item."""
    return max(1, max(batched_tokens, item.tokens) // item.tokens)


def _meta(*shape: int, dtype: torch.dtype) -> torch.Tensor:
    return torch.empty(shape, dtype=dtype, device="meta")


def _qwen(config: Any, dtype: torch.dtype, max_pixels: int, length: int) -> Item:
    """An image; for Qwen2-VL and Qwen2.5-VL a video of as many frames as a request holds (two to a step of the grid)."""
    vision = config.vision_config
    merge = vision.spatial_merge_size
    units = max_pixels // (vision.patch_size * merge) ** 2
    height = next(n for n in range(math.isqrt(units), 0, -1) if units % n == 0)
    video = config.model_type.startswith("qwen2")
    steps = min(max(length // units, 1), VIDEO_STEPS) if video else 1
    grid = (steps, height * merge, units // height * merge)
    patches = math.prod(grid)
    width = getattr(vision, "in_channels", 3) * vision.temporal_patch_size * vision.patch_size**2

    def build(items: int) -> dict[str, Any]:
        pixels, grids = _meta(items * patches, width, dtype=dtype), torch.tensor([grid] * items, device="cpu")
        if video:
            return {"pixel_values_videos": pixels, "video_grid_thw": grids}
        return {"pixel_values": pixels, "image_grid_thw": grids}

    return Item("video" if video else "image", steps * units, patches, build)


def _gemma3(config: Any, dtype: torch.dtype) -> Item:
    vision = config.vision_config
    side = vision.image_size

    def build(items: int) -> dict[str, Any]:
        return {"pixel_values": _meta(items, 3, side, side, dtype=dtype), "num_patches": torch.ones(items, dtype=torch.int64, device="cpu")}

    return Item("image", config.mm_tokens_per_image, (side // vision.patch_size) ** 2, build)


def _gemma4(config: Any, dtype: torch.dtype) -> Item:
    vision = config.vision_config
    patches = GEMMA4_FRAME_TOKENS * vision.pooling_kernel_size**2
    width = 3 * vision.patch_size**2

    def build(items: int) -> dict[str, Any]:
        frames = items * GEMMA4_FRAMES
        return {
            "pixel_values_videos": _meta(frames, patches, width, dtype=dtype),
            "pixel_position_ids_videos": _meta(frames, patches, 2, dtype=torch.int64),
            "video_frame_counts": torch.tensor([GEMMA4_FRAMES] * items, device="cpu"),
        }

    return Item("video", GEMMA4_FRAMES * (GEMMA4_FRAME_TOKENS + 8), GEMMA4_FRAMES * patches, build)


def _pixtral(config: Any, dtype: torch.dtype) -> Item:
    vision = config.vision_config
    side = vision.image_size // vision.patch_size
    rows = side // config.spatial_merge_size

    def build(items: int) -> dict[str, Any]:
        return {"pixel_values": _meta(items, 3, vision.image_size, vision.image_size, dtype=dtype)}

    # One break or end token after every row of merged patches.
    return Item("image", rows * (rows + 1), side**2, build)


def _llama4(config: Any, dtype: torch.dtype) -> Item:
    vision = config.vision_config
    patches = (vision.image_size // vision.patch_size) ** 2 + 1
    tokens = int((patches - 1) * vision.pixel_shuffle_ratio**2)

    def build(items: int) -> dict[str, Any]:
        return {
            "pixel_values": _meta(items * LLAMA4_TILES, 3, vision.image_size, vision.image_size, dtype=dtype),
            "patches_per_image": torch.tensor([LLAMA4_TILES] * items, device="cpu"),
            "aspect_ratios": torch.tensor([[4, 4]] * items, device="cpu"),
        }

    return Item("image", LLAMA4_TILES * tokens, LLAMA4_TILES * patches, build)


def _llava(config: Any, dtype: torch.dtype) -> Item:
    vision = config.vision_config
    patches = (vision.image_size // vision.patch_size) ** 2

    def build(items: int) -> dict[str, Any]:
        return {"pixel_values": _meta(items, 3, vision.image_size, vision.image_size, dtype=dtype)}

    return Item("image", patches, patches + 1, build)


def _intern(config: Any, dtype: torch.dtype, length: int) -> Item:
    """A video of as many frames as a request holds beside an image; every frame is one tile."""
    vision = config.vision_config
    tile = (vision.image_size // vision.patch_size) ** 2
    tokens = int(tile * config.downsample_ratio**2)
    image = config.max_dynamic_patch + (1 if config.use_thumbnail else 0)
    frames = (length - image * tokens) // tokens
    tiles = max(frames, image)
    side = vision.image_size

    def build(items: int) -> dict[str, Any]:
        pixels, counts = _meta(items * tiles, 3, side, side, dtype=dtype), torch.tensor([tiles] * items, device="cpu")
        if tiles > image:
            return {"pixel_values_flat_video": pixels, "video_num_patches": counts, "video_token_id": 1}
        return {"pixel_values_flat": pixels, "image_num_patches": counts, "image_token_id": 1}

    return Item("video" if tiles > image else "image", tiles * tokens, tiles * (tile + 1), build)
