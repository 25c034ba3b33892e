"""The words of a shell script: quoting, continuations, variables, as far as they can be known without running anything."""

import ast
import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace

from interlock.infra.facts import Fact
from interlock.infra.recognise.words import Command, Word

LIMIT = 200_000
WORD_LIMIT = 50_000
_PARAMETER = re.compile(r"^([A-Za-z_]\w*|[@*#?0-9!-])(\[[@*]\])?(?:(:?[-=+?])(.*)|([#%/,^:].*))?$", re.DOTALL)
_NAME = re.compile(r"[A-Za-z_]\w*|[@*#?0-9!$-]")


_ARITHMETIC_NAME = re.compile(r"\$?\{?\b([A-Za-z_]\w*)\b\}?")
_ARITHMETIC = re.compile(r"[\d\s+*/()%-]{1,60}")
_OPERATIONS: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: int.__add__,
    ast.Sub: int.__sub__,
    ast.Mult: int.__mul__,
    ast.Div: int.__floordiv__,
    ast.Mod: int.__mod__,
}


def arithmetic(text: str) -> int | None:
    """The value of ``2 * (3 + 1)``; None for anything that is not such an expression of small numbers."""
    if not _ARITHMETIC.fullmatch(text):
        return None
    try:
        return _evaluated(ast.parse(text.strip(), mode="eval").body)
    except (SyntaxError, ValueError, ArithmeticError, RecursionError, MemoryError):
        return None


def _evaluated(node: ast.expr) -> int:
    if isinstance(node, ast.Constant) and isinstance(node.value, int) and node.value < 10**6:
        return node.value
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATIONS:
        return _OPERATIONS[type(node.op)](_evaluated(node.left), _evaluated(node.right))
    raise ValueError("no arithmetic of whole numbers")


class Expansion(ABC):
    """Reads words from the cursor on; what a word means for a command is the business of ``Shell``."""

    def __init__(self, text: str, lookup: Callable[[str], Fact[str]], path: str = "") -> None:
        self._text = text[:LIMIT]
        self._lookup = lookup
        self._path = path
        self._at = 0
        self._variables: dict[str, list[Word]] = {}
        self._words: list[Word] = []
        self._target = ""
        self._redirect = False
        self._reset_word()

    @abstractmethod
    def read(self) -> list[Command]:
        """All simple commands in order."""

    def _inner(self, text: str) -> list[Word]:
        """The words of a text inside this script, with its variables."""
        inner = type(self)(text, self._lookup, self._path)
        inner._variables = self._variables
        return [word for command in inner.read() for word in command.words]

    def _reset_word(self) -> None:
        self._parts: list[str] = []
        self._open = False
        self._known = True
        self._many = False
        self._maybe = False
        self._raw: list[str] = []

    def _add(self, text: str, raw: str | None = None) -> None:
        self._open = True
        self._parts.append(text)
        self._raw.append(text if raw is None else raw)

    def _escape(self) -> None:
        following = self._text[self._at : self._at + 1]
        self._at += 1
        if following == "\r" and self._text[self._at : self._at + 1] == "\n":
            self._at += 1
        elif following != "\n":
            self._add(following)

    def _single(self) -> None:
        end = self._text.find("'", self._at)
        end = len(self._text) if end < 0 else end
        self._add(self._text[self._at : end])
        self._at = end + 1

    def _double(self) -> None:
        self._add("")
        while self._at < len(self._text):
            character = self._text[self._at]
            self._at += 1
            if character == '"':
                return
            if character == "\\":
                following = self._text[self._at : self._at + 1]
                self._at += 1
                self._add("" if following == "\n" else following if following in '"\\$`' else "\\" + following)
            elif character == "$":
                self._dollar(quoted=True)
            elif character == "`":
                self._backtick()
            else:
                self._add(character)

    def _backtick(self) -> None:
        end = self._text.find("`", self._at)
        end = len(self._text) if end < 0 else end
        self._unknown(self._text[self._at - 1 : end + 1], many=False)
        self._at = end + 1

    def _unknown(self, raw: str, *, many: bool) -> None:
        self._add("", raw)
        self._known = False
        self._many |= many

    def _dollar(self, *, quoted: bool = False) -> None:
        start = self._at - 1
        following = self._text[self._at : self._at + 1]
        if following == "(":
            self._at = self._closing("(", ")")
            text = self._text[start : self._at]
            result = self._computed(text[3:-2]) if text.startswith("$((") else None
            self._add(str(result), text) if result is not None else self._unknown(text, many=not quoted)
        elif following == "{":
            self._at = self._closing("{", "}")
            self._parameter(self._text[start + 2 : self._at - 1], self._text[start : self._at], quoted)
        elif following == "'" and not quoted:
            self._at += 1
            self._single()
        elif match := _NAME.match(self._text, self._at):
            self._at = match.end()
            self._parameter(match.group(0), self._text[start : self._at], quoted)
        else:
            self._add("$")

    def _computed(self, text: str) -> int | None:
        """The value of an arithmetic expression over known whole numbers; None when it cannot be told."""
        names = {name: self._value(name) for name in _ARITHMETIC_NAME.findall(text)}
        if not all(words and len(words) == 1 and words[0].known and words[0].text.isdigit() for words in names.values()):
            return None
        plain = _ARITHMETIC_NAME.sub(lambda match: (names[match.group(1)] or [Word("0")])[0].text, text)
        return arithmetic(plain)

    def _closing(self, opening: str, closing: str) -> int:
        """The index after the bracket that closes the one at the cursor."""
        depth = 0
        for index in range(self._at, len(self._text)):
            depth += (self._text[index] == opening) - (self._text[index] == closing)
            if depth == 0:
                return index + 1
        return len(self._text)

    def _parameter(self, body: str, raw: str, quoted: bool) -> None:
        match = _PARAMETER.match(body)
        if not match or match.group(5) or match.group(1) in "@*#?0123456789!-":
            listed = bool(match) and match is not None and (match.group(1) in "@*" or bool(match.group(2)))
            self._unknown(raw, many=listed or not quoted)
            return
        name, listed_all, operator, default = match.group(1), match.group(2), match.group(3), match.group(4)
        words = self._value(name)
        if operator in (":-", "-", ":=", "=") and (words is None or (words == [] and operator[0] == ":")):
            words = self._default(default or "")
        if operator in (":+", "+"):
            self._alternative(default or "", words, raw)
        elif words is None:
            self._unknown(raw, many=bool(listed_all) or not quoted)
        elif listed_all or len(words) > 1:
            self._spread(words, raw, quoted=bool(listed_all) or quoted)
        else:
            self._insert(words[0] if words else Word(""), raw, quoted)

    def _alternative(self, text: str, words: list[Word] | None, raw: str) -> None:
        """``${NAME:+text}``: the text when the variable is set; when that is not known, words that may stand there."""
        if words == []:
            return
        found = self._inner(text)
        unset = words is None or not all(word.known for word in words)
        self._spread([replace(word, maybe=True) for word in found] if unset else found, raw)

    def _value(self, name: str) -> list[Word] | None:
        """The words of a variable; None when nothing known sets it."""
        if name in self._variables:
            return self._variables[name]
        fact = self._lookup(name)
        if fact.known:
            return [Word(fact.get())] if fact.get() else []
        return [Word("", known=False, many=True)] if fact.unknown else None

    def _default(self, text: str) -> list[Word]:
        words = self._inner(text)
        return [Word(" ".join(word.text for word in words), all(word.known for word in words))] if words else []

    def _insert(self, word: Word, raw: str, quoted: bool) -> None:
        self._maybe |= word.maybe
        if not word.known:
            self._unknown(raw, many=word.many and not quoted)
            self._parts.append(word.text)
        elif quoted or not any(space in word.text for space in " \t\n") or len(word.text) > WORD_LIMIT:
            self._add(word.text, raw)
        else:
            pieces = word.text.split()
            for piece in pieces[:-1]:
                self._add(piece, raw)
                self._end_word()
            self._add(pieces[-1] if pieces else "", raw)

    def _spread(self, words: list[Word], raw: str, *, quoted: bool = True) -> None:
        for index, word in enumerate(words):
            if index:
                self._end_word()
            self._insert(word, raw, quoted=quoted)
            self._many |= word.many

    def _end_word(self) -> None:
        if self._open:
            text = "".join(self._parts)[:WORD_LIMIT]
            raw = "".join(self._raw)[:WORD_LIMIT]
            word = Word(text, self._known, self._many and not self._known, self._path, raw, self._maybe)
            if self._redirect:
                self._target = text
                self._redirect = False
            else:
                self._words.append(word)
        self._reset_word()
