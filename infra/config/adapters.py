"""LoRA adapters: small changes of a model that share its weights, each under a name of its own."""

import re
from typing import Self

from pydantic import Field, field_validator, model_validator

from interlock.infra.config.base import Config, Plain

RANKS = (1, 8, 16, 32, 64, 128, 256, 320, 512)
"""vLLM 0.32 and 0.33: vllm/config/lora.py, MaxLoRARanks."""
_NAME = re.compile(r"[\w.:/-]+")


class Adapter(Config):
    """One adapter."""

    name: Plain
    """Name that clients send as ``model``: letters, digits and . _ - / :"""
    path: Plain
    """Its folder in the engine's container, or its repository on the hub."""

    @field_validator("name")
    @classmethod
    def _one_word(cls, value: str) -> str:
        if not _NAME.fullmatch(value):
            raise ValueError(f"{value!r} is not a name of letters, digits and . _ - / : alone")
        return value


class AdaptersConfig(Config):
    """The adapters of a server."""

    modules: tuple[Adapter, ...] = ()
    """The adapters."""
    hot: bool = False
    """Load them into the running engine from a mounted list: a change restarts nothing. false = they stand in the engine's arguments,
    and a change replaces the pods."""
    slots: int | None = Field(default=None, ge=1, le=512)
    """Adapters that the engine holds at most, the others in host memory; omit for as many as there are. Raising it replaces the pods."""
    rank: int = 16
    """Largest rank of an adapter, for which memory is planned: 1, 8, 16, 32, 64, 128, 256, 320 or 512."""

    @field_validator("rank")
    @classmethod
    def _rank_that_vllm_has(cls, value: int) -> int:
        if value not in RANKS:
            larger = next((rank for rank in RANKS if rank >= value), RANKS[-1])
            raise ValueError(f"{value} is not one of {', '.join(map(str, RANKS))}: set it to {larger}")
        return value

    @model_validator(mode="after")
    def _within_its_slots(self) -> Self:
        names = [each.name for each in self.modules]
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise ValueError(f"modules names {twice!r} twice: each adapter has a name of its own")
        if not (self.modules or self.hot):
            raise ValueError("modules is empty: name an adapter, or set hot: true for a list that is filled later")
        if self.slots is not None and self.slots < len(names):
            raise ValueError(f"slots {self.slots} is less than the {len(names)} adapters in modules: raise it to {len(names)}")
        return self
