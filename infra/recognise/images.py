"""What a container's image says: the engine it carries, the vendor it is built for and the vLLM version."""

from dataclasses import dataclass
from functools import cache

from interlock.infra.catalog.images import image_family, image_reference, vllm_version
from interlock.infra.facts import Fact, absent, known, unknown

# Under the second name people look for the first: docker/Dockerfile.rocm starts `vllm serve` too.
_STOCK = ("vllm/vllm-openai", "vllm/vllm-openai-rocm", "vllm/vllm-rocm")


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
    """The project's own image, also through a mirror, so that its entrypoint is known."""


def read_image(reference: Fact[str], raw: str = "") -> Image:
    """What an image says; ``raw`` is the text of a templated one, whose repository may still be plain."""
    text = (reference.value if reference.known else raw) or ""
    return _read(text.strip(), reference.known, reference.path)


@cache
def _read(text: str, plain: bool, path: str) -> Image:
    row = image_family(text)
    if not text or len(text) > 1000:
        return Image()
    ref = image_reference(text)
    return Image(
        engine=row.get("engine", ""),
        vendor=row.get("vendor", ""),
        entrypoint=row.get("entrypoint", ""),
        version=_version(text, ref.tag, row.get("engine", ""), plain, path),
        tag=ref.tag,
        digest=ref.digest,
        stock=ref.name.lower().endswith(_STOCK),
    )


def _version(text: str, tag: str, engine: str, plain: bool, path: str) -> Fact[str]:
    version = vllm_version(text)
    if version:
        return known(version, path)
    if engine != "vllm" or not tag:
        return absent(path) if plain else unknown(path, "templated")
    return unknown(path, f"the tag {tag[:80]!r} names no vLLM version")
