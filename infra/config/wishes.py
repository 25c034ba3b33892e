"""Wishes: what a person knows about the use of a model, from which the plan derives the engine's arguments."""

from enum import StrEnum
from typing import Self

from pydantic import Field, model_validator

from interlock.infra.config.base import Config

MOST_REQUESTS, MOST_TOKENS = 10**6, 10**8
"""Beyond what any server has: a slip of the finger, which would come out as memory that no card has."""


class Goal(StrEnum):
    """What matters most."""

    LATENCY = "latency"
    THROUGHPUT = "throughput"
    BALANCED = "balanced"


class Task(StrEnum):
    """What the model is used for."""

    CHAT = "chat"
    CODE = "code"
    EMBED = "embed"
    RERANK = "rerank"
    TRANSCRIBE = "transcribe"


class WishesConfig(Config):
    """What is known about the use of a model. All of it is optional; what the plan takes in its place is named among its reasons."""

    longest_prompt: int | None = Field(default=None, ge=1, le=MOST_TOKENS)
    """Longest prompt in tokens; omit for what the model and the card hold (8192 when only longest_answer is stated)."""
    longest_answer: int | None = Field(default=None, ge=1, le=MOST_TOKENS)
    """Longest answer in tokens; omit for what the model and the card hold (2048 when only longest_prompt is stated)."""
    concurrent: int | None = Field(default=None, ge=1, le=MOST_REQUESTS)
    """Requests at the same time over all replicas; omit for the engine's own limit."""
    requests_per_second: float | None = Field(default=None, gt=0, le=MOST_REQUESTS)
    """Requests per second over all replicas, in place of ``concurrent``: multiplied by half of longest_answer_seconds."""
    goal: Goal = Goal.BALANCED
    """latency (short steps, more cards per replica where they are free), throughput (large steps) or balanced."""
    quantized: bool | None = None
    """Whether weights and KV cache may be stored in 8 bits where they would not fit otherwise; omit to be asked by a suggestion."""
    task: Task | None = None
    """chat, code, embed, rerank or transcribe; omit for what the model's architecture is made for."""
    images: int | None = Field(default=None, ge=0)
    """Images in one prompt of a model that sees; 0 leaves its vision tower out; omit for the engine's own limit."""
    swaps_per_day: float | None = Field(default=None, ge=0)
    """How often the model is exchanged for another one, per day; counts in the decision about Ray."""
    one_scaler: bool = False
    """Whether several models are to share GPUs behind one scaler; counts in the decision about Ray."""
    python_around: bool = False
    """Whether own Python code stands around the engine and is to be scaled with it; counts in the decision about Ray."""

    @model_validator(mode="after")
    def _one_measure_of_load(self) -> Self:
        if self.concurrent is not None and self.requests_per_second is not None:
            raise ValueError("state concurrent or requests_per_second, not both: the plan derives one from the other")
        return self
