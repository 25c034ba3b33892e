"""What the middleware of this room share: the types of ASGI, and how a request is answered without the application."""

import json
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any

Message = MutableMapping[str, Any]
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
Header = tuple[bytes, bytes]

MOST_DISCARDED = 64 << 20
"""Bytes of a refused body that are read: a client whose body is left unread gets a reset instead of the answer."""


async def discard(receive: Receive, most: int = MOST_DISCARDED) -> bool:
    """Reads the rest of a request's body, at most ``most`` bytes of it; False when the client has left."""
    seen, more = 0, True
    while more and seen < most:
        message = await receive()
        if message["type"] != "http.request":
            return False
        seen += len(message.get("body", b""))
        more = message.get("more_body", False)
    return True


async def answer(send: Send, status: int, body: bytes, headers: Iterable[Header] = ()) -> None:
    """A whole answer in JSON."""
    fixed = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": [*fixed, *headers]})
    await send({"type": "http.response.body", "body": body})


def error(message: str, kind: str, code: str) -> bytes:
    """An error in OpenAI's form."""
    return json.dumps({"error": {"message": message, "type": kind, "param": None, "code": code}}).encode()
