"""What runs beside the engine in its pods: supervisor, preflight, liveness probe."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Self

from pydantic import Field, model_validator

from interlock.infra.config.base import Config

LONGEST_SECONDS = 24 * 3600


class LogForm(StrEnum):
    """How the lines of the engine and of the supervisor are written."""

    TEXT = "text"
    JSON = "json"


class RuntimeConfig(Config):
    """The supervisor around the engine (runtime.md). It needs an image whose ``python3`` is 3.11 or later, as in the stock one."""

    supervised: bool = True
    """The engine runs under the supervisor: a drain loses no request, a hang is seen, and a pod says why it ended; false = the engine is
    the container's first process, drained by its own shutdown timeout and watched by /health."""
    preflight: bool | None = None
    """An init container looks at GPUs, driver, memory and model files before the engine starts; omit to have it beside a supervisor."""
    hang_seconds: int | None = Field(default=None, ge=10, le=LONGEST_SECONDS)
    """Seconds without an engine step after which a pod that has work is replaced; omit to let the planner decide: the longest step,
    rounded up to 120, 300, 600, 900, 1800 or 3600 s, so that a new prediction restarts nothing."""
    log: LogForm = LogForm.TEXT
    """text (the engine's lines as they are), or json (each line as one object)."""

    @model_validator(mode="after")
    def _of_a_supervisor(self) -> Self:
        asked = self.asked()
        if asked and not self.supervised:
            raise ValueError(needs_supervisor(asked))
        return self

    def asked(self) -> tuple[str, ...]:
        """The fields by which a person asks for what only a supervised pod does."""
        wanted = {"preflight": self.preflight is True, "hang_seconds": self.hang_seconds is not None, "log": self.log is LogForm.JSON}
        return tuple(name for name, asks in wanted.items() if asks)


def needs_supervisor(asked: Sequence[str], otherwise: str = "set supervised: true") -> str:
    """What is said of the fields ``asked`` of an engine without a supervisor."""
    needs, them = ("needs", "it") if len(asked) == 1 else ("need", "them")
    return f"{', '.join(asked)} {needs} the supervisor: remove {them}, or {otherwise}"
