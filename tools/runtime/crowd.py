"""A standing queue of long requests, and short ones beside it at fixed times: what each waits, and what the engine does in all."""

import asyncio
import json
import os
import random
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

TICKS = os.sysconf("SC_CLK_TCK")
WORDS = ("time", "year", "work", "part", "case", "fact", "hand", "room", "city", "line", "side", "week", "road", "door", "book", "team")
COUNTED = ("vllm:prompt_tokens_total", "vllm:generation_tokens_total")


@dataclass(frozen=True)
class Crowd:
    """``workers`` clients ask for long answers without a pause; short requests come every ``pause`` seconds, answered or not.

    Lengths are characters of a prompt and tokens of an answer. ``warm``: seconds before anything is counted.
    """

    workers: int
    seconds: float
    short_key: str
    long_key: str
    long_prompt: int = 800
    long_answer: int = 24
    short_prompt: int = 16
    short_answer: int = 8
    pause: float = 0.2
    warm: float = 6.0
    model: str = "chat"
    route: str = "/v1/completions"


@dataclass
class Seen:
    """Seconds of the requests that were sent in the counted time, and what the engine did in it."""

    HEAD: ClassVar[tuple[str, ...]] = (
        *("short P50", "P99", "in engine time: P50", "P99", "n", "long P50", "longest"),
        *("tokens/s", "tokens/engine s", "load", "refused"),
    )
    shorts: list[float] = field(default_factory=list)
    longs: list[float] = field(default_factory=list)
    short_work: list[float] = field(default_factory=list)
    """Processor seconds of the engine while each short request was there: what others do on the machine is not in it."""
    refused: int = 0
    rate: float = 0.0
    """Tokens of prompts and answers in a second."""
    per_cpu: float = 0.0
    """Tokens in a second of the engine's processor time: less moved by what else the machine does."""
    load: float = 0.0
    """The machine's load average at the end."""

    def row(self) -> list[str]:
        """The figures in the order of HEAD."""
        shorts = (part(self.shorts, 50), part(self.shorts, 99), part(self.short_work, 50), part(self.short_work, 99))
        first, last, work, worst = (f"{each:.2f}" for each in shorts)
        half, most = (f"{each:.2f}" for each in (part(self.longs, 50), max(self.longs, default=float("nan"))))
        rates = (f"{self.rate:.0f}", f"{self.per_cpu:.0f}", f"{self.load:.1f}")
        return [first, last, work, worst, str(len(self.shorts)), half, most, *rates, str(self.refused)]


def part(values: Iterable[float], percent: int) -> float:
    """The value that so many percent do not exceed."""
    ordered = sorted(values)
    return ordered[max(-(-len(ordered) * percent // 100) - 1, 0)] if ordered else float("nan")


def cpu(pids: Iterable[int]) -> float:
    """Processor seconds of these processes so far."""
    total = 0
    for pid in pids:
        try:
            words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        total += int(words[11]) + int(words[12])
    return total / TICKS


async def ask(port: int, path: str, key: str, body: dict[str, Any] | None) -> tuple[int, bytes]:
    """One request on a connection of its own: status and answer; 0 where there was none."""
    data = b"" if body is None else json.dumps(body).encode()
    verb = "GET" if body is None else "POST"
    head = f"{verb} {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\nContent-Type: application/json\r\n"
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(f"{head}Content-Length: {len(data)}\r\nConnection: close\r\n\r\n".encode() + data)
        answer = await reader.read()
        writer.close()
    except OSError:
        return 0, b""
    status, _, rest = answer.partition(b"\r\n")
    return int(status.split()[1]) if b" " in status else 0, rest.partition(b"\r\n\r\n")[2]


async def counted(port: int) -> float:
    """Tokens that the engine counted so far."""
    _, text = await ask(port, "/metrics", "", None)
    lines = [line for line in text.decode("utf-8", "replace").splitlines() if line.startswith(COUNTED)]
    return sum(float(line.rpartition(" ")[2]) for line in lines)


class Run:
    """One cell of a measurement."""

    def __init__(self, port: int, crowd: Crowd, pids: Iterable[int]) -> None:
        self.port, self.crowd, self.seen, self.pids = port, crowd, Seen(), tuple(pids)
        self.begin = self.end = 0.0
        self.turn = 0

    def body(self, prompt: int, answer: int) -> dict[str, Any]:
        """A request whose prompt no other one shares a begin with: words, so that a tokenizer makes a token of about four letters."""
        self.turn += 1
        words = random.Random(self.turn).choices(WORDS, k=prompt // 5)
        text = " ".join((f"{self.turn} {self.begin:.3f}", *words))[:prompt]
        return {"model": self.crowd.model, "prompt": text, "max_tokens": answer, "ignore_eos": True, "temperature": 0}

    async def one(self, key: str, prompt: int, answer: int, into: list[float]) -> None:
        """Sends one, and notes how long it took if it was sent in the counted time."""
        sent, used = time.monotonic(), cpu(self.pids)
        status, _ = await ask(self.port, self.crowd.route, key, self.body(prompt, answer))
        inside = self.begin <= sent < self.end
        if status == 200:
            into += [time.monotonic() - sent] if inside else []
            self.seen.short_work += [cpu(self.pids) - used] if inside and into is self.seen.shorts else []
        else:
            self.seen.refused += inside
            await asyncio.sleep(1.0 if status == 429 else 0.2)

    async def worker(self) -> None:
        """A client of long answers."""
        while time.monotonic() < self.end:
            await self.one(self.crowd.long_key, self.crowd.long_prompt, self.crowd.long_answer, self.seen.longs)

    async def next_short(self, number: int, used: float) -> None:
        """Waits until the next short request is due: by the engine's own time where it works without a break, so that a machine that is
        slowed by others gets no more of them for the same work."""
        due = number * self.crowd.pause
        if not (self.pids and self.crowd.workers):
            await asyncio.sleep(max(self.begin + due - time.monotonic(), 0))
        while self.pids and self.crowd.workers and cpu(self.pids) < used + due and time.monotonic() < self.end:
            await asyncio.sleep(0.02)

    async def go(self) -> Seen:
        """Runs the cell; what was sent in its time is waited for."""
        crowd, seen = self.crowd, self.seen
        self.begin = time.monotonic() + crowd.warm
        self.end = self.begin + crowd.seconds
        workers = [asyncio.create_task(self.worker()) for _ in range(crowd.workers)]
        await asyncio.sleep(crowd.warm)
        tokens, used, shorts = await counted(self.port), cpu(self.pids), list[asyncio.Task[None]]()
        while time.monotonic() < self.end:
            shorts.append(asyncio.create_task(self.one(crowd.short_key, crowd.short_prompt, crowd.short_answer, seen.shorts)))
            await self.next_short(len(shorts), used)
        passed = time.monotonic() - self.begin
        tokens, used = await counted(self.port) - tokens, cpu(self.pids) - used
        seen.rate, seen.per_cpu, seen.load = tokens / passed, tokens / max(used, 0.01), os.getloadavg()[0]
        await asyncio.gather(*shorts, *workers)
        return seen


def run(port: int, crowd: Crowd, pids: Iterable[int] = ()) -> Seen:
    """Measures one cell; ``pids``: the engine's processes."""
    return asyncio.run(Run(port, crowd, pids).go())
