"""Model hubs: Hugging Face's and its mirrors, and ModelScope."""

import json
import urllib.parse
from collections.abc import Iterator
from typing import Any

from interlock.runtime.fetch.web import NEVER, StopError, Wanted, request


class Hub:
    """One revision of a model on a hub of Hugging Face's protocol."""

    def __init__(self, endpoint: str, model: str, revision: str) -> None:
        self.base, self.model, self.revision = endpoint.rstrip("/"), model, revision

    def listing(self) -> Iterator[Wanted]:
        """The files as the hub lists them."""
        with request(f"{self.base}/api/models/{self.model}/revision/{self.revision}?blobs=true", {}) as answer:
            data = json.load(answer)
        for row in data["siblings"]:
            name, lfs = str(row["rfilename"]), row.get("lfs") or {}
            yield Wanted(name, lfs.get("size", row.get("size")), str(lfs.get("sha256", "")))

    def get(self, name: str, headers: dict[str, str]) -> Any:
        """An open response with one file's content."""
        return request(f"{self.base}/{self.model}/resolve/{self.revision}/{urllib.parse.quote(name)}", headers)


class ModelScope:
    """One revision of a model on ModelScope (modelscope 1.40 hub/api.py, hub/file_download.py)."""

    def __init__(self, endpoint: str, model: str, revision: str) -> None:
        self.base, self.revision = f"{endpoint.rstrip('/')}/api/v1/models/{model}/repo", revision

    def listing(self) -> Iterator[Wanted]:
        """The files as the hub lists them. Raises StopError for an answer that tells of an error."""
        asked = urllib.parse.urlencode({"Revision": self.revision, "Recursive": "True"})
        with self._open(f"{self.base}/files?{asked}", {}) as answer:
            data = json.load(answer)
        if data.get("Code") not in (None, 200):
            raise StopError(NEVER, f"{self.base} answers {data.get('Code')} {data.get('Message', '')}")
        for row in data["Data"]["Files"]:
            if row.get("Type") != "tree":
                yield Wanted(str(row["Path"]), row.get("Size"), str(row.get("Sha256") or ""))

    def get(self, name: str, headers: dict[str, str]) -> Any:
        """An open response with one file's content."""
        return self._open(f"{self.base}?{urllib.parse.urlencode({'Revision': self.revision, 'FilePath': name})}", headers)

    @staticmethod
    def _open(url: str, headers: dict[str, str]) -> Any:
        return request(url, headers, "")  # public models: its tokens are exchanged for a session first
