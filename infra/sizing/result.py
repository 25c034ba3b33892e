"""The planner's answer."""

import json
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from interlock.infra.sizing.refusal import Refusal


class Verdict(StrEnum):
    """Whether the engine starts."""

    FITS = "fits"
    DOES_NOT_FIT = "does_not_fit"
    UNSURE = "unsure"


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A number with its uncertainty: the truth is expected between low and high."""

    low: float
    """Lower end."""
    likely: float
    """Best guess."""
    high: float
    """Upper end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """One part of a GPU's memory."""

    name: str
    """``weights``, ``activation``, ``cuda_graphs``, ``non_torch``, ``kv_cache``, ``outside`` (what utilization leaves free)."""
    gib: Estimate
    """GiB on one GPU."""
    formula: str
    """How it was computed, with the numbers."""
    source: str
    """Where the formula comes from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Suggestion:
    """A change with which it fits (checked with the high estimate)."""

    change: dict[str, Any]
    """Fields of the request to change."""
    text: str
    """For people."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostSide:
    """What the node needs besides the GPU."""

    weights_bytes: int
    """Bytes that are read from storage for one replica."""
    load_seconds: float
    """Likely seconds from container start to ready."""
    offload_bytes: int = 0
    """Host memory taken by offloaded weights, all GPUs of a replica together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SizingResult:
    """What one GPU of the replica would hold, and whether that works."""

    verdict: Verdict
    """The answer."""
    reasons: tuple[str, ...]
    """What decides it, most important first."""
    refusals: tuple[Refusal, ...] = ()
    """Why the engine would not start; none unless the verdict is ``does_not_fit``."""
    doubtful: tuple[Refusal, ...] = ()
    """What is likely to stop it, where that cannot be sure."""
    unknown: tuple[str, ...]
    """What was not stated or not known, with the default taken in its place."""
    terms: tuple[Term, ...] = ()
    """The budget of one GPU (the heaviest rank)."""
    total_gib: Estimate | None = None
    """Memory of the GPU (or of the slice) as CUDA reports it."""
    requested_gib: Estimate | None = None
    """Total x utilization: what the engine may use."""
    weights_gib: Estimate | None = None
    """Weights after loading, as vLLM logs them."""
    activation_gib: Estimate | None = None
    """Peak of the profile run."""
    cudagraph_gib: Estimate | None = None
    """CUDA graphs, as far as they are taken out of the KV budget."""
    non_torch_gib: Estimate | None = None
    """Context, NCCL, workspaces."""
    kv_available_gib: Estimate | None = None
    """Memory left for the KV cache."""
    kv_tokens: Estimate | None = None
    """Tokens the pool holds, as vLLM logs them."""
    max_concurrency: Estimate | None = None
    """Requests of the full length at the same time."""
    kv_needed_gib: float | None = None
    """KV memory of one request of the full length."""
    kv_bytes_per_token: int | None = None
    """Bytes per token of context on one GPU."""
    max_model_len: int | None = None
    """The length that was checked (stated, the model's own, or fitted)."""
    longest_model_len: int | None = None
    """Longest length that surely fits."""
    param_bytes: int | None = None
    """Parameter bytes of rank 0."""
    num_blocks: int | None = None
    """KV blocks (likely value, exact when the KV memory was given)."""
    block_size: int | None = None
    """Tokens per block."""
    suggestions: tuple[Suggestion, ...] = ()
    """What would fit."""
    host: HostSide | None = None
    """What the node needs."""
    vllm_version: str = ""
    """The version the answer is for."""

    def term(self, name: str) -> Term | None:
        """A term by name."""
        return next((term for term in self.terms if term.name == name), None)

    @property
    def doubts(self) -> tuple[str, ...]:
        """What ``unknown`` holds besides defaults: a model that nobody compared, an argument that is not followed."""
        return tuple(text for text in self.unknown if not text.endswith(" taken") and text not in self.reasons)

    def to_json(self) -> str:
        """The whole answer as an indented JSON object."""
        return json.dumps(asdict(self), indent=2, ensure_ascii=False)
