"""The words of a shell script: quoting, continuations, variables, as far as they can be known without running anything."""

import ast
import re
from collections.abc import Callable
from dataclasses import replace

from interlock.infra.engine.words import Word
from interlock.infra.facts import Fact

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


class WordReader:
    """Reads the words of a script from its cursor on; what a word means for a command is the business of the shell reader.

    ``lookup`` gives the container's environment, ``variables`` those that the script has set so far, and ``inner`` the words of a text
    that stands inside the script.
    """

    def __init__(
        self,
        text: str,
        lookup: Callable[[str], Fact[str]],
        path: str,
        variables: dict[str, list[Word]],
        inner: Callable[[str], list[Word]],
    ) -> None:
        self.text = text[:LIMIT]
        self.at = 0
        self.words: list[Word] = []
        self.target = ""
        self.redirect = False
        self._lookup = lookup
        self._path = path
        self._variables = variables
        self._inner = inner
        self.reset_word()

    def following(self, count: int = 1) -> str:
        """The next characters, without moving the cursor."""
        return self.text[self.at : self.at + count]

    def reset_word(self) -> None:
        """Forgets the word that is being read."""
        self.parts: list[str] = []
        self.open = False
        self._known = True
        self._many = False
        self._maybe = False
        self._raw: list[str] = []

    def add(self, text: str, raw: str | None = None) -> None:
        """Appends to the word that is being read; ``raw`` is how it is written."""
        self.open = True
        self.parts.append(text)
        self._raw.append(text if raw is None else raw)

    def escape(self) -> None:
        """What follows a backslash."""
        following = self.following()
        self.at += 1
        if following == "\r" and self.following() == "\n":
            self.at += 1
        elif following != "\n":
            self.add(following)

    def single(self) -> None:
        """The rest of a single-quoted text."""
        end = self.text.find("'", self.at)
        end = len(self.text) if end < 0 else end
        self.add(self.text[self.at : end])
        self.at = end + 1

    def double(self) -> None:
        """The rest of a double-quoted text."""
        self.add("")
        while self.at < len(self.text):
            character = self.text[self.at]
            self.at += 1
            if character == '"':
                return
            if character == "\\":
                following = self.following()
                self.at += 1
                self.add("" if following == "\n" else following if following in '"\\$`' else "\\" + following)
            elif character == "$":
                self.dollar(quoted=True)
            elif character == "`":
                self.backtick()
            else:
                self.add(character)

    def backtick(self) -> None:
        """The rest of a command substitution."""
        end = self.text.find("`", self.at)
        end = len(self.text) if end < 0 else end
        self._unknown(self.text[self.at - 1 : end + 1], many=False)
        self.at = end + 1

    def _unknown(self, raw: str, *, many: bool) -> None:
        self.add("", raw)
        self._known = False
        self._many |= many

    def dollar(self, *, quoted: bool = False) -> None:
        """What follows a dollar: a variable, an expression, a command substitution."""
        start = self.at - 1
        following = self.following()
        if following == "(":
            self.at = self.closing("(", ")")
            text = self.text[start : self.at]
            result = self._computed(text[3:-2]) if text.startswith("$((") else None
            self.add(str(result), text) if result is not None else self._unknown(text, many=not quoted)
        elif following == "{":
            self.at = self.closing("{", "}")
            self._parameter(self.text[start + 2 : self.at - 1], self.text[start : self.at], quoted)
        elif following == "'" and not quoted:
            self.at += 1
            self.single()
        elif match := _NAME.match(self.text, self.at):
            self.at = match.end()
            self._parameter(match.group(0), self.text[start : self.at], quoted)
        else:
            self.add("$")

    def _computed(self, text: str) -> int | None:
        """The value of an arithmetic expression over known whole numbers; None when it cannot be told."""
        names = {name: self._value(name) for name in _ARITHMETIC_NAME.findall(text)}
        if not all(words and len(words) == 1 and words[0].known and words[0].text.isdigit() for words in names.values()):
            return None
        plain = _ARITHMETIC_NAME.sub(lambda match: (names[match.group(1)] or [Word("0")])[0].text, text)
        return arithmetic(plain)

    def closing(self, opening: str, closing: str) -> int:
        """The index after the bracket that closes the one at the cursor."""
        depth = 0
        for index in range(self.at, len(self.text)):
            depth += (self.text[index] == opening) - (self.text[index] == closing)
            if depth == 0:
                return index + 1
        return len(self.text)

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
            self.parts.append(word.text)
        elif quoted or not any(space in word.text for space in " \t\n") or len(word.text) > WORD_LIMIT:
            self.add(word.text, raw)
        else:
            pieces = word.text.split()
            for piece in pieces[:-1]:
                self.add(piece, raw)
                self.end_word()
            self.add(pieces[-1] if pieces else "", raw)

    def _spread(self, words: list[Word], raw: str, *, quoted: bool = True) -> None:
        for index, word in enumerate(words):
            if index:
                self.end_word()
            self._insert(word, raw, quoted=quoted)
            self._many |= word.many

    def end_word(self) -> None:
        """Closes the word that is being read, if there is one."""
        if self.open:
            text = "".join(self.parts)[:WORD_LIMIT]
            raw = "".join(self._raw)[:WORD_LIMIT]
            word = Word(text, self._known, self._many and not self._known, self._path, raw, self._maybe)
            if self.redirect:
                self.target = text
                self.redirect = False
            else:
                self.words.append(word)
        self.reset_word()
