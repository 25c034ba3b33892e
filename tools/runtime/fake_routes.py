"""vLLM's routes as an ASGI application in one process, for the middleware: answers of the right form, and a record of what arrived."""

import asyncio
import json
from dataclasses import dataclass, field
from typing import Any

from interlock.runtime.asgi import Receive, Scope, Send

ROUTES = {
    ("GET", "/health"),
    ("GET", "/metrics"),
    ("GET", "/v1/models"),
    ("POST", "/v1/completions"),
    ("POST", "/v1/chat/completions"),
    ("POST", "/v1/messages"),
    ("POST", "/v1/embeddings"),
    ("POST", "/tokenize"),
    ("POST", "/invocations"),
    ("POST", "/v1/load_lora_adapter"),
    ("POST", "/v1/unload_lora_adapter"),
    ("GET", "/version"),
}
FIXED = {
    "/health": "",
    "/version": {"version": "0.32.0"},
    "/tokenize": {"count": 2, "max_model_len": 1024, "tokens": [77, 78], "token_strs": None},
}
"""Answers that depend on nothing."""


@dataclass
class FakeVllm:
    """``tokens``: length of each answer; ``pause``: seconds between two of them; ``adapters`` by name."""

    tokens: int = 3
    pause: float = 0
    arrived: list[tuple[str, dict[str, str], Any]] = field(default_factory=list)
    adapters: dict[str, str] = field(default_factory=dict)
    running: int = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        body, more = b"", scope["method"] == "POST"
        while more:
            message = await receive()
            body += message.get("body", b"")
            more = message.get("more_body", False)
        path, asked = scope["path"], json.loads(body) if body else {}
        self.arrived.append((path, {name.decode(): value.decode() for name, value in scope["headers"]}, asked))
        self.running += 1
        try:
            if (scope["method"], path) not in ROUTES:
                await whole(send, 404, {"detail": "Not Found"})
            elif asked.get("stream"):
                await self.stream(send, path, asked)
            else:
                await asyncio.sleep(self.pause * self.tokens)
                await whole(send, *self.answer(path, asked))
        finally:
            self.running -= 1

    def answer(self, path: str, asked: dict[str, Any]) -> tuple[int, Any]:
        """Status and body."""
        usage = {"prompt_tokens": 5, "total_tokens": 5 + self.tokens, "completion_tokens": self.tokens}
        if path == "/v1/messages":
            return 200, {"content": [], "usage": {"input_tokens": 5, "output_tokens": self.tokens}}
        if path == "/v1/load_lora_adapter":
            self.adapters[asked["lora_name"]] = asked["lora_path"]
            return 200, f"Success: LoRA adapter '{asked['lora_name']}' added successfully."
        if path == "/v1/unload_lora_adapter":
            if self.adapters.pop(asked["lora_name"], None) is None:
                return 404, {"error": {"message": f"The lora adapter '{asked['lora_name']}' cannot be found."}}
            return 200, f"Success: LoRA adapter '{asked['lora_name']}' removed successfully."
        if path in FIXED:
            return 200, FIXED[path]
        if path == "/v1/models":
            return 200, {"object": "list", "data": [{"id": name} for name in ("chat", *self.adapters)]}
        return 200, {"choices": [{"text": 'a "usage":{"prompt_tokens":9} b'}], "usage": usage}

    async def stream(self, send: Send, path: str, asked: dict[str, Any]) -> None:
        """Events as vLLM writes them."""
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/event-stream; charset=utf-8")]})
        if path == "/v1/messages":
            await self.messages(send)
            return
        chat = path == "/v1/chat/completions"
        if chat:
            await event(send, {"choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}}]})
        for _ in range(self.tokens):
            await asyncio.sleep(self.pause)
            await event(send, {"choices": [{"index": 0, "delta": {"content": "a"}} if chat else {"index": 0, "text": "a"}]})
        if asked.get("stream_options", {}).get("include_usage"):
            await event(send, {"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": self.tokens}})
        await send({"type": "http.response.body", "body": b"data: [DONE]\n\n", "more_body": True})
        await send({"type": "http.response.body", "body": b""})

    async def messages(self, send: Send) -> None:
        """Events of Anthropic's form: the usage at the begin says that nothing is written yet."""
        await event(send, {"type": "message_start", "message": {"usage": {"input_tokens": 5, "output_tokens": 0}}})
        await event(send, {"type": "content_block_start", "content_block": {"type": "text", "text": ""}, "index": 0})
        for _ in range(self.tokens):
            await asyncio.sleep(self.pause)
            await event(send, {"type": "content_block_delta", "delta": {"type": "text_delta", "text": "a"}, "index": 0})
        await event(send, {"type": "content_block_stop", "index": 0})
        await event(send, {"type": "message_delta", "delta": {}, "usage": {"input_tokens": 5, "output_tokens": self.tokens}})
        await event(send, {"type": "message_stop"})
        await send({"type": "http.response.body", "body": b""})


async def event(send: Send, data: dict[str, Any]) -> None:
    """One event; in Anthropic's form it has a name."""
    named = f"event: {data['type']}\n" if "type" in data else ""
    text = f"{named}data: {json.dumps(data, separators=(',', ':'))}\n\n"
    await send({"type": "http.response.body", "body": text.encode(), "more_body": True})


async def whole(send: Send, status: int, data: Any) -> None:
    """An answer in one piece: JSON, or a text as it is."""
    text = isinstance(data, str)
    headers = [] if text else [(b"content-type", b"application/json")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": data.encode() if text else json.dumps(data, separators=(",", ":")).encode()})
