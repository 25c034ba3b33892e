"""What an answer says of its tokens, without parsing what was written."""

import json
from dataclasses import dataclass

_DECODER = json.JSONDecoder()
_USAGE = b'"usage":'
BYTES_PER_TOKEN = 4
"""Of a prompt whose tokens nobody has counted: text in English has about so many."""


@dataclass(slots=True)
class Usage:
    """Tokens of one request, and who counted them: the engine, the answer's own `usage`, or its events (nothing else is known of it)."""

    prompt: int = 0
    completion: int = 0
    counted: str = ""


def stated(data: bytes) -> tuple[int, int] | None:
    """(prompt, completion) of the last `usage` object in a piece of an answer; None without one. Within a text quotes are escaped."""
    at = data.rfind(_USAGE)
    if at < 0:
        return None
    try:
        found, _ = _DECODER.raw_decode(data[at + len(_USAGE) :].decode("utf-8", "replace").lstrip())
    except ValueError:
        return None
    if not isinstance(found, dict):
        return None
    prompt = found.get("prompt_tokens", found.get("input_tokens"))
    completion = found.get("completion_tokens", found.get("output_tokens"))
    return prompt if isinstance(prompt, int) else 0, completion if isinstance(completion, int) else 0


def events(data: bytes) -> int:
    """Events of a stream that carry something which was written; the first of a chat says only whose turn it is.

    Where events have names (messages, responses), those count that end in "delta"; one at the end of a message tells its usage.
    """
    if b"event: " in data:
        return data.count(b"delta\ndata: {") - data.count(b"event: message_delta\n")
    return data.count(b"data: {") - data.count(b'"delta":{"role":') - data.count(b'"choices":[]')


def estimate(body: int) -> int:
    """Tokens of a prompt by the bytes of its request, at least one."""
    return max(body // BYTES_PER_TOKEN, 1)
