"""Writes images as one archive of the form that ``docker save`` makes; equal inputs give equal layers."""

import hashlib
import io
import json
import os
import tarfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO

BLOCK = 512
#: Where a folder of this machine appears in the image, and which of its entries (relative paths) stay out.
Keep = Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class Part:
    """A file or folder of this machine and its place in the image; ``keep`` decides on paths relative to it."""

    source: Path
    target: str
    keep: Keep = lambda _: True


@dataclass(frozen=True, slots=True)
class Image:
    """An image: its name, the names of its layers from the bottom up, and its configuration (Entrypoint, Env, User, WorkingDir)."""

    name: str
    layers: tuple[str, ...]
    config: Mapping[str, object]


def write(path: Path, layers: Mapping[str, tuple[Part, ...]], images: tuple[Image, ...], owners: Mapping[str, tuple[int, int]]) -> None:
    """Writes ``images`` to ``path``. Everything belongs to root, but what lies at or below a path of ``owners``: (user, group)."""
    with path.open("wb") as out:
        digests = {name: _append_layer(out, name, parts, owners) for name, parts in layers.items()}
        manifests = []
        for image in images:
            content = _config(image, digests)
            file = hashlib.sha256(content).hexdigest() + ".json"
            _append(out, file, content)
            manifests.append({"Config": file, "RepoTags": [image.name], "Layers": [f"{layer}/layer.tar" for layer in image.layers]})
        _append(out, "manifest.json", json.dumps(manifests).encode())
        out.write(bytes(2 * BLOCK))


def _config(image: Image, digests: Mapping[str, str]) -> bytes:
    return json.dumps(
        {
            "architecture": "amd64",
            "os": "linux",
            "config": image.config,
            "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digests[layer]}" for layer in image.layers]},
            "history": [{"created_by": f"interlock tools.images {layer}"} for layer in image.layers],
        },
        sort_keys=True,
    ).encode()


def _append_layer(out: IO[bytes], name: str, parts: tuple[Part, ...], owners: Mapping[str, tuple[int, int]]) -> str:
    """Streams a layer into the archive and returns its digest; its size is known only afterwards, so its header is written last."""
    start = out.tell()
    out.write(bytes(BLOCK))
    hashed = _Hashing(out)
    with tarfile.open(fileobj=hashed, mode="w|", format=tarfile.GNU_FORMAT, bufsize=1 << 20) as layer:
        for part in parts:
            for source, target in _walk(part):
                _add(layer, source, target, owners)
    out.write(bytes(-hashed.size % BLOCK))
    end = out.tell()
    out.seek(start)
    out.write(_header(f"{name}/layer.tar", hashed.size))
    out.seek(end)
    return hashed.digest.hexdigest()


def _walk(part: Part) -> Iterator[tuple[Path, str]]:
    if not part.source.is_dir():
        yield part.source, part.target
        return
    for folder, folders, files in os.walk(part.source):
        at = Path(folder).relative_to(part.source)
        folders[:] = sorted(name for name in folders if part.keep(str(at / name)))
        links = [name for name in folders if (Path(folder) / name).is_symlink()]
        for name in sorted([*folders, *(name for name in files if part.keep(str(at / name)))]):
            yield Path(folder) / name, str(Path(part.target) / at / name)
        folders[:] = [name for name in folders if name not in links]


def _add(layer: tarfile.TarFile, source: Path, target: str, owners: Mapping[str, tuple[int, int]]) -> None:
    info = layer.gettarinfo(str(source), target)
    if info is None:  # a socket
        return
    info.uid, info.gid = next((ids for path, ids in owners.items() if target == path or target.startswith(path + "/")), (0, 0))
    info.uname = info.gname = ""
    if info.isreg():
        with source.open("rb") as content:
            layer.addfile(info, content)
    else:
        layer.addfile(info)


def _append(out: IO[bytes], name: str, content: bytes) -> None:
    out.write(_header(name, len(content)) + content + bytes(-len(content) % BLOCK))


def _header(name: str, size: int) -> bytes:
    info = tarfile.TarInfo(name)
    info.size = size
    return info.tobuf(tarfile.GNU_FORMAT)


class _Hashing(io.RawIOBase):
    """A file that hashes and counts what is written through it."""

    def __init__(self, out: IO[bytes]) -> None:
        self.out, self.digest, self.size = out, hashlib.sha256(), 0

    def writable(self) -> bool:
        return True

    def write(self, data: bytes) -> int:  # type: ignore[override]
        self.digest.update(data)
        self.size += len(data)
        return self.out.write(data)
