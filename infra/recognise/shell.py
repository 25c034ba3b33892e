"""A reader of shell scripts: which commands with which words, as far as they can be known without running them.

It follows quoting, line continuations, here documents, assignments, arrays and ``${NAME:-default}``; what depends on anything
else (command substitution, conditions, unset variables) becomes a word that is not known. It never raises on any text.
"""

import re
from collections.abc import Callable
from dataclasses import replace

from interlock.infra.facts import Fact
from interlock.infra.recognise.expansion import WORD_LIMIT, Expansion
from interlock.infra.recognise.words import Command, Word

_ASSIGNMENT = re.compile(r"^([A-Za-z_]\w*)(\+?)=(.*)$", re.DOTALL)
_HEREDOC = re.compile(r"<<(-?)\s*(['\"\\]?)([A-Za-z_][\w.-]*)\2")
_OPENERS = frozenset({"if", "for", "while", "until", "case", "select"})
_CLOSERS = frozenset({"fi", "done", "esac"})
_LEADING = frozenset({"if", "then", "else", "elif", "while", "until", "do", "!", "{", "}", "time", "fi", "done", "esac", "function"})
_TESTS = frozenset({"[", "[[", "test"})
_DECLARE = frozenset({"export", "declare", "local", "readonly", "typeset"})


class Shell(Expansion):
    """Reads one script. ``lookup`` gives the container's environment."""

    def __init__(self, text: str, lookup: Callable[[str], Fact[str]], path: str = "") -> None:
        super().__init__(text, lookup, path)
        self._exported: dict[str, Word] = {}
        self._depth = 0
        self._guarded = False
        self._bodies: list[tuple[str, bool]] = []
        self._here = ""
        self.commands: list[Command] = []

    def _reset_command(self) -> None:
        self._words = []
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
        words = self._inner(self._text[end : close - 1])
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
            found.append((name, Word(text[:WORD_LIMIT], known, not known, word.path)))
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
