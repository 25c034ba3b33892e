"""Fetches model weights from a hub or a bucket, or copies them to a node: once per revision, resumable, one writer, all of it checked.

Runs on a plain Python image (standard library only). Exit codes: 0 complete, 1 try again, 2 a retry will not help.
"""

import argparse
import fcntl
import fnmatch
import hashlib
import http.client
import json
import os
import shutil
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from email.message import Message
from pathlib import Path
from typing import IO, Any, Protocol

from interlock.runtime.fetch.bucket import SUMS, Bucket, tag_matches
from interlock.runtime.fetch.hubs import Hub, ModelScope
from interlock.runtime.fetch.web import AGAIN, NEVER, StopError, Wanted, request

__all__ = ["AGAIN", "LOCK", "MARKER", "NEVER", "PART", "StopError", "Wanted", "main", "request"]

MARKER = ".interlock-complete"
LOCK = ".interlock-lock"
PART = ".interlock-part"
CHUNK = 8 * 1024 * 1024
WEIGHTS = (".safetensors", ".bin", ".pt", ".pth", ".gguf", ".tensors", ".model", ".npz")


class Origin(Protocol):
    """Where files come from."""

    def listing(self) -> Iterable[Wanted]:
        """All files."""

    def get(self, name: str, headers: dict[str, str]) -> Any:
        """An open response with one file's content."""


def origin(options: argparse.Namespace) -> Origin:
    """The hub or bucket that the command line names."""
    scheme, _, rest = options.source.partition("://")
    if scheme == "modelscope":
        return ModelScope(options.endpoint or "https://modelscope.cn", rest or options.model, options.revision)
    if scheme:
        return Bucket(options.source, options.endpoint, options.region)
    return Hub(options.endpoint, options.model, options.revision)


def listing(source: Origin, ignore: list[str]) -> list[Wanted]:
    """The files that are wanted, with the hashes of a list beside them."""
    found = list(source.listing())
    sums = source.sums() if isinstance(source, Bucket) and any(each.name == SUMS for each in found) else {}
    files = [each for each in found if not any(fnmatch.fnmatch(each.name, pattern) for pattern in ignore)]
    for each in files:
        if Path(each.name).is_absolute() or ".." in Path(each.name).parts:
            raise StopError(NEVER, f"the source lists the file name {each.name!r}, which leaves the folder")
        if not isinstance(each.size, int):
            raise StopError(NEVER, f"the source states no size for {each.name}, so it cannot be checked")
    if not any(each.name.endswith(WEIGHTS) for each in files):
        left_out = [each.name for each in found if each.name.endswith(WEIGHTS)]
        told = f"; ignored are {', '.join(left_out[:5])}: state other patterns (ignore)" if left_out else ""
        raise StopError(NEVER, f"the source has no file of weights that is wanted{told}")
    return [replace(each, sha256=sums.get(each.name, each.sha256)) for each in files]


def complete(folder: Path, revision: str) -> bool:
    """Whether the folder holds this revision whole: its marker stands and every file has its size."""
    try:
        marker = json.loads((folder / MARKER).read_text())
        files = marker["files"]
        return marker["revision"] == revision and all((folder / name).stat().st_size == size for name, size in files.items())
    except (OSError, ValueError, KeyError, TypeError):
        return False


@contextmanager
def one_writer(folder: Path) -> Iterator[None]:
    """Holds the folder's lock; another writer is waited for. The kernel frees the lock of a killed process."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / LOCK).open("a") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            print("another writer is at work here; waiting", flush=True)
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def room(folder: Path, files: list[Wanted]) -> None:
    """Raises StopError when what is still missing does not fit the volume."""
    there = sum(min(part_size(folder, each), each.size) for each in files)
    missing, free = sum(each.size for each in files) - there, shutil.disk_usage(folder).free
    if missing > free:
        raise StopError(NEVER, f"{missing / 2**30:.1f} GiB are still to be written, but the volume has {free / 2**30:.1f} GiB free")


def part_size(folder: Path, wanted: Wanted) -> int:
    """Bytes of a file that are there already."""
    for path in (folder / wanted.name, folder / (wanted.name + PART)):
        if path.is_file():
            return path.stat().st_size
    return 0


def fetch_file(source: Origin, folder: Path, wanted: Wanted) -> tuple[int, str]:
    """Brings one file, going on from what an earlier run left. Returns the bytes that came over the network, and what checked it."""
    final, part = folder / wanted.name, folder / (wanted.name + PART)
    if final.is_file() and final.stat().st_size == wanted.size:
        return 0, "an earlier run"
    final.parent.mkdir(parents=True, exist_ok=True)
    start = part.stat().st_size if part.is_file() else 0
    if start > wanted.size:
        part.unlink()
        start = 0
    came = 0
    if start < wanted.size or not part.exists():
        with source.get(wanted.name, {"Range": f"bytes={start}-"} if start else {}) as answer:
            resumed = start and answer.status == 206 and _starts_at(answer.headers, start)
            with part.open("ab" if resumed else "wb") as out:
                came = _copy(answer, out, wanted.name)
    return came, finish(part, final, wanted, source)


def _starts_at(headers: Message, start: int) -> bool:
    return str(headers.get("Content-Range", "")).startswith(f"bytes {start}-")


def _copy(source: Any, out: IO[bytes], name: str) -> int:
    came = 0
    try:
        # read1 hands on what has come; read would hold back up to a whole block, which a kill then loses.
        while block := source.read1(CHUNK):
            out.write(block)
            came += len(block)
    except (OSError, http.client.HTTPException) as error:
        raise StopError(AGAIN, f"{name}: the transfer broke off after {came} bytes: {error}") from None
    finally:
        out.flush()
        os.fsync(out.fileno())
    return came


def finish(part: Path, final: Path, wanted: Wanted, source: Origin | None = None) -> str:
    """Checks a whole file, gives it its name, and returns what checked it. A file of a wrong size is kept when it can still grow, one of
    wrong content is not."""
    size = part.stat().st_size
    if size < wanted.size:
        raise StopError(AGAIN, f"{wanted.name} has {size} of {wanted.size} bytes")
    if size > wanted.size:
        part.unlink()
        raise StopError(AGAIN, f"{wanted.name} has {size} bytes and should have {wanted.size}; it is fetched anew")
    checked = "size"
    if wanted.sha256:
        with part.open("rb") as handle:
            digest = hashlib.file_digest(handle, "sha256").hexdigest()
        if digest != wanted.sha256:
            part.unlink()
            raise StopError(AGAIN, f"{wanted.name} has SHA-256 {digest}, not {wanted.sha256}; it is fetched anew")
        checked = "SHA-256"
    elif wanted.etag and (same := tag_matches(part, wanted.etag)) is not None:
        if same is False and not (isinstance(source, Bucket) and source.sealed(wanted.name)):
            part.unlink()
            raise StopError(AGAIN, f"{wanted.name} is not what its entity tag {wanted.etag} says; it is fetched anew")
        checked = "entity tag" if same else "size"
    part.replace(final)
    return checked


def mark(folder: Path, revision: str, files: list[Wanted]) -> None:
    """Writes the marker last, so that it never stands beside a half folder."""
    part = folder / (MARKER + PART)
    part.write_text(json.dumps({"revision": revision, "files": {each.name: each.size for each in files}}, indent=1))
    part.replace(folder / MARKER)


def fetch(options: argparse.Namespace) -> str:
    """The model's files at one revision into the target."""
    target = Path(options.target)
    with one_writer(target):
        if complete(target, options.revision):
            return f"{options.model} at {options.revision} is complete already"
        source = origin(options)
        files = listing(source, options.ignore)
        room(target, files)
        total, started, checks = 0, time.monotonic(), Counter[str]()
        for each in files:
            came, checked = fetch_file(source, target, each)
            total, checks[checked] = total + came, checks[checked] + 1
            print(f"{each.name}: {each.size} bytes", flush=True)
        mark(target, options.revision, files)
    told = ", ".join(f"{count} by {what}" for what, count in checks.items())
    size, seconds = sum(each.size for each in files), time.monotonic() - started
    return f"{options.model} at {options.revision}: {len(files)} files ({told}), {size} bytes, {total} fetched in {seconds:.0f} s"


def sync(options: argparse.Namespace) -> str:
    """A whole folder from one volume to another, for nodes with fast disks of their own."""
    source, target = Path(options.source), Path(options.target)
    files, revision = contents(source)
    with one_writer(target):
        if complete(target, revision):
            return f"{target} is complete already"
        room(target, files)
        for each in files:
            final, part = target / each.name, target / (each.name + PART)
            if final.is_file() and final.stat().st_size == each.size:
                continue
            final.parent.mkdir(parents=True, exist_ok=True)
            with (source / each.name).open("rb") as given, part.open("ab") as out:
                given.seek(out.tell())
                _copy(given, out, each.name)
            finish(part, final, each)
        mark(target, revision, files)
    return f"{target}: {len(files)} files, {sum(each.size for each in files)} bytes"


def contents(source: Path) -> tuple[list[Wanted], str]:
    """What a source folder holds, and a name for its state. Raises StopError while something is still being written."""
    if not source.is_dir():
        raise StopError(AGAIN, f"{source} is not there yet")
    found = sorted(path for path in source.rglob("*") if path.is_file() and path.name not in (MARKER, LOCK))
    unfinished = any(not (lock.parent / MARKER).exists() for lock in source.rglob(LOCK))
    if unfinished or any(path.name.endswith(PART) for path in found):
        raise StopError(AGAIN, f"{source} is not complete: a download is still going on")
    files = [Wanted(str(path.relative_to(source)), path.stat().st_size) for path in found]
    if not files:
        raise StopError(AGAIN, f"{source} is empty")
    state = hashlib.sha256(json.dumps([(each.name, each.size) for each in files]).encode()).hexdigest()
    return files, state


def main(arguments: list[str]) -> int:
    """Runs one command and says how it ended, also in the pod's termination message."""
    parser = argparse.ArgumentParser(prog="weights")
    commands = parser.add_subparsers(required=True)
    one = commands.add_parser("fetch")
    for name in ("model", "revision", "target"):
        one.add_argument(f"--{name}", required=True)
    for name in ("source", "endpoint", "region"):
        one.add_argument(f"--{name}", default="")
    one.add_argument("--ignore", action="append", default=[])
    one.set_defaults(run=fetch)
    two = commands.add_parser("sync")
    for name in ("source", "target"):
        two.add_argument(f"--{name}", required=True)
    two.set_defaults(run=sync)
    options = parser.parse_args(arguments)
    try:
        message, code = options.run(options), 0
    except StopError as error:
        message, code = str(error), error.code
    except OSError as error:
        message, code = f"{error.filename or ''}: {error.strerror or error}".lstrip(": "), AGAIN
    print(message, flush=True)
    termination = Path("/dev/termination-log")
    if termination.exists():
        termination.write_text(message[:1000] + "\n")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
