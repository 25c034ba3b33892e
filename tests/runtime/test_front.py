"""The middleware, called as a server calls it."""

import asyncio
import os
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from interlock.runtime import board, front, mapped, page

Words = Callable[[str], int]


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A board, a supervisor's word, and one engine core."""
    monkeypatch.setenv("INTERLOCK_BOARD", str(tmp_path))
    monkeypatch.setenv("INTERLOCK_RUNTIME", '{"adapters": ["sql"]}')
    mapped.mapped(str(tmp_path / board.CONTROL), 16)
    page._mine.clear()
    page.mine().row(0)


def word(name: str) -> int:
    return int(page.mine().words[board.WORDS[name]])


def drain() -> None:
    """What the supervisor does."""
    with open(os.path.join(os.environ["INTERLOCK_BOARD"], board.CONTROL), "r+b") as file:
        file.write(b"\1")


class Server:
    """Sends a request through the middleware and keeps the answer."""

    def __init__(self, app: Any) -> None:
        self.front = front.Front(app)
        self.sent: list[Any] = []
        self.received = 0

    def ask(self, path: str, method: str = "POST", body: tuple[bytes, ...] = (b"{}",), kind: str = "http", **scope: Any) -> list[Any]:
        messages = [{"type": "http.request", "body": each, "more_body": at < len(body)} for at, each in enumerate(body, 1)]

        async def receive() -> Any:
            self.received += 1
            return messages.pop(0) if messages else {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            self.sent.append(message)

        given = {"type": kind, "path": path, **({"method": method} if kind == "http" else {}), **scope}
        asyncio.run(self.front(given, receive, send))
        return self.sent


async def answers(scope: Any, receive: Any, send: Any) -> None:
    while (await receive()).get("more_body"):
        pass
    seen.append((word("inflight"), word("heard"), word("pending")))
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"", "more_body": True})
    seen.append((word("inflight"), word("heard"), word("pending")))
    await send({"type": "http.response.body", "body": b"x", "more_body": True})
    seen.append((word("inflight"), word("heard"), word("pending")))
    await send({"type": "http.response.body", "body": b""})


seen: list[tuple[int, int, int]] = []


def test_a_request_is_pending_from_its_last_byte_to_the_first_byte_of_the_answer() -> None:
    seen.clear()
    Server(answers).ask("/v1/completions", body=(b"{", b"}"))
    assert seen == [(1, 1, 1), (1, 1, 1), (1, 1, 0)]
    assert [word(name) for name in ("inflight", "heard", "pending", "oldest", "served")] == [0, 0, 0, 0, 1]


def test_a_request_that_the_engine_takes_no_step_for_only_counts_in_a_drain() -> None:
    seen.clear()
    Server(answers).ask("/v1/load_lora_adapter")
    assert seen == [(1, 0, 0)] * 3


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/prefix/v1/embeddings", "/invocations", "/v1/audio/transcriptions", "/rerank"])
def test_every_route_of_the_engine_is_judged(path: str) -> None:
    seen.clear()
    Server(answers).ask(path)
    assert seen[0] == (1, 1, 1)


def test_an_application_that_raises_leaves_no_count_behind() -> None:
    async def raises(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        raise RuntimeError("x")

    with pytest.raises(RuntimeError, match="x"):
        Server(raises).ask("/v1/completions")
    assert [word(name) for name in ("inflight", "heard", "pending", "served")] == [0, 0, 0, 1]


def test_the_oldest_of_several_pending_requests_is_what_counts() -> None:
    made = front.Front(answers)
    first, second = (front.Exchange(made, receive_end, send_nothing, True) for _ in range(2))
    asyncio.run(first.hear())
    begun = word("oldest")
    asyncio.run(second.hear())
    assert (word("oldest"), word("pending")) == (begun, 2)
    first.end()
    assert word("oldest") > begun
    second.end()
    assert (word("oldest"), word("pending")) == (0, 0)


async def receive_end() -> Any:
    return {"type": "http.request", "body": b""}


async def send_nothing(message: Any) -> None: ...


def test_an_answer_that_begins_in_a_drain_closes_its_connection() -> None:
    async def late(scope: Any, receive: Any, send: Any) -> None:
        drain()
        await send({"type": "http.response.start", "status": 200, "headers": [(b"a", b"b")]})

    assert Server(late).ask("/v1/completions")[0]["headers"] == [(b"a", b"b"), (b"connection", b"close")]


def test_a_websocket_in_a_drain_is_told_to_try_again() -> None:
    drain()
    assert Server(answers).ask("/v1/realtime", kind="websocket") == [{"type": "websocket.close", "code": 1013}]
    assert word("refused") == 1


def test_probes_in_a_drain_are_refused_but_are_no_traffic() -> None:
    drain()
    assert Server(answers).ask("/health", "GET")[0]["status"] == 503
    assert word("refused") == 0


def test_a_client_that_leaves_while_it_is_refused_gets_nothing() -> None:
    drain()
    assert Server(answers).ask("/v1/completions", body=()) == []


def test_of_a_refused_body_only_so_much_is_read() -> None:
    drain()
    server = Server(answers)
    server.ask("/v1/completions", body=(bytes(16 << 20),) * 9)
    assert server.received == 4
    assert server.sent[0]["status"] == 503


def models(*names: str) -> Any:
    return types.SimpleNamespace(
        state=types.SimpleNamespace(openai_serving_models=types.SimpleNamespace(lora_requests=dict.fromkeys(names)))
    )


@pytest.mark.parametrize(("app", "status"), [(models("sql", "law"), 200), (models("law"), 503), (types.SimpleNamespace(), 503)])
def test_readiness_with_adapters(app: Any, status: int) -> None:
    assert Server(answers).ask("/health", "GET", app=app)[0]["status"] == status


def test_lifespan_messages_pass() -> None:
    called = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        called.append(scope["type"])

    Server(app).ask("", kind="lifespan")
    assert called == ["lifespan"]


def test_without_a_heartbeat_the_server_does_not_start() -> None:
    page._mine.clear()
    with pytest.raises(RuntimeError, match="VLLM_PLUGINS"):
        front.Front(answers)


def test_without_a_supervisor_it_still_counts(tmp_path: Path) -> None:
    (tmp_path / board.CONTROL).unlink()
    assert Server(answers).ask("/v1/completions")[0]["status"] == 200
    assert word("served") == 1
