"""A reader of shell scripts: which commands with which words, as far as they can be known without running them.

It follows quoting, line continuations, here documents, assignments, arrays and ``${NAME:-default}``; what depends on anything
else (command substitution, conditions, unset variables) becomes a word that is not known. It never raises on any text.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from interlock.infra.facts import Fact

LIMIT = 200_000
_WORD_LIMIT = 50_000
_ASSIGNMENT = re.compile(r"^([A-Za-z_]\w*)(\+?)=(.*)$", re.DOTALL)
_PARAMETER = re.compile(r"^([A-Za-z_]\w*|[@*#?0-9!-])(\[[@*]\])?(?:(:?[-=+?])(.*)|([#%/,^:].*))?$", re.DOTALL)
_NAME = re.compile(r"[A-Za-z_]\w*|[@*#?0-9!$-]")
_HEREDOC = re.compile(r"<<(-?)\s*(['\"\\]?)([A-Za-z_][\w.-]*)\2")
_OPENERS = frozenset({"if", "for", "while", "until", "case", "select"})
_CLOSERS = frozenset({"fi", "done", "esac"})
_LEADING = frozenset({"if", "then", "else", "elif", "while", "until", "do", "!", "{", "}", "time", "fi", "done", "esac", "function"})
_TESTS = frozenset({"[", "[[", "test"})
_DECLARE = frozenset({"export", "declare", "local", "readonly", "typeset"})


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


class Shell:
    """Reads one script. ``lookup`` gives the container's environment."""

    def __init__(self, text: str, lookup: Callable[[str], Fact[str]], path: str = "") -> None:
        self._text = text[:LIMIT]
        self._lookup = lookup
        self._path = path
        self._at = 0
        self._variables: dict[str, list[Word]] = {}
        self._exported: dict[str, Word] = {}
        self._depth = 0
        self._guarded = False
        self._bodies: list[tuple[str, bool]] = []
        self._reset_word()
        self._reset_command()
        self.commands: list[Command] = []

    def _reset_word(self) -> None:
        self._parts: list[str] = []
        self._open = False
        self._known = True
        self._many = False
        self._maybe = False
        self._raw: list[str] = []

    def _reset_command(self) -> None:
        self._words: list[Word] = []
        self._here = ""
        self._target = ""
        self._redirect = False

    def read(self) -> list[Command]:
        """All simple commands in order."""
        handlers = {"\\": self._escape, "'": self._single, '"': self._double, "$": self._dollar, "`": self._backtick}
        handlers |= {" ": self._end_word, "\t": self._end_word, "\r": self._end_word, "\n": self._newline, "#": self._hash}
        handlers |= dict.fromkeys(";&|)", self._end_command) | {"(": self._paren, "<": self._angle, ">": self._angle}
        while self._at < len(self._text):
            character = self._text[self._at]
            self._at += 1
            handler = handlers.get(character)
            if handler:
                handler()
            else:
                self._add(character)
        self._end_command()
        return self.commands

    # --- words -----------------------------------------------------------------------------------------------------

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
            self._unknown(self._text[start : self._at], many=not quoted)
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
        inner = Shell(text, self._lookup, self._path)
        inner._variables = self._variables
        found = [word for command in inner.read() for word in command.words]
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
        inner = Shell(text, self._lookup, self._path)
        inner._variables = self._variables
        words = [word for command in inner.read() for word in command.words]
        return [Word(" ".join(word.text for word in words), all(word.known for word in words))] if words else []

    def _insert(self, word: Word, raw: str, quoted: bool) -> None:
        self._maybe |= word.maybe
        if not word.known:
            self._unknown(raw, many=word.many and not quoted)
            self._parts.append(word.text)
        elif quoted or not any(space in word.text for space in " \t\n") or len(word.text) > _WORD_LIMIT:
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
            text = "".join(self._parts)[:_WORD_LIMIT]
            raw = "".join(self._raw)[:_WORD_LIMIT]
            word = Word(text, self._known, self._many and not self._known, self._path, raw, self._maybe)
            if self._redirect:
                self._target = text
                self._redirect = False
            else:
                self._words.append(word)
        self._reset_word()

    # --- commands --------------------------------------------------------------------------------------------------

    def _hash(self) -> None:
        if self._open:
            self._add("#")
            return
        end = self._text.find("\n", self._at)
        self._at = len(self._text) if end < 0 else end

    def _paren(self) -> None:
        name = "".join(self._parts)
        if self._open and _ASSIGNMENT.match(name) and name.endswith("="):
            self._array(name)
        else:
            self._end_command()

    def _array(self, name: str) -> None:
        end = self._at
        self._at -= 1
        close = self._closing("(", ")")
        inner = Shell(self._text[end : close - 1], self._lookup, self._path)
        inner._variables = self._variables
        words = [word for command in inner.read() for word in command.words]
        key = name.rstrip("+=")
        earlier = self._variables.get(key, []) if "+=" in name else []
        self._assign(key, [*earlier, *words][:2000])
        self._at = close
        self._reset_word()

    def _angle(self) -> None:
        match = _HEREDOC.match(self._text, self._at - 1)
        if match:
            self._at = match.end()
            self._bodies.append((match.group(3), bool(match.group(1))))
            self._reset_word() if "".join(self._parts).isdigit() else self._end_word()
            return
        if self._open and "".join(self._parts).isdigit():
            self._reset_word()
        self._end_word()
        while self._text[self._at : self._at + 1] in tuple("<>&|"):
            self._at += 1
        self._redirect = True

    def _newline(self) -> None:
        for mark, dashed in self._bodies:
            body: list[str] = []
            while self._at < len(self._text):
                end = self._text.find("\n", self._at)
                end = len(self._text) if end < 0 else end
                line = self._text[self._at : end]
                self._at = end + 1
                if (line.lstrip("\t") if dashed else line).rstrip("\r") == mark:
                    break
                body.append(line)
            self._here = "\n".join(body)
        self._bodies = []
        self._end_command()

    def _end_command(self) -> None:
        self._end_word()
        separator = self._text[self._at - 1 : self._at + 1]
        words = self._words
        while words and words[0].known and words[0].text in _LEADING | _OPENERS:
            self._depth += (words[0].text in _OPENERS) - (words[0].text in _CLOSERS and self._depth > 0)
            words = words[1:]
        assigned = self._assignments(words)
        if len(assigned) < len(words):
            self._finish(words[len(assigned) :], dict(assigned))
        else:
            for name, word in assigned:
                self._assign(name, [word])
        if words or separator == "||":
            self._guarded = separator == "||" or (separator == "&&" and bool(words) and words[0].text in _TESTS)
        self._reset_command()

    def _assignments(self, words: list[Word]) -> list[tuple[str, Word]]:
        found: list[tuple[str, Word]] = []
        for word in words:
            match = _ASSIGNMENT.match(word.text)
            if not match:
                break
            name, plus, text = match.groups()
            earlier = self._variables.get(name, []) if plus else []
            text = (earlier[0].text if earlier else "") + text
            known = word.known and all(part.known for part in earlier)
            found.append((name, Word(text[:_WORD_LIMIT], known, not known, word.path)))
        return found

    def _assign(self, name: str, words: list[Word]) -> None:
        if self._depth or self._guarded:
            words = self._conditional(self._variables.get(name, []), words)
        self._variables[name] = words
        if len(words) == 1:
            self._exported[name] = words[0]

    def _conditional(self, earlier: list[Word], words: list[Word]) -> list[Word]:
        """What a condition appends may be missing and what stood before stays; what it replaces is not known."""
        text, before = (part[0].text if part else "" for part in (words, earlier))
        if len(words) == 1 and len(earlier) == 1 and before and text.startswith(before) and words[0].known:
            words = [earlier[0], *(Word(piece, path=self._path) for piece in text[len(before) :].split())]
        if words[: len(earlier)] != earlier:
            return [Word("", known=False, many=True, path=self._path)]
        return [*earlier, *(replace(word, maybe=True) for word in words[len(earlier) :])]

    def _finish(self, words: list[Word], assigned: dict[str, Word]) -> None:
        if words[0].text in _DECLARE:
            for name, word in self._assignments([word for word in words[1:] if not word.text.startswith("-")]):
                self._assign(name, [word])
            return
        if words[0].text == "read" or (words[0].text == "unset" and len(words) > 1):
            self._variables.pop(words[-1].text, None)
        environment = {**self._exported, **assigned}
        self.commands.append(Command(tuple(words), environment, self._depth > 0, self._here, self._target))
