"""Refusals in Go source, read line by line (it is formatted): constructors of errors with the conditions around them."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tools.mechanisms.rows import Condition

_FUNCTION = re.compile(r"^func (?:\([^)]*?\*?(\w+)\) )?(\w+)[(\[]")
_HEAD = re.compile(r"^\s*(?:\} else )?(?:if|for|switch|case|default)\b(.*?)\s*[{:]$")
_REFUSAL = re.compile(
    r"\b(field\.(?:Invalid|Required|Forbidden|NotSupported|Duplicate|TooLong|TooMany|TypeInvalid)\w*(?:\[\w+\])?"
    r"|fmt\.Errorf|errors\.New|errstd\.New)\("
)
_COMMENT = re.compile(r"^\s*//")
_SPACE = re.compile(r"\s+")


def refusals(path: Path, file: str, only: str = "") -> Iterator[Condition]:
    """Every refusal of a file, in the order of the source; ``only``: a pattern of the functions that are read."""
    wanted = re.compile(only)
    yield from (each for each in _Reader(file).lines(path.read_text(encoding="utf-8").splitlines()) if wanted.search(each.symbol))


@dataclass(slots=True)
class _Reader:
    file: str
    symbol: str = ""
    depth: int = 0
    conditions: list[tuple[int, str]] = field(default_factory=list)
    """Depth outside of the block, and what must hold to be in it."""

    def lines(self, lines: list[str]) -> Iterator[Condition]:
        """The file's refusals. A statement over several lines is joined until its parentheses close."""
        position = 0
        while position < len(lines):
            text = lines[position]
            if _COMMENT.match(text):
                position += 1
                continue
            while position + 1 < len(lines) and _continues(text):
                position += 1
                text += " " + lines[position].strip()
            yield from self.statement(text)
            position += 1

    def statement(self, text: str) -> Iterator[Condition]:
        """One statement: enter or leave blocks, and tell what it refuses."""
        if found := _FUNCTION.match(text):
            self.symbol, self.conditions = f"{found[1]}.{found[2]}" if found[1] else found[2], []
            self.depth = 0
        bare = re.sub(r'"(?:\\.|[^"\\])*"|`[^`]*`|\'(?:\\.|[^\'\\])*\'', '""', text)
        closes, is_case = bare.lstrip().startswith("}"), re.match(r"\s*(case |default:)", bare) is not None
        kept = self.depth - 1 if closes or is_case else self.depth
        self.conditions = [
            (depth, held) for depth, held in self.conditions if depth < kept or (depth == kept and not closes and not is_case)
        ]
        if self.symbol and (found := _REFUSAL.search(text)):
            held = " and ".join(_brackets(c) for _, c in self.conditions[-4:] if c)
            yield Condition(self.file, self.symbol, held, _SPACE.sub(" ", _call(text[found.start() :])))
        self.depth += bare.count("{") - bare.count("}")
        if found := _HEAD.match(text):
            self.conditions.append((self.depth - (0 if is_case else 1), _SPACE.sub(" ", found[1]).strip()))


def _continues(text: str) -> bool:
    """Whether the statement goes on in the next line: an open parenthesis, or a head without its brace."""
    head = re.match(r"\s*(?:\} else )?(?:if|for|switch)\b", text) is not None
    return not text.rstrip().endswith("{") and (head or _open(text) > 0)


def _open(text: str) -> int:
    bare = re.sub(r'"(?:\\.|[^"\\])*"|`[^`]*`', "", text)
    return bare.count("(") - bare.count(")")


def _call(text: str) -> str:
    """The call at the start of the text, to its closing parenthesis."""
    depth, quoted = 0, ""
    for index, char in enumerate(text):
        if quoted:
            quoted = "" if char == quoted and text[index - 1] != "\\" else quoted
        elif char in '"`':
            quoted = char
        elif char in "([":
            depth += 1
        elif char in ")]":
            depth -= 1
            if depth == 0 and char == ")":
                return text[: index + 1]
    return text


def _brackets(text: str) -> str:
    return f"({text})" if "||" in text else text
