"""The model's files: all there, whole, and of the planned architecture."""

import contextlib
import json
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from interlock.runtime.preflight.look import Result, World, fine, problem, unseen

FILES, ARCHITECTURE = "model-files", "model-architecture"
INDEX = "model.safetensors.index.json"
LONGEST_HEADER = 100 << 20
"""Bytes; the limit of the safetensors format."""


def home(world: World) -> str:
    """The folder of the hub's client: its cache, and a token that somebody left there."""
    where = world.environment
    return where.get("HF_HOME") or f"{where.get('XDG_CACHE_HOME') or where.get('HOME', '') + '/.cache'}/huggingface"


def folder(plan: dict[str, Any], world: World) -> Path | None:
    """Where the files should lie: the path itself, or the snapshot in the hub's cache; None when that cache has none."""
    name = str(plan["name"])
    if name.startswith("/"):
        return world.at(name)
    cache = world.at(world.environment.get("HF_HUB_CACHE") or f"{home(world)}/hub") / f"models--{name.replace('/', '--')}"
    revision = str(plan.get("revision") or "main")
    with contextlib.suppress(OSError):  # no such branch or tag: a commit
        revision = (cache / "refs" / revision).read_text().strip()
    at = cache / "snapshots" / revision
    return at if at.is_dir() else None


def look(plan: dict[str, Any], at: Path) -> Iterator[Result]:
    """``plan``: ``name`` (path or repository), ``revision``, ``architecture``."""
    if not at.is_dir():
        yield problem(FILES, f"{at} is not there: is the volume mounted, and has the download ended?")
        return
    try:
        yield from _architecture(plan, at)
        yield _weights(at)
    except OSError as error:
        yield problem(FILES, f"{error.filename or at}: {error.strerror}")


def _architecture(plan: dict[str, Any], at: Path) -> Iterator[Result]:
    planned = plan.get("architecture")
    if not planned:
        return
    try:
        config = json.loads((at / "config.json").read_text("utf-8"))
        there = list(config["architectures"])
    except FileNotFoundError:
        yield problem(ARCHITECTURE, f"{at} has no config.json")
    except (ValueError, KeyError, TypeError):
        yield unseen(ARCHITECTURE, f"{at}/config.json names no architecture")
    else:
        same = planned in there
        text = f"the model in {at} is {', '.join(there)}"
        yield fine(ARCHITECTURE, text) if same else problem(ARCHITECTURE, f"{text} and the plan was made for {planned}")


def _weights(at: Path) -> Result:
    shards = sorted(path.name for path in at.glob("*.safetensors"))
    if (at / INDEX).exists():
        try:
            shards = sorted(set(json.loads((at / INDEX).read_text("utf-8"))["weight_map"].values()))
        except (ValueError, KeyError, AttributeError):
            return problem(FILES, f"{at / INDEX} is not an index of safetensors files: fetch it again")
    if not shards:
        return unseen(FILES, f"{at} has no safetensors files; another format is not checked")
    missing = [name for name in shards if not (at / name).exists()]
    if missing:
        return problem(FILES, f"{len(missing)} of {len(shards)} weight files are missing in {at}, the first is {missing[0]}")
    for name in shards:
        if wrong := _broken(at / name):
            return problem(FILES, f"{at / name} {wrong}: fetch it again")
    return fine(FILES, f"{len(shards)} weight files in {at}, each as long as its header says")


def _broken(path: Path) -> str:
    """What is wrong with a safetensors file, by its header; empty when its length is right."""
    size = path.stat().st_size
    with path.open("rb") as file:
        start = file.read(8)
        length = struct.unpack("<Q", start)[0] if len(start) == 8 else 0
        if not 0 < length <= min(LONGEST_HEADER, size - 8):
            return f"has {size} bytes and no safetensors header"
        try:
            header = json.loads(file.read(length))
            needed = 8 + length + max((each["data_offsets"][1] for name, each in header.items() if name != "__metadata__"), default=0)
        except (ValueError, KeyError, TypeError, AttributeError, IndexError):
            return "has a header that is not JSON of tensors"
    return f"has {size} bytes and its header needs {needed}" if size != needed else ""
