"""A client that counts: keep-alive workers that stream completions, and what became of each request."""

import asyncio
import json
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

GONE = (ConnectionError, asyncio.IncompleteReadError, OSError)


@dataclass(frozen=True)
class Load:
    """``workers`` keep-alive clients, each asking again and again for a stream of ``tokens`` until ``seconds`` have passed."""

    port: int
    workers: int
    tokens: int
    seconds: float
    host: str = "127.0.0.1"
    model: str = "tiny"
    stagger: float = 0.02
    patience: float = 60.0
    """Seconds after which a client gives up an answer."""
    leaves: bool = False
    """Whether a client that is told to go (503, or a closed connection) stays away, as one behind a Service does."""
    pause: float = 0.0
    """Seconds that a client waits after an answer."""


@dataclass
class Tally:
    """What became of the requests.

    ``ok``: answered whole. ``cut``: broken after the first byte. ``lost``: sent, and the connection ended without an answer.
    ``silent``: no end until the client gave up. ``refused``: nobody listened. ``http NNN``: a status.
    """

    counts: Counter[str] = field(default_factory=Counter)
    working: int = 0
    firsts: list[float] = field(default_factory=list)
    notes: Counter[str] = field(default_factory=Counter)
    """What a client saw of a lost one."""

    @property
    def lost(self) -> int:
        """Requests that a client noticed as failed: cut, lost, or an error that is no request to come back."""
        return sum(count for what, count in self.counts.items() if what not in ("ok", "refused", "http 503"))


class Client:
    """One worker and its connection."""

    def __init__(self, load: Load, tally: Tally) -> None:
        self.load, self.tally = load, tally
        self.reader: asyncio.StreamReader | None = None
        self.writer: asyncio.StreamWriter | None = None
        self.left = 0.0

    async def once(self, prompt: str) -> str:
        """Sends one request; returns its fate. A connection that the server has closed meanwhile is not used again, as in every pool."""
        if self.reader and self.reader.at_eof():
            await self.close()
        idle = f"{time.monotonic() - self.left:.1f} s after the last answer" if self.writer else "on a new connection"
        if self.writer is None:
            try:
                self.reader, self.writer = await asyncio.open_connection(self.load.host, self.load.port)
            except OSError:
                return "refused"
        body = json.dumps(
            {
                "model": self.load.model,
                "prompt": prompt,
                "max_tokens": self.load.tokens,
                "ignore_eos": True,
                "temperature": 0,
                "stream": True,
            }
        ).encode()
        head = f"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        self.tally.working += 1
        started = time.monotonic()
        try:
            self.writer.write(head.encode() + body)
            return await asyncio.wait_for(self.answer(started), self.load.patience)
        except TimeoutError:  # first: it is an OSError too
            await self.close()
            return "silent"
        except GONE as error:
            self.tally.notes[f"{time.strftime('%T')}, {idle}: {error!r}"] += 1
            await self.close()
            return "lost"
        finally:
            self.left = time.monotonic()
            self.tally.working -= 1

    async def answer(self, started: float) -> str:
        """Reads the answer to its end."""
        assert self.reader
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode().lower()
        status = head.split()[1]
        try:
            if "content-length:" in head:
                await self.reader.readexactly(int(head.partition("content-length:")[2].split()[0]))
            else:
                fate = await self.chunks(started)
        except (*GONE, ValueError):
            await self.close()
            return "cut" if status == "200" else f"http {status}"
        if "connection: close" in head:
            await self.close()
        return f"http {status}" if status != "200" else fate

    async def chunks(self, started: float) -> str:
        """A chunked stream: whole when it ends with the engine's own last word and tells of no error."""
        assert self.reader
        text = b""
        while size := int(await self.reader.readuntil(b"\r\n"), 16):
            if not text:
                self.tally.firsts.append(time.monotonic() - started)
            text = (text + await self.reader.readexactly(size))[-65536:]
            await self.reader.readexactly(2)
        await self.reader.readexactly(2)
        return "ok" if b"data: [DONE]" in text and b'"error"' not in text else "cut"

    async def close(self) -> None:
        """Leaves the connection."""
        if self.writer:
            self.writer.close()
        self.reader = self.writer = None


async def drive(load: Load, tally: Tally, stop: Callable[[], bool] = lambda: False) -> Tally:
    """Runs the workers. A worker that finds nobody listening waits a little, one that gets a 503 comes back after a second."""
    until = time.monotonic() + load.seconds

    async def worker(number: int) -> None:
        client = Client(load, tally)
        await asyncio.sleep(number * load.stagger)
        turn = 0
        while time.monotonic() < until and not stop():
            fate = await client.once(f"worker {number} turn {turn}")
            tally.counts[fate] += 1
            turn += 1
            if load.leaves and (fate == "http 503" or client.writer is None):
                break
            if fate != "ok":
                await asyncio.sleep(1.0 if fate == "http 503" else 0.2)
            elif load.pause:
                await asyncio.sleep(load.pause)
        await client.close()

    await asyncio.gather(*(worker(number) for number in range(load.workers)))
    return tally
