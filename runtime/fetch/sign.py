"""Signature version 4 of requests to S3 and to what speaks its protocol (AWS documentation, 'Signature Version 4 signing process')."""

import datetime as dt
import hashlib
import hmac
import urllib.parse
from dataclasses import dataclass, field

EMPTY = hashlib.sha256(b"").hexdigest()
ALGORITHM = "AWS4-HMAC-SHA256"


@dataclass(frozen=True)
class Keys:
    """Credentials of one identity."""

    access: str
    secret: str = field(repr=False)
    token: str = field(default="", repr=False)


def signed(url: str, keys: Keys, region: str, now: dt.datetime) -> dict[str, str]:
    """The headers of a GET of ``url`` at ``now`` (UTC)."""
    parts = urllib.parse.urlsplit(url)
    stamp, day = now.strftime("%Y%m%dT%H%M%SZ"), now.strftime("%Y%m%d")
    headers = {"host": parts.netloc, "x-amz-content-sha256": EMPTY, "x-amz-date": stamp}
    headers |= {"x-amz-security-token": keys.token} if keys.token else {}
    names = ";".join(sorted(headers))
    query = "&".join(sorted(parts.query.split("&"))) if parts.query else ""
    canonical = "\n".join(("GET", parts.path or "/", query, *(f"{name}:{headers[name]}" for name in sorted(headers)), "", names, EMPTY))
    scope = f"{day}/{region}/s3/aws4_request"
    text = "\n".join((ALGORITHM, stamp, scope, hashlib.sha256(canonical.encode()).hexdigest()))
    key = f"AWS4{keys.secret}".encode()
    for part in (day, region, "s3", "aws4_request"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    signature = hmac.new(key, text.encode(), hashlib.sha256).hexdigest()
    authorization = f"{ALGORITHM} Credential={keys.access}/{scope}, SignedHeaders={names}, Signature={signature}"
    del headers["host"]
    return {**headers, "Authorization": authorization}
