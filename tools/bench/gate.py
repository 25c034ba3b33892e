"""What the classes in front of the engine cost: CPU of one request over the same application without them; and what fairness gives.

usage: python -m tools.bench.gate
"""

import asyncio
import json
import os
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from interlock.runtime.asgi import App, Message
from interlock.runtime.gate import watched
from interlock.runtime.gate.access import hashed
from interlock.runtime.gate.account import Account
from interlock.runtime.gate.keys import Keys
from interlock.runtime.gate.limits import Limits
from interlock.runtime.gate.priority import Priority
from tools.bench.goals import Goal
from tools.bench.projects import table
from tools.common import run_main, say
from tools.runtime.fairness import Crowd, waits

ROUNDS, REQUESTS = 9, 400
GOALS = {1024: 0.05, 128 * 1024: 0.3}
"""Milliseconds of CPU by the size of a body."""
KEY, HASH_KEY = "team-1.secret", bytes(32)
TENANTS = 1000


def files(folder: Path) -> None:
    """A thousand tenants with limits."""
    names = [f"team-{at}" for at in range(TENANTS)]
    limits = {"requests_per_minute": 10**9, "tokens_per_minute": 10**12, "concurrency": 1000, "models": ["chat"]}
    policy = {"model": "chat", "models": ["chat"], "capacity": 256, "tenants": dict.fromkeys(names, limits)}
    keys = {name: {"tenant": name, "hash": hashed(HASH_KEY, b"secret").hex()} for name in names}
    (folder / watched.POLICY).write_text(json.dumps(policy))
    (folder / watched.KEYS).write_text(json.dumps({"hash_key": HASH_KEY.hex(), "keys": keys}))


async def reads(scope: Any, receive: Any, send: Any) -> None:
    """The application alone: it takes the body and answers."""
    while (await receive()).get("more_body"):
        pass
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"application/json")]})
    await send({"type": "http.response.body", "body": b'{"choices":[{"text":"a"}],"usage":{"prompt_tokens":5,"completion_tokens":1}}'})


def body_of(size: int) -> bytes:
    """A chat of that many bytes, in messages of about 400."""
    messages = [{"role": "user", "content": "lorem ipsum dolor sit amet " * 14} for _ in range(max(size // 420, 1))]
    text = json.dumps({"model": "chat", "max_tokens": 100, "messages": messages})
    return (text[:-1] + ',"user":"' + "x" * max(size - len(text) - 12, 0) + '"}').encode()


async def asked(app: App, body: bytes, times: int) -> None:
    """Requests one after another, without a socket."""
    message = {"type": "http.request", "body": body, "more_body": False}

    async def receive() -> Message:
        return message

    async def send(message: Message) -> None: ...

    for _ in range(times):
        headers = [(b"authorization", f"Bearer {KEY}".encode()), (b"content-type", b"application/json"), (b"host", b"chat.example.org")]
        scope = {"type": "http", "method": "POST", "path": "/v1/chat/completions", "root_path": "", "headers": headers}
        await app(scope, receive, send)


def milliseconds(app: App, body: bytes) -> float:
    """CPU of one request, the median of several rounds."""
    asyncio.run(asked(app, body, 50))
    found = []
    for _ in range(ROUNDS):
        started = time.process_time()
        asyncio.run(asked(app, body, REQUESTS))
        found.append((time.process_time() - started) * 1000 / REQUESTS)
    return statistics.median(found)


def main(arguments: list[str]) -> int:
    """Measures both sizes, and the share of each class."""
    with tempfile.TemporaryDirectory(prefix="interlock-bench-") as name:
        os.environ["INTERLOCK_BOARD"] = name
        files(Path(name))
        sink = os.open(os.devnull, os.O_WRONLY)

        def write(line: bytes) -> None:
            os.write(sink, line)

        chain: list[tuple[str, App]] = [("application alone", reads)]
        for class_name, make in (("priority", Priority), ("limits", Limits), ("keys", Keys)):
            chain.append((class_name, make(chain[-1][1], name)))
        chain.append(("account and log", Account(chain[-1][1], name, say=write)))
        sizes = {size: body_of(size) for size in GOALS}
        costs = {size: [milliseconds(app, body) for _, app in chain] for size, body in sizes.items()}
        rows: list[list[object]] = [
            [f"+ {name}" if at else name, *(f"{costs[size][at]:.4f}" for size in GOALS)] for at, (name, _) in enumerate(chain)
        ]
        say(table(f"CPU of one request with {TENANTS} tenants, ms", ("with", *(f"{size // 1024} KB" for size in GOALS)), rows))
        for size, wanted in GOALS.items():
            say(str(Goal(f"classes in front of the engine, {size // 1024} KB", costs[size][-1] - costs[size][0], "ms", wanted)))
        fairness(Path(name))
    return 0


def fairness(folder: Path) -> None:
    """A tenant beside one with a hundred times its load, in virtual time."""
    crowd, short = Crowd(requests=300), Crowd(requests=60)
    ways = (("alone", crowd, 0, True), ("beside 100 times its load", crowd, 100, True), ("the same without limits", short, 100, False))
    rows: list[list[object]] = [[way, *waits(folder, each, flood, limited=limited)] for way, each, flood, limited in ways]
    say(table("Seconds of the small tenant's requests, 16 places of 1 s each", ("way", "P50", "P99", "refused"), rows))


if __name__ == "__main__":
    run_main(main)
