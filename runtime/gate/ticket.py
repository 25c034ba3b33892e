"""What is known of one request: made by the outermost of our classes, read and completed by the others."""

import itertools
import os
import time
from typing import Any

from interlock.runtime.asgi import Message, Receive, Scope, Send
from interlock.runtime.gate.body import Asked, read
from interlock.runtime.gate.routes import route_of
from interlock.runtime.gate.usage import Usage, events, stated

PLACE = "interlock"
"""Where it lies in the scope."""
REQUEST_ID = b"x-request-id"
LONGEST_ID = 64
_process = [os.urandom(6).hex()]
_count = itertools.count()
os.register_at_fork(after_in_child=lambda: _process.__setitem__(0, os.urandom(6).hex()))
SWITCHED, REJECTED = 101, 403
"""Statuses of a WebSocket that was opened, and of one that was not (ASGI: closed before it is accepted)."""
READ_MOST = 1 << 20
"""Bytes of a whole answer in whose end `usage` is looked for."""


class TooLargeError(Exception):
    """The body has more bytes than are allowed."""


class GoneError(Exception):
    """The client left before its body was whole."""


class Ticket:
    """One request. ``heard``: its body came to its end, so nothing more is waited for. ``id``: ours, under which the engine knows it
    too; a client's own id could be another request's. ``heads``: the client's headers, of equal names the first."""

    client_id = tenant = kind = model = refused = ""
    body: bytes | None = None
    heard = False
    asked: Asked | None = None
    answer: "Answer | None" = None
    usage: Usage | None = None
    queued = -1.0
    priority: int | None = None
    replayed: Receive | None = None

    def __init__(self, scope: Scope) -> None:
        self.began = time.monotonic()
        self.id = f"{_process[0]}{next(_count):012x}"
        self.route = route_of(scope)
        headers = scope["headers"]
        self.heads: dict[bytes, bytes] = dict(reversed(headers))
        if REQUEST_ID in self.heads:
            self.client_id = self.heads[REQUEST_ID][:LONGEST_ID].decode("latin-1")
            headers = [each for each in headers if each[0] != REQUEST_ID]
        scope["headers"] = [*headers, (REQUEST_ID, self.id.encode())]
        scope[PLACE] = self

    async def read(self, receive: Receive, most: int) -> bytes:
        """The whole body. Raises TooLargeError and GoneError."""
        if self.body is not None:
            return self.body
        message = await receive()
        parts, size = [message.get("body", b"")], 0
        while True:
            if message["type"] != "http.request":
                raise GoneError
            size += len(parts[-1])
            self.heard = not message.get("more_body", False)
            if size > most:
                raise TooLargeError
            if self.heard:
                break
            message = await receive()
            parts.append(message.get("body", b""))
        self.body = parts[0] if len(parts) == 1 else b"".join(parts)
        return self.body

    def parse(self) -> Asked | None:
        """What the body says; None when it is not a JSON object (the application refuses it then)."""
        if self.asked is None and self.body:
            self.asked = read(self.body)
        return self.asked

    def replay(self, receive: Receive) -> Receive:
        """``receive`` for the application, when the body was read here: first the body as it then is, afterwards what the client sends."""
        if self.body is None:
            return receive
        if self.replayed is None:
            given = False

            async def again() -> Message:
                nonlocal given
                if given:
                    return await receive()
                given = True
                return {"type": "http.request", "body": self.body, "more_body": False}

            self.replayed = again
        return self.replayed

    def used(self) -> Usage:
        """Tokens, once the answer is over; the same for everybody who asks."""
        if self.usage is None:
            self.usage = self.answer.tokens() if self.answer else Usage()
        return self.usage

    def watch(self, send: Send) -> Send:
        """``send`` through which the answer is looked at, once for all classes."""
        if self.answer is not None:
            return send
        self.answer = Answer(send, self)
        return self.answer.say


def ticket_of(scope: Scope) -> Ticket:
    """The request's ticket, made where there is none."""
    found = scope.get(PLACE)
    return found if isinstance(found, Ticket) else Ticket(scope)


class Answer:
    """What was sent: status, the moment of the first byte, tokens. Passes everything on as it is, but for our id in a header."""

    __slots__ = ("ended", "events", "first", "send", "status", "stream", "ticket", "usage")

    def __init__(self, send: Send, ticket: Ticket) -> None:
        self.send, self.ticket = send, ticket
        self.status, self.first, self.events = 0, -1.0, 0
        self.stream = self.ended = False
        self.usage = Usage()

    async def say(self, message: Message) -> None:
        """Passes on a message of the answer."""
        kind = message["type"]
        if kind == "http.response.body":
            self.look(message.get("body", b""))
            self.ended = not message.get("more_body", False)
        elif kind == "http.response.start":
            self.status = message["status"]
            headers = [*message.get("headers", ()), (REQUEST_ID, self.ticket.id.encode())]
            self.stream = dict(headers).get(b"content-type", b"").startswith(b"text/event-stream")
            message = {**message, "headers": headers}
        elif kind == "websocket.accept":
            self.status = SWITCHED
        elif kind == "websocket.close":
            self.status, self.ended = self.status or REJECTED, True
        await self.send(message)

    def look(self, data: bytes) -> None:
        """Counts."""
        if not data:
            return
        if self.first < 0:
            self.first = time.monotonic() - self.ticket.began
        if self.stream:
            self.events += events(data)
        found = stated(data[-READ_MOST:])
        if found:
            usage = self.usage
            usage.prompt, usage.completion, usage.counted = max(usage.prompt, found[0]), max(usage.completion, found[1]), "usage"

    def tokens(self) -> Usage:
        """What is known in the end: what the engine told, else what the answer says, else as many tokens as there were events."""
        told = FINISHED.pop(self.ticket.id, None)
        usage = self.usage
        if told is not None:
            usage.prompt, usage.completion, usage.counted = told[0], told[1], "engine"
            self.ticket.queued = told[2]
        elif self.events > usage.completion and not (usage.counted and self.ended):  # a stream that was cut has not told all
            usage.completion, usage.counted = self.events, "events"
        return usage


FINISHED: dict[str, list[Any]] = {}
"""[prompt tokens, completion tokens, seconds in the queue] by the id of a request that is being answered, from the engine's statistics."""
