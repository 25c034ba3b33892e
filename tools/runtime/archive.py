"""Packs `runtime/` into the zipapp that pods run: the same bytes for the same source, on any machine and any Python."""

import io
import zipfile
from collections.abc import Mapping
from pathlib import Path

from interlock import __version__
from tools.common import ROOT

NAME = "interlock-runtime.pyz"
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


def content(root: Path = ROOT) -> dict[str, bytes]:
    """What the archive holds, by path: the room `runtime/` under its import name, and the metadata of a distribution."""
    room = root / "runtime"
    files = {
        f"{PACKAGE}/runtime/{path.relative_to(room).as_posix()}": path.read_bytes()
        for path in room.rglob("*")
        if path.suffix in SUFFIXES and "__pycache__" not in path.parts
    }
    info = f"interlock_runtime-{__version__}.dist-info"
    return files | {
        "__main__.py": MAIN.encode(),
        f"{PACKAGE}/__init__.py": (root / PACKAGE / "__init__.py").read_bytes(),
        f"{info}/METADATA": METADATA.encode(),
        f"{info}/entry_points.txt": ENTRY_POINTS.encode(),
    }


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
