"""The ASGI middleware (``--middleware interlock.runtime.front.Front``).

Counts what is in flight, and answers 503 in a drain and, to the readiness probe, until the planned adapters are there.
"""

import os

from interlock.runtime import board, page
from interlock.runtime.asgi import App, Message, Receive, Scope, Send, answer, discard
from interlock.runtime.spec import load

OPEN = ("/metrics",)
"""Answered in a drain too: they are for operators."""
READY = "/health"
ENGINE = (
    "/completions", "/chat", "/batch", "/responses", "/messages", "/generate", "/invocations", "/embeddings", "/embed",
    "/pooling", "/classify", "/score", "/rerank", "/generative_scoring", "/transcriptions", "/translations",
)  # fmt: skip
"""Ends of the paths whose requests an engine core steps for. Others (adapters, tokens, weights) say nothing about its steps."""
REJECT = 1013
"""WebSocket close code "try again later"."""


def body_of(text: str) -> bytes:
    """The OpenAI form of an error."""
    return f'{{"error":{{"message":"{text}","type":"unavailable","code":503}}}}'.encode()


class Front:
    """One per API server process; all of it runs in that process's event loop."""

    def __init__(self, app: App) -> None:
        self.app = app
        self.adapters = load(os.environ).adapters
        self.page = page.mine()
        self.control = page.control(board.folder())
        self.asked: dict[int, int] = {}  # requests without a byte of answer: when each was heard to its end
        if not self.page.words[board.WORDS["rows"]]:
            raise RuntimeError("interlock: the heartbeat did not load; VLLM_PLUGINS, where it is set, must name interlock")
        self.put("serving", 1)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Lets a request pass, counted, or refuses it."""
        if scope["type"] not in ("http", "websocket"):
            return await self.app(scope, receive, send)
        if self.draining() and scope["path"] not in OPEN:
            return await self.refuse(scope, receive, send, "this replica is shutting down; try again")
        if scope.get("method", "POST") != "POST":
            if scope["path"] == READY and (missing := self.missing(scope)):
                return await self.refuse(scope, receive, send, missing)
            return await self.app(scope, receive, send)
        exchange = Exchange(self, receive, send, scope["type"] == "http" and scope["path"].endswith(ENGINE))
        self.add("inflight", 1)
        try:
            await self.app(scope, exchange.hear, exchange.say)
        finally:
            exchange.end()
            self.add("inflight", -1)
            self.add("served", 1)

    def draining(self) -> bool:
        """Whether the supervisor has raised the flag."""
        return self.control is not None and bool(self.control[board.DRAINING])

    def put(self, field: str, value: int) -> None:
        """Writes a word of this process's page."""
        self.page.words[board.WORDS[field]] = value

    def add(self, field: str, change: int) -> None:
        """Counts."""
        self.page.words[board.WORDS[field]] += change

    def note(self) -> None:
        """Writes how many requests have no byte of answer, and since when the oldest waits."""
        self.put("oldest", next(iter(self.asked.values()), 0))
        self.put("pending", len(self.asked))

    def missing(self, scope: Scope) -> str:
        """Why the adapters that the plan names are not all there; empty when they are."""
        if not self.adapters:
            return ""
        models = getattr(getattr(scope.get("app"), "state", None), "openai_serving_models", None)
        registered = getattr(models, "lora_requests", None)
        if registered is None:
            return "the registered adapters cannot be read in this vLLM"
        absent = [name for name in self.adapters if name not in registered]
        return f"adapters not registered yet: {', '.join(absent)}" if absent else ""

    async def refuse(self, scope: Scope, receive: Receive, send: Send, text: str) -> None:
        """503 with Retry-After, and the connection closes, so that a keep-alive client comes back elsewhere."""
        if scope["type"] == "websocket":
            self.add("refused", 1)
            return await send({"type": "websocket.close", "code": REJECT})
        if scope["method"] == "POST":  # probes are no traffic
            self.add("refused", 1)
        if await discard(receive):
            await answer(send, 503, body_of(text), [(b"retry-after", b"1"), (b"connection", b"close")])
        return None


class Exchange:
    """One request and its answer, as far as they say what the engine has to do."""

    __slots__ = ("answered", "front", "heard", "judged", "receive", "send")

    def __init__(self, front: Front, receive: Receive, send: Send, judged: bool) -> None:
        self.front, self.receive, self.send, self.judged = front, receive, send, judged
        self.heard = self.answered = False

    async def hear(self) -> Message:
        """Passes on what the client sends, and notes the end of its body."""
        message = await self.receive()
        if self.judged and not self.heard and message["type"] == "http.request" and not message.get("more_body"):
            self.heard = True
            self.front.add("heard", 1)
            self.front.asked[id(self)] = board.now()
            self.front.note()
        return message

    async def say(self, message: Message) -> None:
        """Passes on the answer, and notes its first byte."""
        kind = message["type"]
        if kind == "http.response.start":
            if self.front.draining():
                message = {**message, "headers": [*message.get("headers", ()), (b"connection", b"close")]}
        elif self.heard and not self.answered and message.get("body"):
            self.answer()
        await self.send(message)

    def answer(self) -> None:
        """The request waits no longer."""
        self.answered = True
        self.front.asked.pop(id(self), None)
        self.front.note()

    def end(self) -> None:
        """The exchange is over, however it ended."""
        if self.heard:
            self.front.add("heard", -1)
            if not self.answered:
                self.answer()
