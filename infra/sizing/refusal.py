"""Why an engine would not start: what kind of reason, the argument to change, the words, and the fix."""

from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """Kinds of refusal; rules select by them, and no rule reads the words."""

    HEADS = "heads"
    """Attention or KV heads and the tensor parallel size."""
    WIDTHS = "widths"
    """Widths, vocabulary or state heads that the tensor parallel size does not cut into whole parts."""
    GROUPS = "groups"
    """Parts that are not whole groups or blocks of quantized weights."""
    PIPELINE = "pipeline"
    """Pipeline stages."""
    CONTEXT_PARALLEL = "context-parallel"
    """Ranks that share a context."""
    EXPERTS = "experts"
    """Expert parallelism without experts."""
    FORMAT = "format"
    """A storage format that this version does not load."""
    ARCHITECTURE = "architecture"
    """An architecture that this version does not serve."""
    LENGTH = "length"
    """A length beyond the model's positions, or none to take."""
    STEP = "step"
    """Tokens of one step against the sequences, the prompt or the states that it must hold."""
    DTYPE = "dtype"
    """Type of weights and activations."""
    CACHE_DTYPE = "cache-dtype"
    """Type of the KV cache."""
    BLOCK_SIZE = "block-size"
    """Tokens of one KV block."""
    BLOCK_TABLE = "block-table"
    """Layers that cannot share one block table."""
    SCHEDULING = "scheduling"
    """Asynchronous scheduling beside a drafting method."""
    DRAFT = "draft"
    """The draft model of speculative decoding."""
    CARD = "card"
    """A card that vLLM has no kernels for."""
    SHARES = "shares"
    """Utilizations of the engines on one card."""
    FREE_MEMORY = "free-memory"
    """More of the card asked for than is free at the start."""
    OUTSIDE = "outside"
    """Less of the card left outside the budget than contexts, collectives and graphs may take."""
    WEIGHTS = "weights"
    """Weights and overheads beyond the budget."""
    POOL = "pool"
    """A KV pool of a fixed size beyond the card."""
    REQUEST = "request"
    """A KV pool that does not hold the requests that it must hold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """One reason for which the engine would not start."""

    kind: Kind
    """What it is about."""
    field: str
    """The argument to change, by its vLLM name without leading dashes; ``model`` for the model itself."""
    text: str
    """The reason with its arithmetic."""
    remedy: str
    """What to do."""
    value: int | float | str | None = None
    """The value of the argument with which it is accepted, where that one change suffices."""
    removes: bool = False
    """Leaving the argument out suffices."""


def removed(kind: Kind, flag: str, text: str) -> Refusal:
    """A refusal that goes when the argument is left out."""
    return Refusal(kind=kind, field=flag, text=text, remedy=f"remove --{flag}", removes=True)
