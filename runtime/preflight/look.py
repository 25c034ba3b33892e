"""What a look finds: nothing, a problem, or that it could not look."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any

from interlock.runtime.preflight.cards import Machine


class Seen(Enum):
    """How a look ended."""

    FINE = "fine"
    PROBLEM = "problem"
    UNSEEN = "not looked at"


@dataclass(frozen=True)
class Result:
    """One finding: its kind (a stable name), how it ended, and one line."""

    kind: str
    seen: Seen
    text: str


@dataclass(frozen=True)
class World:
    """What the looks see of the machine; tests give another one."""

    environment: Mapping[str, str]
    cards: Callable[[], Machine]
    root: Path = Path("/")
    plan: Mapping[str, Any] = field(default_factory=dict)

    def at(self, path: str) -> Path:
        """An absolute path of the container."""
        return self.root / path.lstrip("/")


def fine(kind: str, text: str) -> Result:
    """It is as planned."""
    return Result(kind, Seen.FINE, text)


def problem(kind: str, text: str) -> Result:
    """It is not."""
    return Result(kind, Seen.PROBLEM, text)


def unseen(kind: str, text: str) -> Result:
    """Nobody knows."""
    return Result(kind, Seen.UNSEEN, text)
