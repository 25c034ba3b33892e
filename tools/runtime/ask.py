"""Asks an ASGI application without a socket, as a server would, or a server over one."""

import asyncio
import http.client
import json
from dataclasses import dataclass, field
from typing import Any

from interlock.runtime.asgi import App, Message


@dataclass
class Reply:
    """What came back. ``pieces``: the bodies as they were sent."""

    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    pieces: list[bytes] = field(default_factory=list)
    closed: int = 0
    """Code by which a WebSocket was closed."""

    @property
    def body(self) -> Any:
        """The body as JSON."""
        return json.loads(b"".join(self.pieces))


@dataclass
class Request:
    """What is sent. ``leaves``: the client is gone after so many pieces of the answer; ``gone``: before its body is whole."""

    path: str = "/v1/completions"
    body: Any = None
    key: str = ""
    method: str = "POST"
    headers: dict[str, str] = field(default_factory=dict)
    pieces: int = 1
    leaves: int = -1
    gone: bool = False
    kind: str = "http"
    root_path: str = ""

    def scope(self) -> dict[str, Any]:
        """As uvicorn makes it."""
        headers = {**({"authorization": f"Bearer {self.key}"} if self.key else {}), **self.headers}
        listed = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
        made = {"type": self.kind, "path": self.path, "headers": listed, "root_path": self.root_path, "query_string": b""}
        return made | ({"method": self.method} if self.kind == "http" else {})

    def data(self) -> bytes:
        """The body's bytes."""
        if isinstance(self.body, bytes):
            return self.body
        return json.dumps({"model": "chat", "prompt": "hi"} if self.body is None else self.body).encode()


async def ask(app: App, request: Request) -> Reply:
    """One request; the reply as far as it came. A client that leaves ends the application, as vLLM does it."""
    data, reply, left = request.data(), Reply(), asyncio.Event()
    size = max(-(-len(data) // request.pieces), 1)
    parts = [data[at : at + size] for at in range(0, max(len(data), 1), size)]
    messages = [{"type": "http.request", "body": part, "more_body": at < len(parts)} for at, part in enumerate(parts, 1)]
    if request.gone:
        messages = messages[:-1]

    async def receive() -> Message:
        if messages:
            return messages.pop(0)
        if not request.gone:
            await left.wait()
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        if message["type"] == "websocket.close":
            reply.closed = message["code"]
        elif message["type"] == "http.response.start":
            reply.status = message["status"]
            reply.headers = {name.decode(): value.decode() for name, value in message["headers"]}
        else:
            reply.pieces.append(message.get("body", b""))
            if len(reply.pieces) == request.leaves:
                left.set()
                served.cancel()
                await asyncio.sleep(0)

    served = asyncio.ensure_future(app(request.scope(), receive, send))
    try:
        await served
    except asyncio.CancelledError:
        if not left.is_set():
            raise
    return reply


def ask_server(port: int, request: Request, seconds: float = 60) -> Reply:
    """The same request over HTTP, in chunks where the body comes in pieces."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=seconds)
    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in request.scope()["headers"]}
    data = request.data() if request.method == "POST" else None
    try:
        if data is not None and request.pieces > 1:
            size = -(-len(data) // request.pieces)
            connection.request(request.method, request.path, (data[at : at + size] for at in range(0, len(data), size)), headers)
        else:
            connection.request(request.method, request.path, data, {"content-type": "application/json", **headers})
        answer = connection.getresponse()
        return Reply(answer.status, {name.lower(): value for name, value in answer.getheaders()}, [answer.read()])
    finally:
        connection.close()
