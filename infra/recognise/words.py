"""Words and commands: what scripts and argument lists are made of."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Word:
    """One argument."""

    text: str
    known: bool = True
    many: bool = False
    """It may stand for any number of arguments (an unknown unquoted variable, ``"$@"``)."""
    path: str = ""
    raw: str = ""
    """As written, where that differs from the text (a variable)."""
    maybe: bool = False
    """It stands there only under a condition."""


@dataclass(frozen=True, slots=True)
class Command:
    """One simple command."""

    words: tuple[Word, ...]
    assignments: Mapping[str, Word] = field(default_factory=dict)
    conditional: bool = False
    here: str = ""
    """Body of its here document."""
    target: str = ""
    """File its output goes to."""
