"""A LoRA adapter for the tiny dense model, written without any library."""

import json
import struct
from pathlib import Path

from tools.engine_env.make_model import HIDDEN, LAYERS

NUMBER = struct.pack("<f", 0.01)


def write_adapter(folder: Path, rank: int) -> str:
    """Writes it in PEFT's form (one projection of every layer) into a new folder, whose path it returns."""
    folder.mkdir()
    tensors, data = {}, bytearray()
    for layer in range(LAYERS):
        for name, shape in (("lora_A", [rank, HIDDEN]), ("lora_B", [HIDDEN, rank])):
            begin = len(data)
            data += NUMBER * (shape[0] * shape[1])
            place = f"base_model.model.model.layers.{layer}.self_attn.q_proj.{name}.weight"
            tensors[place] = {"dtype": "F32", "shape": shape, "data_offsets": [begin, len(data)]}
    head = json.dumps(tensors).encode()
    (folder / "adapter_model.safetensors").write_bytes(struct.pack("<Q", len(head)) + head + data)
    config = {"peft_type": "LORA", "r": rank, "lora_alpha": rank, "target_modules": ["q_proj"], "bias": "none"}
    (folder / "adapter_config.json").write_text(json.dumps(config))
    return str(folder)
