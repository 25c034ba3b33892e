"""Words and commands: what scripts and argument lists are made of."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

_TEMPLATED = re.compile(r"\{\{.*?\}\}|\$\{[^}]*\}|\$\([^)]*\)|\{%.*?%\}|<%.*?%>|(?<!\$)\$[A-Z_][A-Z0-9_]+|^__\w+__$", re.DOTALL)


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


def templated(text: str) -> bool:
    """Whether a text holds an expression that something else fills in."""
    return ("{" in text or "$" in text or "<%" in text or "__" in text) and _TEMPLATED.search(text) is not None
