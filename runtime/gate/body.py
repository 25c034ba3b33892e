"""What a request's body says to the engine, without reading all of a long one."""

import json
import re
from dataclasses import dataclass
from typing import Any

LONG = 8 << 10
"""Bytes from which the model is looked for before the body is parsed whole."""
END = 2 << 10
"""Bytes at either end of a long body in which single fields usually stand."""
USUAL_ANSWER = 256
"""Tokens of an answer whose length is not stated."""
_MODEL, _FIRST = b'"model"', re.compile(rb'\s*\{\s*"model"\s*:\s*("[^"\\]*")')
_OBJECT = re.compile(rb"\s*\{[^\0]")
"""How an object in UTF-8 begins: a form may end like one, and has its model elsewhere."""
_ESCAPED = b"\\u00"
"""How a letter of a field's name could be written otherwise."""
_ANSWER = re.compile(rb'"max_(?:completion_|output_)?tokens"\s*:\s*(\d{1,9})')
_ANSWER_BEGINS = b'"max_'


@dataclass(frozen=True, slots=True)
class Asked:
    """``model`` as it stands there: None where it is left out; anything but a text is the engine's to refuse."""

    model: Any = None
    empty: bool = False
    """Whether the object has no field."""


def read(body: bytes) -> Asked | None:
    """What the application will read; None when it is not a JSON object."""
    if len(body) >= LONG and (found := _quick(body)) is not None:
        return found
    try:
        whole = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return Asked(whole.get("model"), not whole) if isinstance(whole, dict) else None


def _quick(body: bytes) -> Asked | None:
    """The model of a long body, where it stands after all that is nested or before everything; None when that is not certain.

    What follows a field of the outermost object closes one bracket: after a field of a nested object more than one would be left. So the
    rest from there is an object by itself, and the last model of it is the last of the whole. A backslash before the word makes it the
    end of another name. One that stands first counts when the word comes never again, however it could be written.
    """
    at = body.rfind(_MODEL, len(body) - END)
    if not _OBJECT.match(body) or body[at - 1 : at] == b"\\":
        return None
    try:
        if at >= 0:
            rest = json.loads(b"{" + body[at:])
            return Asked(rest["model"]) if "model" in rest else None
        first = _FIRST.match(body)
        if first is None or body.find(_MODEL, first.start(1)) >= 0 or (b"\\" in body and _ESCAPED in body):
            return None
        return Asked(json.loads(first.group(1)))
    except (ValueError, RecursionError):
        return None


def answer_tokens(body: bytes) -> int:
    """Tokens of the answer as they are asked for: the largest number that stands under such a name near the begin or the end."""
    ends = body if len(body) <= 2 * END else body[:END] + body[-END:]
    return max(map(int, _ANSWER.findall(ends)), default=USUAL_ANSWER) if _ANSWER_BEGINS in ends else USUAL_ANSWER


def with_field(body: bytes, asked: Asked, name: bytes, value: int) -> bytes:
    """The body with that field. Of a field that stands there twice every reader takes the last, so the rest is not written anew."""
    if body[-1:] != b"}" or b"\0" in body[:4]:
        body = body.rstrip() if b"\0" not in body[:4] else json.dumps(json.loads(body)).encode()  # another encoding than UTF-8
    begin = b'"' if asked.empty else b',"'
    return b"".join((memoryview(body)[:-1], begin, name, b'":%d}' % value))
