"""Buckets by the S3 protocol: AWS, Google Cloud Storage, Alibaba Cloud OSS, and stores in the cluster."""

import datetime as dt
import hashlib
import re
import urllib.parse
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from interlock.runtime.fetch.identity import google_token, s3_keys
from interlock.runtime.fetch.sign import signed
from interlock.runtime.fetch.web import NEVER, StopError, Wanted, opened, request

MIB = 1024 * 1024
SUMS = "SHA256SUMS"
"""An object beside the others with their hashes, as ``sha256sum`` writes it: it counts for more than entity tags."""
GOOGLE = "https://storage.googleapis.com"
FRESH = dt.timedelta(minutes=10)
"""Credentials are asked for again after that time: those of a role end while a large model is fetched."""
# Clouds whose buckets are named in the host; everywhere else they are the first part of the path.
_IN_HOST = re.compile(r"(^|\.)(amazonaws\.com(\.cn)?|aliyuncs\.com|myqcloud\.com|volces\.com)$")
_PARTS = (5, 8, 10, 15, 16, 20, 25, 32, 50, 64, 100, 128, 256, 512, 1024)
"""Sizes in MiB of the parts in which clients send large objects."""
_CHUNK = 8 * MIB
PAGE = 1000
"""Objects of one listing, the most that S3 gives."""


class Bucket:
    """One folder of a bucket: ``s3://BUCKET/PREFIX``, ``gs://...`` or ``oss://...``."""

    def __init__(self, address: str, endpoint: str, region: str) -> None:
        scheme, _, rest = address.partition("://")
        self.name, _, prefix = rest.partition("/")
        self.prefix = f"{prefix.strip('/')}/" if prefix.strip("/") else ""
        self.scheme, self.region = scheme, region or ("auto" if scheme == "gs" else "us-east-1")
        self.endpoint = (endpoint or (GOOGLE if scheme == "gs" else f"https://s3.{self.region}.amazonaws.com")).rstrip("/")
        self._asked: dt.datetime | None = None
        self._who: Any = None

    def listing(self) -> Iterator[Wanted]:
        """Every object of the folder. Raises StopError where nothing is there."""
        token, found = "", False
        while True:
            more = {"continuation-token": token} if token else {}
            with self._open("", {"list-type": "2", "max-keys": str(PAGE), "prefix": self.prefix, **more}) as answer:
                tree = ET.fromstring(answer.read())
            for entry in tree:
                if _tag(entry) == "Contents":
                    row = {_tag(each): each.text or "" for each in entry}
                    name = row["Key"].removeprefix(self.prefix)
                    if name and not name.endswith("/"):
                        found = True
                        yield Wanted(name, int(row["Size"]), etag=row.get("ETag", "").strip('"').lower())
            token = next((each.text or "" for each in tree if _tag(each) == "NextContinuationToken"), "")
            if not token:
                break
        if not found:
            raise StopError(NEVER, f"{self.scheme}://{self.name}/{self.prefix} holds nothing")

    def get(self, name: str, headers: dict[str, str]) -> Any:
        """An open response with one object's content."""
        return self._open(self.prefix + name, {}, headers)

    def sums(self) -> dict[str, str]:
        """SHA-256 by name, from the list beside the objects."""
        with self.get(SUMS, {}) as answer:
            lines = answer.read().decode("utf-8", "replace").splitlines()
        pairs = (line.split(maxsplit=1) for line in lines if line.strip())
        return {pair[1].lstrip("*").removeprefix("./"): pair[0].lower() for pair in pairs if len(pair) == 2}

    def sealed(self, name: str) -> bool:
        """Whether an object is encrypted by a key of its own, so that its entity tag says nothing of the content."""
        with self.get(name, {"Range": "bytes=0-0"}) as answer:
            kind = answer.headers.get("x-amz-server-side-encryption", "") + answer.headers.get("x-oss-server-side-encryption", "")
            return "kms" in kind.lower() or "x-amz-server-side-encryption-customer-algorithm" in answer.headers

    def _open(self, key: str, query: dict[str, str], headers: dict[str, str] | None = None) -> Any:
        parts = urllib.parse.urlsplit(self.endpoint)
        in_host = bool(_IN_HOST.search(parts.hostname or "")) and "." not in self.name
        host, path = (f"{self.name}.{parts.netloc}", "/") if in_host else (parts.netloc, f"/{self.name}/")
        words = urllib.parse.urlencode(sorted(query.items()), quote_via=urllib.parse.quote, safe="")
        url = f"{parts.scheme}://{host}{path}{urllib.parse.quote(key, safe='/~')}{f'?{words}' if words else ''}"
        now = dt.datetime.now(dt.UTC)
        if self._asked is None or now - self._asked > FRESH:
            self._asked, keys = now, s3_keys(self.region)
            self._who = keys or (google_token() if self.scheme == "gs" else "")
        if isinstance(self._who, str):
            return request(url, headers or {}, self._who)
        return opened(url, {**(headers or {}), **signed(url, self._who, self.region, now)})


def _tag(node: ET.Element) -> str:
    return node.tag.rpartition("}")[2]


def tag_matches(path: Path, tag: str) -> bool | None:
    """Whether a file has an entity tag; None where the tag is something else than an MD5, or of parts of unknown size."""
    whole = re.fullmatch(r"([0-9a-f]{32})(?:-(\d+))?", tag)
    if whole is None:
        return None
    if whole[2] is None:
        with path.open("rb") as handle:
            return hashlib.file_digest(handle, "md5").hexdigest() == tag
    size, count = path.stat().st_size, int(whole[2])
    fitting = [each * MIB for each in _PARTS if -(-size // (each * MIB)) == count]
    return True if any(_of_parts(path, each) == tag for each in fitting) else None


def _of_parts(path: Path, size: int) -> str:
    """The entity tag of a file that was sent in parts of ``size`` bytes."""
    digests = []
    with path.open("rb") as handle:
        while True:
            part, left = hashlib.md5(usedforsecurity=False), size
            while left and (block := handle.read(min(_CHUNK, left))):
                part.update(block)
                left -= len(block)
            if left == size:
                break
            digests.append(part.digest())
            if left:
                break
    return f"{hashlib.md5(b''.join(digests), usedforsecurity=False).hexdigest()}-{len(digests)}"
