"""Errors that a user sees: each carries the field, the value, the reason and the fix, and never needs a traceback."""

from collections.abc import Sequence
from dataclasses import dataclass

USAGE, REFUSED = 2, 1


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with what a user gave."""

    path: str
    """Where: a field such as ``servers[1].gpus``; empty for the whole document."""
    message: str
    """What is wrong, with the value and what would be right."""
    source: str = ""
    """The file, stack or flag it came from."""

    def __str__(self) -> str:
        place = f"{self.path}: " if self.path else ""
        return f"{place}{self.message}" + (f" ({self.source})" if self.source else "")


class InterlockError(Exception):
    """Base of all errors meant for a user. ``exit_code`` is what the command ends with."""

    exit_code = USAGE


class ConfigError(InterlockError):
    """The configuration cannot be read or does not fit the schema. Lists every problem, not only the first."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in problems))


class RefusedError(InterlockError):
    """The plan has error findings that nobody waived."""

    exit_code = REFUSED
