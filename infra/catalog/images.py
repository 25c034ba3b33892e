"""Image references: their parts, the family they belong to, and the vLLM version that a tag of a known family means."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from interlock.infra.catalog.tables import table
from interlock.infra.values import Version

_FILE = "engine_images.json"
_HUB = ("", "docker.io", "index.docker.io", "registry-1.docker.io")
_LONGEST = 1000
"""Characters; no container runtime takes a longer reference (a name has at most 255)."""


@dataclass(frozen=True, slots=True)
class ImageReference:
    """An image reference taken apart; what it does not say is empty."""

    registry: str
    """Host and port (``nvcr.io``, ``localhost:5000``); empty for Docker Hub's short form."""
    repository: str
    """``vllm/vllm-openai``."""
    tag: str
    digest: str
    """``sha256:...``."""

    @property
    def name(self) -> str:
        """Registry and repository as written, without tag and digest."""
        return f"{self.registry}/{self.repository}" if self.registry else self.repository

    def is_on_hub(self, repository: str) -> bool:
        """Whether it is that repository of Docker Hub, in any of the spellings of the registry."""
        return self.registry in _HUB and self.repository == repository


@cache
def image_reference(text: str) -> ImageReference:
    """The parts of ``registry/repository:tag@digest``. The first part is a registry when it has a dot or a port, or is ``localhost``."""
    name, _, digest = text.strip().partition("@")
    head, slash, last = name.rpartition("/")
    base, _, tag = last.partition(":")
    first, _, rest = f"{head}{slash}{base}".partition("/")
    if rest and ("." in first or ":" in first or first == "localhost"):
        return ImageReference(first, rest, tag, digest)
    return ImageReference("", f"{head}{slash}{base}", tag, digest)


# The grammar of distribution/reference: lower-case path, a tag of at most 128 characters, a digest.
_HOST = r"(?:[a-zA-Z0-9](?:[-a-zA-Z0-9.]*[a-zA-Z0-9])?(?::\d+)?/)?"
_PART = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_REFERENCE = re.compile(rf"{_HOST}{_PART}(?:/{_PART})*(?::[\w][\w.-]{{0,127}})?(?:@[a-z0-9]+:[0-9a-fA-F]{{32,}})?")


def reference_problem(text: str) -> str | None:
    """Why ``text`` is not a reference that a container runtime takes, or None."""
    if len(text) > _LONGEST or not _REFERENCE.fullmatch(text):
        return f"{text!r} is not an image reference such as vllm/vllm-openai:v0.33.0@sha256:... (lower case, no spaces)"
    return None


@cache
def image_family(text: str) -> Mapping[str, Any]:
    """The catalog's row for an image: ``engine``, ``vendor``, ``entrypoint``; empty for an image that it does not know."""
    if not text or len(text) > _LONGEST:
        return {}
    name = text.partition("@")[0].lower()
    parts = {"all": name, "last": name.rpartition("/")[2]}
    return next((row for pattern, row in _patterns("images") if pattern.search(parts[row.get("part", "all")])), {})


@cache
def vllm_version(text: str) -> str | None:
    """The vLLM version that an image's tag means; None = unknown.

    Only the tags of known families mean one: some are vLLM's own, some stand in a table (Ray's and NVIDIA's releases), some name it
    (``...-vllm0.11.0-...``). The tag of anybody's own image tells nothing.
    """
    ref, engine = image_reference(text), image_family(text).get("engine")
    if not ref.tag or engine not in ("vllm", "ray"):
        return None
    tag = ref.tag.lower()
    row = next((row for pattern, row in _patterns("versions") if pattern.search(ref.name.lower())), {})
    if "table" in row:
        found: str | None = row["table"].get(tag.removeprefix("v").partition("-")[0])
        return found
    named = next((read for rest in tag.split("vllm")[1:] if (read := Version.parse(rest.lstrip("-_")))), None)
    if named and engine == "vllm":
        return str(named)
    release = Version.parse(tag) if row else None
    # No release of vLLM has another first number than 0: v1.2.3 is the version of something else.
    return str(release) if release and release.major == 0 else None


@dataclass(frozen=True, slots=True)
class Library:
    """Whether an image holds a library that is not among vLLM's own requirements."""

    held: bool
    """False where the image is of a family that holds it, and older than the first release that surely does."""
    since: str
    """That release; empty where every image of the family does."""


def library(image: str, name: str) -> Library | None:
    """What is known of ``image`` and the library; None where nothing is."""
    read = image_reference(image).name.lower()
    row = next((row for pattern, row in _patterns("libraries") if row["library"] == name and pattern.search(read)), None)
    if row is None:
        return None
    first, version = Version.parse(row.get("since", "0.0.0")), Version.parse(vllm_version(image) or "")
    if row.get("since") and version is None:
        return None
    return Library(not row.get("since") or bool(first and version and first <= version.release), row.get("since", ""))


@cache
def _patterns(kind: str) -> tuple[tuple[re.Pattern[str], Mapping[str, Any]], ...]:
    return tuple((re.compile(row["match"]), row) for row in table(_FILE)[kind])
