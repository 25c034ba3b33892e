"""The engine's argument parser, as far as a manifest shows: flags, positionals, and text that the parser cannot take.

Mirrors vLLM's FlexibleArgumentParser (vllm/utils/argparse_utils.py): underscores for dashes, ``--flag=value`` and ``--flag value``,
short options of several letters, ``--no-`` switches, dotted JSON (``--speculative-config.method ngram``), repeated flags.
"""

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from interlock.infra.catalog.vllm_tables import vllm_names
from interlock.infra.engine.flags import Shape, shape
from interlock.infra.engine.words import Word, templated
from interlock.infra.facts import ArgProblem, Fact, Flag, known, unknown

_OPTION = re.compile(r"^--[A-Za-z][\w.+-]*(=|$)")
_SPACED = re.compile(r"^--?[A-Za-z][\w.-]*\s+\S|^--?[A-Za-z][\w.-]*=\S*\s+--[a-z]", re.DOTALL)
_NUMBER = re.compile(r"^-\d+(\.\d+)?$|^-$")
_FOREIGN_DASH = ("–", "—", "−")
_CONDITION = "set under a condition of the script"
_BARE = re.compile(r"^[a-z]+([-_][a-z]+)+=")


@dataclass(slots=True)
class Arguments:
    """What was read, in order."""

    flags: list[Flag] = field(default_factory=list)
    positionals: list[Word] = field(default_factory=list)
    problems: list[ArgProblem] = field(default_factory=list)
    complete: bool = True


def read_arguments(words: Sequence[Word], *, split: bool = False) -> Arguments:
    """Reads the words after the command. ``split``: list items may hold several words (charts and operators that join them)."""
    result = Arguments()
    _Reader(_prepare(words, result, split), result).read()
    lost = [word for word in result.positionals if not word.known]
    named = len(result.positionals) > 1 or any(flag.name == "model" for flag in result.flags)
    # A word that cannot be read is the model where nothing else is, and may else be any flag.
    result.complete &= not (lost and named)
    result.flags = _merge_dotted(result.flags)
    _repeated(result)
    _two_models(result)
    return result


def read_line(argv: Sequence[str]) -> Arguments:
    """Reads a plain argument vector, as ``ServeArgs.to_argv`` writes it."""
    return read_arguments([Word(text) for text in argv])


def _joined(word: Word) -> bool:
    """Whether one list item holds a flag and its value; JSON and templates after ``=`` may hold anything."""
    text = word.text
    if not word.known or len(text) > 20_000 or not _SPACED.match(text):
        return False
    return not ("{" in text and "=" in text.split()[0])


def _prepare(words: Sequence[Word], result: Arguments, split: bool) -> list[Word]:
    """Takes apart list items that hold a flag and its value in one text, which no parser accepts."""
    queue: list[Word] = []
    for word in words:
        if not _joined(word):
            queue.append(word)
            continue
        try:
            pieces = shlex.split(word.text)
        except ValueError:
            pieces = word.text.split()
        if not split and not templated(word.text):
            text = f"{word.text[:80]!r} is one argument: flag and value in one list item reach the parser as one word"
            result.problems.append(ArgProblem("broken-arg", text, word.path))
        queue.extend(Word(piece, path=word.path, raw=word.text) for piece in pieces)
    return queue


class _Reader:
    """Walks the words once, as the parser does."""

    def __init__(self, queue: Sequence[Word], result: Arguments) -> None:
        self._queue = queue
        self._result = result
        self._at = 0
        self._lost = False
        """A word could not be read that may have been a flag: what follows it may be its value."""

    def read(self) -> None:
        while self._at < len(self._queue):
            word = self._queue[self._at]
            self._at += 1
            if word.maybe:
                self._conditional(word)
            elif word.many and not word.known and not word.text.startswith("-"):
                self._result.complete = False
            elif word.text == "--" and word.known:
                following = self._queue[self._at].text if self._at < len(self._queue) else ""
                self._problem("broken-arg", f"'--' stands alone before {following[:60]!r}: what follows is not a flag", word)
            elif _OPTION.match(word.text):
                self._long(word)
            elif word.text.startswith("--"):
                self._apart(word)
            elif word.text.startswith("-") and not _NUMBER.match(word.text):
                self._short(word)
            else:
                self._positional(word)

    def _apart(self, word: Word) -> None:
        """``-- name=value`` or ``-- name``: no option, but what was meant is still worth judging."""
        self._problem("broken-arg", f"{word.text[:80]!r} is not an option: the name must follow the dashes", word)
        name, equals, text = word.text.strip("- ").partition("=")
        if equals:
            self._flag(shape("--" + name).name, known(text, word.path), word.text, word)
        else:
            self._value(word, shape("--" + name), "")

    def _conditional(self, word: Word) -> None:
        """A word under a condition: the flag it names may or may not be given; values of such flags are skipped."""
        if word.text.startswith("-") and not _NUMBER.match(word.text):
            name = shape(word.text.partition("=")[0].partition(".")[0]).name
            self._flag(name, unknown(word.path, _CONDITION), word.text, word)
        elif not word.known:
            self._result.complete = False

    def _problem(self, kind: str, text: str, word: Word) -> None:
        self._result.problems.append(ArgProblem(kind, text, word.path))

    def _flag(self, name: str, value: Fact[str], raw: str, word: Word) -> None:
        self._result.flags.append(Flag(name, value, raw, word.path))

    def _long(self, word: Word) -> None:
        key, equals, text = word.text[2:].partition("=")
        head, dot, tail = key.partition(".")
        form = shape("--" + head)
        dotted = f".{tail}" if dot else ""
        if not equals:
            self._value(word, form, dotted)
            return
        value = known(text, word.path) if word.known else unknown(word.path, f"depends on {(word.raw or word.text)[:120]}")
        self._flag(form.name + dotted, value, word.text, word)

    def _value(self, word: Word, form: Shape, dotted: str) -> None:
        name = form.name + dotted
        if not (form.takes_value or dotted) or self._at_option() or self._queue[self._at].maybe:
            self._flag(name, known("false" if form.negated else "true", word.path), word.text, word)
            return
        taken = [self._queue[self._at]]
        self._at += 1
        while form.takes_many and not self._at_option() and not self._queue[self._at].maybe:
            taken.append(self._queue[self._at])
            self._at += 1
        text = " ".join(part.text for part in taken)
        path = taken[0].path or word.path
        lost = next((part for part in taken if not part.known), None)
        value = known(text, path) if lost is None else unknown(path, f"depends on {(lost.raw or text)[:120]}")
        self._flag(name, value, f"{word.text} {text}", word)

    def _at_option(self) -> bool:
        """Whether no value follows: the words end, or the next one is an option of its own."""
        if self._at >= len(self._queue):
            return True
        text = self._queue[self._at].text
        return text.startswith("-") and len(text) > 1 and not _NUMBER.match(text)

    def _short(self, word: Word) -> None:
        body, equals, text = word.text[1:].partition("=")
        head, dot, tail = body.partition(".")
        form, glued = _short_form(head)
        if not body and not word.known:
            self._result.complete = False
            return
        if form is None:
            self._problem("broken-arg", f"{word.text[:80]!r} has one dash; the parser reads a bundle of short options", word)
            form = shape("--" + head)
        dotted = f".{tail}" if dot else ""
        if equals or glued:
            value = known(text if equals else glued, word.path) if word.known else unknown(word.path, "its value cannot be read")
            self._flag(form.name + dotted, value, word.text, word)
            return
        self._value(word, form, dotted)

    def _positional(self, word: Word) -> None:
        text = word.text
        if word.known and text.startswith(_FOREIGN_DASH):
            self._problem("broken-arg", f"{text[:80]!r} starts with a typographic dash, not with --", word)
        elif word.known and text.lower() in ("true", "false"):
            self._switch_value(word)
        elif self._lost and word.known:
            self._lost = False
        elif self._result.positionals and word.known and text:
            self._problem("broken-arg", f"{text[:80]!r} belongs to no flag: the parser refuses it as unrecognized", word)
        elif word.known and _BARE.match(text):
            self._problem("broken-arg", f"{text[:80]!r} lacks its leading dashes", word)
        elif text or not word.known:
            self._lost = not word.known
            self._result.positionals.append(word)

    def _switch_value(self, word: Word) -> None:
        """``--enable-x true``: a switch takes no value, so the word becomes the model (some switches of old versions took one)."""
        last = self._result.flags[-1] if self._result.flags else None
        if last and not any(span.facts["kind"] in ("optional", "value") for span in vllm_names("flags").spans.get(f"--{last.name}", ())):
            self._problem("broken-arg", f"--{last.name} takes no value: the parser takes {word.text!r} for the model", word)


def _short_form(head: str) -> tuple[Shape | None, str]:
    """The option of a short form and the digits glued to it (``-tp2``, ``-O3``); None when there is no such short form."""
    match = re.match(r"^([A-Za-z]+?)(\d*)$", head)
    if not match or head in ("h", "help"):
        return None, ""
    form = shape("-" + match.group(1))
    return (form, match.group(2)) if form.kind else (None, "")


def _merge_dotted(found: Sequence[Flag]) -> list[Flag]:
    """``--a.b c`` pieces joined to one JSON flag, as the parser does."""
    merged: dict[str, Any] = {}
    first: dict[str, Flag] = {}
    plain: list[Flag] = []
    for flag in found:
        name, dot, rest = flag.name.partition(".")
        if not dot:
            plain.append(flag)
            continue
        first.setdefault(name, flag)
        _put(merged.setdefault(name, {}), rest.split("."), _json(flag.value))
    for name, value in merged.items():
        base = next((flag for flag in plain if flag.name == name and flag.value.known), None)
        whole = {**_object(base.value.get()), **value} if base else value
        given = base or first[name]
        plain = [flag for flag in plain if flag is not base]
        plain.append(Flag(name, known(json.dumps(whole), given.path), given.raw, given.path))
    return plain


def _object(text: str) -> Mapping[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _json(value: Fact[str]) -> Any:
    if not value.known:
        return None
    try:
        return json.loads(value.get())
    except (ValueError, RecursionError):
        return value.get()


def _put(target: dict[str, Any], keys: list[str], value: Any) -> None:
    for key in keys[:-1]:
        inner = target.get(key)
        if not isinstance(inner, dict):
            inner = {}
            target[key] = inner
        target = inner
    target[keys[-1]] = value


def _two_models(result: Arguments) -> None:
    """A model before the flags and another one by ``--model``: the parser of ``vllm serve`` moves the second to the front, and the first is
    left over as unrecognized (0.11.1 to 0.33); earlier ones raise ValueError for any ``--model``, and the API server as a module serves the
    second without a word about the first (vllm/utils/argparse_utils.py, vllm/entrypoints/cli/serve.py, launchers/api_server/entry.py)."""
    first = next((word for word in result.positionals if word.known and not templated(word.text)), None)
    for flag in result.flags:
        if first is not None and flag.name == "model" and flag.value.known and flag.value.get() not in (first.text, ""):
            said = f"--model {flag.value.get()[:60]!r} names a second model beside {first.text[:60]!r}: an engine serves one"
            result.problems.append(ArgProblem("broken-arg", said, flag.path, "remove --model, or name that model in its place"))


def _repeated(result: Arguments) -> None:
    seen: set[str] = set()
    for flag in result.flags:
        if flag.value.why == _CONDITION:
            continue
        if flag.name in seen and not shape("--" + flag.name).repeatable:
            result.problems.append(ArgProblem("dup-flag", f"--{flag.name} is given twice; the last one counts", flag.path))
        seen.add(flag.name)
