"""Two tenants before an engine with so many places, in virtual time: what the one waits while the other sends a hundred times as much."""

import asyncio
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from interlock.runtime.asgi import App
from interlock.runtime.gate import watched
from interlock.runtime.gate.limits import Limits
from interlock.runtime.gate.ticket import Ticket
from tools.runtime.ask import Reply, Request, ask
from tools.runtime.virtual import run


@dataclass(frozen=True)
class Crowd:
    """An engine of ``places`` requests at a time, ``seconds`` each, first come first served; the small tenant asks every ``pause``."""

    places: int = 16
    seconds: float = 1.0
    pause: float = 0.5
    requests: int = 400


class Places:
    """The engine."""

    def __init__(self, crowd: Crowd) -> None:
        self.crowd, self.free = crowd, asyncio.Semaphore(crowd.places)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        async with self.free:
            await asyncio.sleep(self.crowd.seconds)


def named(app: App, tenant: str) -> App:
    """``app`` with the tenant that Keys would have found."""

    async def made(scope: Any, receive: Any, send: Any) -> None:
        Ticket(scope).tenant = tenant
        await app(scope, receive, send)

    return made


def waits(folder: Path, crowd: Crowd, flood: int, *, limited: bool) -> tuple[float, float, int]:
    """(P50, P99) seconds of the small tenant's requests, and how many of them were refused; ``flood``: times its load from the other."""
    policy = {"capacity": crowd.places, "tenants": {"small": {}, "large": {}}}
    (folder / watched.POLICY).write_text(json.dumps(policy))

    async def all_of_them() -> tuple[float, float, int]:
        loop, engine = asyncio.get_running_loop(), Places(crowd)
        app: Any = Limits(engine, str(folder), clock=loop.time) if limited else engine
        took, refused, others = list[float](), 0, set[asyncio.Task[Reply]]()

        async def one() -> None:
            nonlocal refused
            began = loop.time()
            reply = await ask(named(app, "small"), Request())
            refused += reply.status == 429
            took.append(loop.time() - began)

        small = list[asyncio.Task[None]]()
        for _ in range(crowd.requests):
            for _ in range(flood):
                task = loop.create_task(ask(named(app, "large"), Request()))
                others.add(task)
                task.add_done_callback(others.discard)
            small.append(loop.create_task(one()))
            await asyncio.sleep(crowd.pause)
        await asyncio.gather(*small)
        for task in others:
            task.cancel()
        took.sort()
        return took[len(took) // 2], took[-(-len(took) * 99 // 100) - 1], refused

    watched._folders.clear()
    return run(all_of_them())
