"""A reader of shell scripts: which commands with which words, as far as they can be known without running them.

It follows quoting, line continuations, here documents, assignments, arrays and ``${NAME:-default}``; what depends on anything
else (command substitution, conditions, unset variables) becomes a word that is not known. It never raises on any text.
"""

import re
from collections.abc import Callable
from dataclasses import replace

from interlock.infra.engine.words import Command, Word
from interlock.infra.facts import Fact
from interlock.infra.recognise.expansion import WORD_LIMIT, WordReader

_ASSIGNMENT = re.compile(r"^([A-Za-z_]\w*)(\+?)=(.*)$", re.DOTALL)
_HEREDOC = re.compile(r"<<(-?)\s*(['\"\\]?)([A-Za-z_][\w.-]*)\2")
_OPENERS = frozenset({"if", "for", "while", "until", "case", "select"})
_CLOSERS = frozenset({"fi", "done", "esac"})
_LEADING = frozenset({"if", "then", "else", "elif", "while", "until", "do", "!", "{", "}", "time", "fi", "done", "esac", "function"})
_TESTS = frozenset({"[", "[[", "test"})
_DECLARE = frozenset({"export", "declare", "local", "readonly", "typeset"})


class Shell:
    """Reads one script. ``lookup`` gives the container's environment, ``variables`` those of the script around it."""

    def __init__(
        self, text: str, lookup: Callable[[str], Fact[str]], path: str = "", variables: dict[str, list[Word]] | None = None
    ) -> None:
        self._lookup = lookup
        self._path = path
        self._variables: dict[str, list[Word]] = {} if variables is None else variables
        self._reader = WordReader(text, lookup, path, self._variables, self._inner)
        self._exported: dict[str, Word] = {}
        self._depth = 0
        self._guarded = False
        self._bodies: list[tuple[str, bool]] = []
        self._here = ""
        self.commands: list[Command] = []

    def _inner(self, text: str) -> list[Word]:
        """The words of a text inside this script, with its variables."""
        inner = Shell(text, self._lookup, self._path, self._variables)
        return [word for command in inner.read() for word in command.words]

    def _reset_command(self) -> None:
        self._reader.words = []
        self._here = ""
        self._reader.target = ""
        self._reader.redirect = False

    def read(self) -> list[Command]:
        """All simple commands in order."""
        reader = self._reader
        handlers = {"\\": reader.escape, "'": reader.single, '"': reader.double, "$": reader.dollar, "`": reader.backtick}
        handlers |= {" ": reader.end_word, "\t": reader.end_word, "\r": reader.end_word, "\n": self._newline, "#": self._hash}
        handlers |= dict.fromkeys(";&|)", self._end_command) | {"(": self._paren, "<": self._angle, ">": self._angle}
        while reader.at < len(reader.text):
            character = reader.text[reader.at]
            reader.at += 1
            handler = handlers.get(character)
            if handler:
                handler()
            else:
                reader.add(character)
        self._end_command()
        return self.commands

    def _hash(self) -> None:
        if self._reader.open:
            self._reader.add("#")
            return
        end = self._reader.text.find("\n", self._reader.at)
        self._reader.at = len(self._reader.text) if end < 0 else end

    def _paren(self) -> None:
        name = "".join(self._reader.parts)
        if self._reader.open and _ASSIGNMENT.match(name) and name.endswith("="):
            self._array(name)
        else:
            self._end_command()

    def _array(self, name: str) -> None:
        end = self._reader.at
        self._reader.at -= 1
        close = self._reader.closing("(", ")")
        words = self._inner(self._reader.text[end : close - 1])
        key = name.rstrip("+=")
        earlier = self._variables.get(key, []) if "+=" in name else []
        self._assign(key, [*earlier, *words][:2000])
        self._reader.at = close
        self._reader.reset_word()

    def _angle(self) -> None:
        match = _HEREDOC.match(self._reader.text, self._reader.at - 1)
        if match:
            self._reader.at = match.end()
            self._bodies.append((match.group(3), bool(match.group(1))))
            self._reader.reset_word() if "".join(self._reader.parts).isdigit() else self._reader.end_word()
            return
        if self._reader.open and "".join(self._reader.parts).isdigit():
            self._reader.reset_word()
        self._reader.end_word()
        while self._reader.following() in tuple("<>&|"):
            self._reader.at += 1
        self._reader.redirect = True

    def _newline(self) -> None:
        for mark, dashed in self._bodies:
            body: list[str] = []
            while self._reader.at < len(self._reader.text):
                end = self._reader.text.find("\n", self._reader.at)
                end = len(self._reader.text) if end < 0 else end
                line = self._reader.text[self._reader.at : end]
                self._reader.at = end + 1
                if (line.lstrip("\t") if dashed else line).rstrip("\r") == mark:
                    break
                body.append(line)
            self._here = "\n".join(body)
        self._bodies = []
        self._end_command()

    def _end_command(self) -> None:
        self._reader.end_word()
        separator = self._reader.text[self._reader.at - 1 : self._reader.at + 1]
        words = self._reader.words
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
        self.commands.append(Command(tuple(words), environment, self._depth > 0, self._here, self._reader.target))
