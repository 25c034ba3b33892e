"""Packs `runtime/` into the zipapp that pods run: the same bytes for the same source, on any machine and any Python.

The room is read as data, as the catalog's tables are: nothing of it is run here.
"""

import io
import zipfile
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable

from interlock import __version__

MOST_BYTES = 256 * 1024
"""The archive also lies in the stack's state."""
PACKAGE = "interlock"
SUFFIXES = (".py", ".json")
TIME = (1980, 1, 1, 0, 0, 0)
MAIN = """import sys

from interlock.runtime.main import main

sys.exit(main(sys.argv[1:]))
"""
METADATA = f"Metadata-Version: 2.1\nName: interlock-runtime\nVersion: {__version__}\n"
ENTRY_POINTS = "[vllm.stat_logger_plugins]\ninterlock = interlock.runtime.beat:Beat\n"


def content(package: Traversable | None = None) -> dict[str, bytes]:
    """What the archive holds, by path: the room `runtime/` of the package under its import name, and the metadata of a distribution."""
    there = package or resources.files(PACKAGE)
    info = f"interlock_runtime-{__version__}.dist-info"
    return dict(_sources(there / "runtime", f"{PACKAGE}/runtime")) | {
        "__main__.py": MAIN.encode(),
        f"{PACKAGE}/__init__.py": (there / "__init__.py").read_bytes(),
        f"{info}/METADATA": METADATA.encode(),
        f"{info}/entry_points.txt": ENTRY_POINTS.encode(),
    }


def _sources(folder: Traversable, name: str) -> Iterator[tuple[str, bytes]]:
    for each in folder.iterdir():
        if each.is_dir() and each.name != "__pycache__":
            yield from _sources(each, f"{name}/{each.name}")
        elif each.name.endswith(SUFFIXES):
            yield f"{name}/{each.name}", each.read_bytes()


def pack(files: Mapping[str, bytes]) -> bytes:
    """The archive: sorted, stored (no compressor's version shows), with one fixed time. Raises ValueError when it is too large."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(files):
            entry = zipfile.ZipInfo(name, TIME)
            entry.external_attr = 0o644 << 16
            entry.create_system = 3
            archive.writestr(entry, files[name])
    packed = made.getvalue()
    if len(packed) > MOST_BYTES:
        raise ValueError(f"the archive has {len(packed)} bytes, and {MOST_BYTES} is the most")
    return packed


@cache
def archive() -> bytes:
    """The archive of the installed package, packed once in a process."""
    return pack(content())
