"""Speaks vLLM's routes without vLLM: an API server with middleware and statistics plugins, an engine core in a process of its own.

usage: vllm serve MODEL [--port N] [--middleware PATH]; FAKE_ENGINE says what it does wrong: `name` or `name=value`, with commas.
"""

import asyncio
import importlib
import importlib.metadata
import json
import os
import select
import signal
import subprocess
import sys
import time
import types
from typing import Any

WRONG = dict(each.partition("=")[::2] for each in os.environ.get("FAKE_ENGINE", "").split(",") if each)
STEP_SECONDS = float(WRONG.get("step", "0.005"))


def core() -> None:
    """The engine core: reads `ID TOKENS` lines, and prints one line per step: how many requests it holds, and who got a token."""
    held: dict[str, int] = {}
    text = b""
    while True:
        ready, _, _ = select.select([0], [], [], STEP_SECONDS if held else None)
        if ready:
            data = os.read(0, 65536)
            if not data:
                return
            *lines, text = (text + data).split(b"\n")
            for line in lines:
                name, tokens = line.decode().split()
                held[name] = int(tokens)
            continue
        stepped = list(held)
        held = {name: left - 1 for name, left in held.items() if left > 1}
        os.write(1, f"{len(held)} {' '.join(stepped)}\n".encode())


class Engine:
    """The API server's side of the core."""

    def __init__(self, loggers: list[Any]) -> None:
        self.loggers, self.count = loggers, 0
        self.waiting: dict[str, asyncio.Queue[bool]] = {}
        self.process: asyncio.subprocess.Process

    async def start(self) -> None:
        command = [sys.executable, "-S", os.path.abspath(__file__), "core"]
        self.process = await asyncio.create_subprocess_exec(*command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        for logger in self.loggers:
            logger.log_engine_initialized()

    async def steps(self) -> None:
        """Until the core is gone."""
        assert self.process.stdout
        while line := await self.process.stdout.readline():
            held, *names = line.decode().split()
            stats = types.SimpleNamespace(num_running_reqs=int(held), num_waiting_reqs=0)
            for logger in self.loggers:
                logger.record(stats, None, engine_idx=0)
            for name in names:
                self.waiting[name].put_nowait(True)
        for queue in self.waiting.values():
            queue.put_nowait(False)

    async def tokens(self, tokens: int) -> Any:
        self.count += 1
        name = f"r{self.count}"
        queue = self.waiting[name] = asyncio.Queue()
        assert self.process.stdin
        self.process.stdin.write(f"{name} {tokens}\n".encode())
        for _ in range(tokens):
            yield await queue.get()
        del self.waiting[name]


class Routes:
    """vLLM's routes, as far as the runtime needs them."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.adapters: dict[str, object] = {}
        models = types.SimpleNamespace(lora_requests=self.adapters)
        self.owner = types.SimpleNamespace(state=types.SimpleNamespace(openai_serving_models=models))
        self.inner: Any = self.route
        for path in sys.argv[1:]:
            if path.startswith("interlock.runtime."):
                module, _, name = path.rpartition(".")
                self.inner = getattr(importlib.import_module(module), name)(self.inner)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await self.inner({**scope, "app": self.owner}, receive, send)

    async def route(self, scope: Any, receive: Any, send: Any) -> None:
        body, more = b"", True
        while more:
            message = await receive()
            body += message.get("body", b"")
            more = message.get("more_body", False)
        path = scope["path"]
        if path == "/v1/completions":
            await self.complete(send, json.loads(body))
        elif path == "/v1/load_lora_adapter":
            await asyncio.sleep(float(WRONG.get("slow_adapter", "0")))
            self.adapters[json.loads(body)["lora_name"]] = object()
            await answer(send, 200, b"ok")
        else:
            await answer(send, 200 if path in ("/health", "/metrics", "/v1/models") else 404, b"{}")

    async def complete(self, send: Any, asked: dict[str, Any]) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"transfer-encoding", b"chunked")]})
        async for whole in self.engine.tokens(asked["max_tokens"]):
            if not whole:
                await send({"type": "http.response.body", "body": b'data: {"error": "EngineDeadError"}\n\n', "more_body": True})
                break
            await send({"type": "http.response.body", "body": b'data: {"choices": [{"text": "a"}]}\n\n', "more_body": True})
        await send({"type": "http.response.body", "body": b"data: [DONE]\n\n"})


async def answer(send: Any, status: int, body: bytes) -> None:
    headers = [(b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


class Connection:
    """HTTP/1.1 with keep-alive, enough for a test."""

    def __init__(self, app: Any, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.app, self.reader, self.writer = app, reader, writer
        self.chunked = self.close = False
        self.left = 0

    async def serve(self) -> None:
        try:
            while not self.close:
                lines = (await self.reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
                method, path, _ = lines[0].split()
                headers = dict(line.lower().split(": ", 1) for line in lines[1:] if line)
                listed = [(name.encode(), value.encode()) for name, value in headers.items()]
                self.left = int(headers.get("content-length", 0))
                self.close = headers.get("connection") == "close"
                await self.app({"type": "http", "method": method, "path": path, "headers": listed}, self.receive, self.send)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self.writer.close()

    async def receive(self) -> dict[str, Any]:
        data = await self.reader.read(min(self.left, 65536)) if self.left else b""
        if self.left and not data:
            return {"type": "http.disconnect"}
        self.left -= len(data)
        return {"type": "http.request", "body": data, "more_body": self.left > 0}

    async def send(self, message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            headers = message["headers"]
            self.chunked, self.close = (b"transfer-encoding", b"chunked") in headers, self.close or (b"connection", b"close") in headers
            text = b"".join(name + b": " + value + b"\r\n" for name, value in headers)
            self.writer.write(f"HTTP/1.1 {message['status']} x\r\n".encode() + text + b"\r\n")
            return
        body, more = message.get("body", b""), message.get("more_body", False)
        if self.chunked:
            body = (f"{len(body):x}\r\n".encode() + body + b"\r\n" if body else b"") + (b"" if more else b"0\r\n\r\n")
        self.writer.write(body)
        await self.writer.drain()


def plugins() -> list[Any]:
    """The statistics loggers, found and filtered as vLLM does it."""
    allowed = os.environ["VLLM_PLUGINS"].split(",") if "VLLM_PLUGINS" in os.environ else None
    found = importlib.metadata.entry_points(group="vllm.stat_logger_plugins")
    return [each.load()(None, [0]) for each in found if allowed is None or each.name in allowed]


def family() -> None:
    """Children that an engine may leave: a plain one, one in a session of its own, one that is orphaned and ends as a zombie."""
    sleep = [sys.executable, "-S", "-c", "import time; time.sleep(600)"]
    subprocess.Popen(sleep)
    subprocess.Popen(sleep, start_new_session=True)
    subprocess.run([sys.executable, "-S", "-c", "import os, time\nif os.fork() == 0: time.sleep(0.3)"], check=False)


async def serve(port: int) -> None:
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, (lambda: None) if "ignores_term" in WRONG else ended.set)
    engine = Engine(plugins())
    await engine.start()
    app = Routes(engine)
    server = await asyncio.start_server(lambda reader, writer: Connection(app, reader, writer).serve(), "127.0.0.1", port)
    print("ready", flush=True)
    steps = asyncio.create_task(engine.steps())
    await asyncio.wait([steps, asyncio.create_task(ended.wait())], return_when=asyncio.FIRST_COMPLETED)
    if steps.done():  # as vLLM does: the streams end with an error, the exit code is 0
        print("(EngineCore pid=1) ERROR 12-01 00:00:00 [core.py:1] RuntimeError: engine core exited unexpectedly", flush=True)
        await asyncio.sleep(0.2)
    server.close()
    if engine.process.returncode is None:
        engine.process.kill()
    os._exit(0)


def main() -> None:
    if sys.argv[1] == "core":
        core()
        return
    if "fails" in WRONG:
        print(f"Traceback (most recent call last):\nValueError: {WRONG['fails']}", file=sys.stderr)
        sys.exit(1)
    if "family" in WRONG:
        family()
    if "ignores_term" in WRONG:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    time.sleep(float(WRONG.get("loads", "0")))
    asyncio.run(serve(int(sys.argv[sys.argv.index("--port") + 1])))


if __name__ == "__main__":
    main()
