"""Which files a call means, and their texts: directories, standard input, limits, encodings."""

import codecs
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

from interlock.infra.errors import ConfigError, Problem

SUFFIXES = (".yaml", ".yml", ".json")
LARGEST = 8 * 1024 * 1024
_SKIPPED = frozenset({"node_modules", "__pycache__", "venv"})
_MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF32_LE, "utf-32"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))


@dataclass(frozen=True, slots=True)
class Text:
    """One file's text, or why it cannot be read."""

    name: str
    text: str = ""
    why: str = ""


def read_texts(paths: Iterable[str], exclude: Iterable[str] = ()) -> Iterator[Text]:
    """The texts of all files under ``paths`` (``-`` is standard input). Raises ConfigError for a path that does not exist."""
    patterns = tuple(exclude)
    seen: set[str] = set()
    for path in paths:
        if path == "-":
            yield decoded("<stdin>", sys.stdin.buffer.read(LARGEST + 1))
            continue
        for name in _files(Path(path)):
            text = name.as_posix()
            if text not in seen and not any(fnmatch(text, pattern) or fnmatch(name.name, pattern) for pattern in patterns):
                seen.add(text)
                yield _read(name)


def _files(path: Path) -> Iterator[Path]:
    if path.is_dir():
        for entry in sorted(path.iterdir()):
            if entry.name.startswith(".") or entry.name in _SKIPPED or entry.is_symlink():
                continue
            if entry.is_dir() or entry.suffix.lower() in SUFFIXES:
                yield from _files(entry)
    elif path.exists():
        yield path
    else:
        raise ConfigError([Problem("PATH", f"{path} does not exist: give files, directories, or - for standard input")])


def _read(path: Path) -> Text:
    try:
        if not path.is_file():
            return Text(path.as_posix(), why="not a regular file")
        with path.open("rb") as stream:
            return decoded(path.as_posix(), stream.read(LARGEST + 1))
    except OSError as error:
        return Text(path.as_posix(), why=f"cannot be read: {error.strerror or error}")


def decoded(name: str, raw: bytes) -> Text:
    """The text of a file's bytes, or why there is none."""
    if len(raw) > LARGEST:
        return Text(name, why=f"larger than {LARGEST // 1024**2} MiB")
    encoding = next((encoding for mark, encoding in _MARKS if raw.startswith(mark)), "utf-8")
    if encoding.startswith("utf-8") and b"\0" in raw:
        # YAML 1.2, 5.2: of a text of two bytes a character the first one is ASCII.
        wide = len(raw) > 3 and (raw[0] == 0) != (raw[1] == 0) and (raw[2] == 0) != (raw[3] == 0)
        return Text(name, why="UTF-16 without its byte order mark: save it as UTF-8" if wide else "binary")
    try:
        return Text(name, raw.decode(encoding))
    except UnicodeDecodeError as error:
        return Text(name, why=f"not {encoding} text (byte {error.start})")
