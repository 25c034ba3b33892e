"""Image references: parts, the engine they carry, the vendor they are built for and the vLLM version in the tag."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from interlock.infra.catalog.tables import table
from interlock.infra.facts import Fact, absent, known, unknown

_VERSION = re.compile(r"^v?(\d+\.\d+(?:\.\d+)*(?:\.?(?:post|rc|dev|a|b)\d+)?)(?=$|[-+_.])")
_NAMED = re.compile(r"vllm[-_]?v?(\d+\.\d+(?:\.\d+)*(?:\.?(?:post|rc)\d+)?)")


@dataclass(frozen=True, slots=True)
class Image:
    """What a reference says."""

    engine: str = ""
    """``vllm``, ``ray``, another engine's name, ``none`` for what is surely no engine, empty when it does not say."""
    vendor: str = ""
    entrypoint: str = ""
    """``serve``, ``module``, ``huggingfaceserver``, ``none``; empty when not known."""
    version: Fact[str] = Fact()
    tag: str = ""
    digest: str = ""
    stock: bool = False
    """The project's own ``vllm/vllm-openai``, also through a mirror, so that its entrypoint is known."""


@cache
def _rows() -> tuple[tuple[re.Pattern[str], Mapping[str, Any]], ...]:
    return tuple((re.compile(row["match"]), row) for row in table("engine_images.json")["images"])


def read_image(reference: Fact[str], raw: str = "") -> Image:
    """The parts of an image; ``raw`` is the text of a templated one, whose repository may still be plain."""
    text = (reference.value if reference.known else raw) or ""
    return _read(text.strip(), reference.known, reference.path)


@cache
def _read(text: str, plain: bool, path: str) -> Image:
    if not text or len(text) > 1000:
        return Image()
    name, _, digest = text.partition("@")
    head, slash, last = name.rpartition("/")
    base, _, tag = last.partition(":")
    parts = {"all": name.lower(), "last": last.lower()}
    row = next((row for pattern, row in _rows() if pattern.search(parts[row.get("part", "all")])), {})
    return Image(
        engine=row.get("engine", ""),
        vendor=row.get("vendor", ""),
        entrypoint=row.get("entrypoint", ""),
        version=_version(tag, row, plain, path),
        tag=tag,
        digest=digest,
        stock=f"{head}{slash}{base}".lower().endswith("vllm/vllm-openai"),
    )


def _version(tag: str, row: Mapping[str, Any], plain: bool, path: str) -> Fact[str]:
    if row.get("engine") != "vllm" or not tag:
        return absent(path) if plain else unknown(path, "templated")
    named = _NAMED.search(tag.lower())
    if named:
        return known(named.group(1), path)
    found = _VERSION.match(tag.lower()) if row.get("tag") == "vllm" else None
    if found and found.group(1).split(".")[0] == "0":
        return known(found.group(1), path)
    return unknown(path, f"the tag {tag[:80]!r} names no vLLM version")
