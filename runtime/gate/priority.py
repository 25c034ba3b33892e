"""Order: ``--middleware interlock.runtime.gate.priority.Priority``, for an engine with ``--scheduling-policy priority``.

A request's priority is a virtual deadline: when it came, and patience for what it will cost, by the class of its tenant. vLLM takes the
smallest number first and never changes it, so nobody starves: whoever comes after a request's deadline is behind it. What a client itself
writes is replaced, in the header and in the body, on every route that reads either.
"""

import os
import time
from collections.abc import Callable

from interlock.runtime.asgi import App, Receive, Scope, Send
from interlock.runtime.gate.access import CLASSES
from interlock.runtime.gate.body import answer_tokens, with_field
from interlock.runtime.gate.refusals import refuse, unread
from interlock.runtime.gate.ticket import Ticket, ticket_of
from interlock.runtime.gate.usage import estimate
from interlock.runtime.gate.watched import files
from interlock.runtime.spec import load

HEADER = b"x-vllm-priority"
"""Read since vLLM 0.27 by completions, chat and responses, before the body's field (vllm/entrypoints/generate/base/serving.py)."""
BY_HEADER = frozenset({"/v1/messages", "/cohere/v2/chat"})
"""Routes whose body has no such field."""
BY_BODY = frozenset(
    {
        "/v1/completions", "/v1/chat/completions", "/v1/chat/completions/batch", "/v1/responses", "/v1/embeddings", "/v2/embed", "/pooling",
        "/classify", "/score", "/v1/score", "/rerank", "/v1/rerank", "/v2/rerank", "/generative_scoring", "/inference/v1/generate",
        "/invocations", "/v1/systemone", "/v1/decisions",
    }
)  # fmt: skip
ORDERED = BY_BODY | BY_HEADER
LENGTH = b"content-length"
MOST_ANSWER = 32_768
"""Tokens that a stated answer counts at most."""


def deadline(came: float, kind: str, prompt: int, answer: int) -> int:
    """The priority in milliseconds: ``came`` (seconds of a clock that never goes back) and the patience for all tokens."""
    return int(came * 1000) + CLASSES.get(kind, CLASSES["standard"]) * (prompt + min(max(answer, 0), MOST_ANSWER))


class Priority:
    """Sets it."""

    def __init__(self, app: App, folder: str = "", clock: Callable[[], float] = time.monotonic) -> None:
        self.app, self.clock = app, clock
        self.files = files(folder or load(os.environ).access)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes a request on with its deadline."""
        if scope["type"] != "http" or scope["method"] != "POST":
            return await self.app(scope, receive, send)
        ticket = ticket_of(scope)
        if ticket.route not in ORDERED:  # nothing to read: some of these answer whoever asks
            scope["headers"] = [each for each in scope["headers"] if each[0] != HEADER]
            return await self.app(scope, receive, send)
        if ticket.body is None and (refusal := await unread(ticket, receive, self.files.policy.most_body)):
            return await refuse(ticket, refusal, scope, receive, send)
        self.order(ticket, scope)
        return await self.app(scope, ticket.replay(receive), send)

    def order(self, ticket: Ticket, scope: Scope) -> None:
        """Writes the priority where the route reads it."""
        asked, body = ticket.parse(), ticket.body or b""
        ticket.priority = deadline(self.clock(), ticket.kind, estimate(len(body)), answer_tokens(body))
        stated = {HEADER: b"%d" % ticket.priority}
        if ticket.route in BY_BODY and asked is not None:
            ticket.body = with_field(body, asked, b"priority", ticket.priority)
            if LENGTH in ticket.heads:  # a body in chunks has none
                stated[LENGTH] = b"%d" % len(ticket.body)
        scope["headers"] = [each for each in scope["headers"] if each[0] not in stated] + list(stated.items())
