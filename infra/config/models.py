"""The model that a server serves and where its weights come from."""

from enum import StrEnum
from typing import Any, Literal

from pydantic import Field, model_validator

from interlock.infra.catalog.images import vllm_version
from interlock.infra.config.base import Config, Image, ObjectName, Plain
from interlock.infra.values import Version


class ModelConfig(Config):
    """A model by its id, with the facts the catalog does not know."""

    id: Plain
    """Model id (``Qwen/Qwen2.5-7B-Instruct``); facts come from the catalog when it is known there."""
    revision: Plain | None = None
    """Commit of the model repository; without one, a new commit changes the model at the next start of a pod."""
    path: Plain | None = None
    """Folder inside the weights volume or image; omit to load the id from the hub or its cache."""
    attention_heads: int | None = Field(default=None, ge=1)
    """Attention heads, when the catalog does not know the model."""
    kv_heads: int | None = Field(default=None, ge=1)
    """KV heads, when the catalog does not know the model."""
    weights_gib: float | None = Field(default=None, gt=0, le=100_000)
    """Size of the checkpoint in GiB, when the catalog does not know the model."""
    max_position: int | None = Field(default=None, ge=1)
    """Longest context of the model, when the catalog does not know it."""
    config: str | dict[str, Any] | None = Field(default=None, repr=False)
    """The model's own config.json: a path beside the stack's file, or its content. It wins over the catalog; memory is planned from it."""
    unsized: str | None = Field(default=None, min_length=1)
    """Reason to serve a model of which neither the catalog, config nor weights_gib says anything: its memory is then not planned."""


class ImageTrack(StrEnum):
    """Proven sets of versions."""

    DEPLOYMENT = "deployment"
    RAY = "ray"
    CPU = "cpu"


class ImageConfig(Config):
    """The engine's image."""

    track: ImageTrack | None = None
    """``deployment``: the pinned vLLM image; ``ray``: the pinned image with Ray and vLLM; ``cpu``: test only, the real engine without a
    GPU; omit for ray where ``serve`` is ray, else deployment."""
    reference: Image | None = None
    """Another image, with tag and digest; omit for the track's own."""
    vllm: str | None = Field(default=None, pattern=r"^\d+\.\d+(\.\d+)*([a-z.]+\d+)?$")
    """vLLM version inside ``reference``, such as 0.33.0; needed where its tag does not say it, as with an image of your own."""
    pull_policy: Literal["Always", "IfNotPresent", "Never"] | None = None
    """imagePullPolicy; omit for IfNotPresent."""
    pull_secrets: tuple[ObjectName, ...] = ()
    """Names of existing pull Secrets."""
    registry: str | None = None
    """Mirror that stands in for the image's own registry (air-gapped clusters)."""

    @model_validator(mode="after")
    def _version_of_the_reference(self) -> "ImageConfig":
        if self.vllm and not self.reference:
            raise ValueError("vllm: the track's image has its own version; state vllm beside an image reference only, or remove it")
        said = vllm_version(self.reference) if self.reference else None
        if self.vllm and said and Version.parse(said) != Version.parse(self.vllm):
            raise ValueError(f"vllm: {self.vllm} is not the version that {self.reference} names ({said}): correct one of them")
        return self
