"""HTTP for the weights loader: what is asked, and whether another try can help."""

import os
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass
from typing import IO, Any

TIMEOUT = 60
AGAIN, NEVER = 1, 2
PERMANENT = (301, 400, 401, 403, 404, 410)


class StopError(Exception):
    """What ends the run, with its exit code, and the status of the HTTP answer where there was one."""

    def __init__(self, code: int, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.code, self.status = code, status


@dataclass(frozen=True)
class Wanted:
    """One file: its name in the folder, size in bytes, and what its source states of the content."""

    name: str
    size: int
    sha256: str = ""
    etag: str = ""
    """A bucket's entity tag: the MD5 of an object that was sent in one piece."""


class SameHostOnly(urllib.request.HTTPRedirectHandler):
    """Follows redirects (a hub sends large files from another host) without handing credentials on."""

    def redirect_request(  # noqa: PLR0917
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: Any, newurl: str
    ) -> urllib.request.Request | None:
        """The next request, without credentials on another host."""
        made = super().redirect_request(req, fp, code, msg, headers, newurl)
        if made and urllib.parse.urlsplit(newurl).netloc != urllib.parse.urlsplit(req.full_url).netloc:
            for name in ("Authorization", "X-amz-security-token", "Cookie"):
                made.remove_header(name)
        return made


def request(url: str, headers: dict[str, str], token: str | None = None) -> Any:
    """An open response, asked for with the token (by default the environment's, for the hub).

    Raises StopError with the code that tells whether another try can help.
    """
    token = os.environ.get("HF_TOKEN") if token is None else token
    return opened(url, {**headers, **({"Authorization": f"Bearer {token}"} if token else {})})


def opened(url: str, headers: dict[str, str]) -> Any:
    """An open response to exactly these headers. Raises StopError as ``request`` does."""
    given = {"User-Agent": "interlock", **headers}
    try:
        return urllib.request.build_opener(SameHostOnly).open(urllib.request.Request(url, headers=given), timeout=TIMEOUT)
    except urllib.error.HTTPError as error:
        code = NEVER if error.code in PERMANENT else AGAIN
        region = error.headers.get("x-amz-bucket-region")
        where = f" (the bucket is in the region {region})" if region else ""
        raise StopError(code, f"{url.partition('?')[0]} answers {error.code} {error.reason}{where}", error.code) from None
    except OSError as error:
        raise StopError(AGAIN, f"{urllib.parse.urlsplit(url).netloc} cannot be reached: {error}") from None
