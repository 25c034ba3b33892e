"""Fetches model weights from a hub, or copies them to a node: once per revision, resumable, one writer, sizes and hashes checked.

Runs alone on a plain Python image (standard library only). Exit codes: 0 complete, 1 try again, 2 a retry will not help.
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
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from email.message import Message
from pathlib import Path
from typing import IO, Any

MARKER = ".interlock-complete"
LOCK = ".interlock-lock"
PART = ".interlock-part"
CHUNK = 8 * 1024 * 1024
TIMEOUT = 60
AGAIN, NEVER = 1, 2
PERMANENT = (400, 401, 403, 404, 410)


class StopError(Exception):
    """What ends the run, with its exit code, and the status of the HTTP answer where there was one."""

    def __init__(self, code: int, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.code, self.status = code, status


@dataclass(frozen=True)
class Wanted:
    """One file: its name in the folder, size in bytes, and SHA-256 where the source states one."""

    name: str
    size: int
    sha256: str = ""


class SameHostOnly(urllib.request.HTTPRedirectHandler):
    """Follows redirects (a hub sends large files from another host) without handing the token on."""

    def redirect_request(  # noqa: PLR0917
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: Any, newurl: str
    ) -> urllib.request.Request | None:
        """The next request, without the token on another host."""
        made = super().redirect_request(req, fp, code, msg, headers, newurl)
        if made and urllib.parse.urlsplit(newurl).netloc != urllib.parse.urlsplit(req.full_url).netloc:
            made.remove_header("Authorization")
        return made


def request(url: str, headers: dict[str, str], token: str | None = None) -> Any:
    """An open response, asked for with the token (by default the environment's).

    Raises StopError with the code that tells whether another try can help.
    """
    token = os.environ.get("HF_TOKEN") if token is None else token
    given = {"User-Agent": "interlock", **headers, **({"Authorization": f"Bearer {token}"} if token else {})}
    try:
        return urllib.request.build_opener(SameHostOnly).open(urllib.request.Request(url, headers=given), timeout=TIMEOUT)
    except urllib.error.HTTPError as error:
        code = NEVER if error.code in PERMANENT else AGAIN
        raise StopError(code, f"{url.partition('?')[0]} answers {error.code} {error.reason}", error.code) from None
    except OSError as error:
        raise StopError(AGAIN, f"{urllib.parse.urlsplit(url).netloc} cannot be reached: {error}") from None


def listing(endpoint: str, model: str, revision: str, ignore: list[str]) -> list[Wanted]:
    """The files of a revision as the hub lists them."""
    with request(f"{endpoint}/api/models/{model}/revision/{revision}?blobs=true", {}) as answer:
        data = json.load(answer)
    files = []
    for row in data["siblings"]:
        name, lfs = str(row["rfilename"]), row.get("lfs") or {}
        if any(fnmatch.fnmatch(name, pattern) for pattern in ignore):
            continue
        if Path(name).is_absolute() or ".." in Path(name).parts:
            raise StopError(NEVER, f"the hub lists the file name {name!r}, which leaves the folder")
        size = lfs.get("size", row.get("size"))
        if not isinstance(size, int):
            raise StopError(NEVER, f"the hub states no size for {name}, so it cannot be checked")
        files.append(Wanted(name, size, str(lfs.get("sha256", ""))))
    if not files:
        raise StopError(NEVER, f"{model} at {revision} has no file that is wanted")
    return files


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


def fetch_file(url: str, folder: Path, wanted: Wanted) -> int:
    """Brings one file, going on from what an earlier run left. Returns the bytes that came over the network."""
    final, part = folder / wanted.name, folder / (wanted.name + PART)
    if final.is_file() and final.stat().st_size == wanted.size:
        return 0
    final.parent.mkdir(parents=True, exist_ok=True)
    start = part.stat().st_size if part.is_file() else 0
    if start > wanted.size:
        part.unlink()
        start = 0
    came = 0
    if start < wanted.size or not part.exists():
        with request(url, {"Range": f"bytes={start}-"} if start else {}) as answer:
            resumed = start and answer.status == 206 and _starts_at(answer.headers, start)
            with part.open("ab" if resumed else "wb") as out:
                came = _copy(answer, out, wanted.name)
    finish(part, final, wanted)
    return came


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


def finish(part: Path, final: Path, wanted: Wanted) -> None:
    """Checks a whole file and gives it its name. A file of a wrong size is kept when it can still grow, one of wrong content is not."""
    size = part.stat().st_size
    if size < wanted.size:
        raise StopError(AGAIN, f"{wanted.name} has {size} of {wanted.size} bytes")
    if size > wanted.size:
        part.unlink()
        raise StopError(AGAIN, f"{wanted.name} has {size} bytes and should have {wanted.size}; it is fetched anew")
    if wanted.sha256:
        with part.open("rb") as handle:
            digest = hashlib.file_digest(handle, "sha256").hexdigest()
        if digest != wanted.sha256:
            part.unlink()
            raise StopError(AGAIN, f"{wanted.name} has SHA-256 {digest}, not {wanted.sha256}; it is fetched anew")
    part.replace(final)


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
        files = listing(options.endpoint.rstrip("/"), options.model, options.revision, options.ignore)
        room(target, files)
        came, started = 0, time.monotonic()
        for each in files:
            name = urllib.parse.quote(each.name)
            came += fetch_file(f"{options.endpoint.rstrip('/')}/{options.model}/resolve/{options.revision}/{name}", target, each)
            print(f"{each.name}: {each.size} bytes", flush=True)
        mark(target, options.revision, files)
    total = sum(each.size for each in files)
    return f"{options.model} at {options.revision}: {len(files)} files, {total} bytes, {came} fetched in {time.monotonic() - started:.0f} s"


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
    for name in ("endpoint", "model", "revision", "target"):
        one.add_argument(f"--{name}", required=True)
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
