"""What ``--model`` of ``interlock size`` means: a file or folder, a repository in the hub's local cache, or a name of the catalog."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from interlock.infra.errors import ConfigError, Problem
from interlock.stacks.model_config import read_config

INDEX = "model.safetensors.index.json"
_ADAPTER = "adapter_config.json"


def described(case: Mapping[str, Any], environment: Mapping[str, str] = os.environ) -> dict[str, Any]:
    """The case with the model's config.json where it is at hand, and the sum of the tensors where the index beside it says so.

    A model that is a path is read; a name is looked up in the local cache of the hub first. Raises ConfigError for a folder without a
    config.json, with what to do instead for an adapter and for GGUF files.
    """
    name = str(case.get("model") or "")
    if not name or case.get("config"):
        return dict(case)
    path = Path(name).expanduser()
    if path.suffix == ".json" or path.is_dir():
        return {**case, **_read(path)}
    if path.suffix.lower() == ".gguf":
        raise ConfigError([_gguf(path)])
    kept = cached(name, environment)
    return {**case, **_read(kept)} if kept is not None else dict(case)


def cached(name: str, environment: Mapping[str, str] = os.environ) -> Path | None:
    """The folder of a repository in the hub's local cache that holds its config.json; None where there is none.

    The places are those of the hub's client (huggingface_hub.constants): HF_HUB_CACHE, then HF_HOME, then the user's cache.
    """
    if name.count("/") != 1 or name.startswith((".", "/", "~")):
        return None
    own = environment.get("HF_HUB_CACHE") or environment.get("HUGGINGFACE_HUB_CACHE")
    home = environment.get("HF_HOME") or f"{environment.get('XDG_CACHE_HOME') or '~/.cache'}/huggingface"
    folder = Path(own or f"{home}/hub").expanduser() / f"models--{name.replace('/', '--')}"
    try:
        revision = (folder / "refs/main").read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError):
        revision = ""
    snapshots = folder / "snapshots"
    try:
        there = [snapshots / revision] if revision else sorted(snapshots.iterdir())
        return next((each for each in there if (each / "config.json").is_file()), None)
    except OSError:
        return None


def _read(path: Path) -> dict[str, Any]:
    folder = path if path.is_dir() else path.parent
    if path.is_dir() and not (path / "config.json").exists():
        raise ConfigError([_without_config(path)])
    index = folder / INDEX
    metadata = _object(index).get("metadata") if index.exists() else None
    total = metadata.get("total_size") if isinstance(metadata, dict) else None
    config = _object(path)
    if not config:
        raise ConfigError([Problem("--model", "its config.json is an empty object: the shapes of the model are read from it", str(path))])
    return {"config": config, "checkpoint_bytes": total if isinstance(total, int) and total > 0 else None}


def _object(path: Path) -> dict[str, Any]:
    try:
        return read_config(path)
    except ValueError as error:
        raise ConfigError([Problem("--model", str(error), str(path))]) from None


def _without_config(folder: Path) -> Problem:
    """What a folder without a config.json holds instead, and how that is sized."""
    if (folder / _ADAPTER).is_file():
        return _adapter(folder)
    found = next(iter(sorted(folder.glob("*.gguf"))), None)
    if found is not None:
        return _gguf(found)
    return Problem("--model", "the folder's config.json cannot be read: No such file or directory", str(folder))


def _adapter(folder: Path) -> Problem:
    config = _object(folder / _ADAPTER)
    base, rank = config.get("base_model_name_or_path") or "its base model", config.get("r")
    ranks = f" -a max_lora_rank={rank}" if isinstance(rank, int) and rank > 0 else ""
    text = f"is an adapter (LoRA) of {base}, not a model: size the base with room for it: --model {base} -a enable_lora=true{ranks}"
    return Problem("--model", text, str(folder))


def _gguf(file: Path) -> Problem:
    text = "GGUF weights are read by a plug-in only (vllm-gguf-plugin): size the repository that they were made from, or its 4-bit variant"
    return Problem("--model", text, str(file))
