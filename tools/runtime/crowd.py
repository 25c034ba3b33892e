"""A standing queue of long requests, and short ones beside it at fixed times: what each waits, and what the engine does in all."""

import asyncio
import json
import os
import random
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from interlock.runtime import board
from tools.runtime.testing import Container

TICKS = os.sysconf("SC_CLK_TCK")
WORDS = ("time", "year", "work", "part", "case", "fact", "hand", "room", "city", "line", "side", "week", "road", "door", "book", "team")
COUNTED = ("vllm:prompt_tokens_total", "vllm:generation_tokens_total")


@dataclass(frozen=True)
class Crowd:
    """``workers`` clients ask for long answers without a pause; ``shorts`` short requests come one every ``pause`` steps of the engine,
    answered or not (every ``pause`` seconds where no step is seen, or nobody else asks).

    Lengths are characters of a prompt and tokens of an answer; ``padding``: characters of a long request that are no prompt, where the
    model's tokens are shorter than usual. ``warm``: seconds before anything is counted.
    """

    workers: int
    shorts: int
    short_key: str
    long_key: str
    long_prompt: int = 800
    long_answer: int = 24
    short_prompt: int = 16
    short_answer: int = 8
    pause: float = 8
    padding: int = 0
    warm: float = 6.0
    model: str = "chat"
    route: str = "/v1/completions"


@dataclass
class Seen:
    """Seconds and steps of the requests that were sent in the counted time, and what the engine did in it.

    A step of the engine is the same work whatever else the machine does, so waits in steps can be compared where waits in seconds cannot.
    """

    HEAD: ClassVar[tuple[str, ...]] = (
        *("short P50, s", "P99, s", "P50, steps", "P99, steps", "n", "long P50, steps", "longest"),
        *("tokens/step", "tokens/s", "tokens/engine s", "load", "refused"),
    )
    shorts: list[float] = field(default_factory=list)
    longs: list[float] = field(default_factory=list)
    short_steps: list[float] = field(default_factory=list)
    long_steps: list[float] = field(default_factory=list)
    per_step: float = 0.0
    """Tokens of a step."""
    refused: int = 0
    rate: float = 0.0
    """Tokens of prompts and answers in a second."""
    per_cpu: float = 0.0
    """Tokens in a second of the engine's processor time: less moved by what else the machine does."""
    load: float = 0.0
    """The machine's load average at the end."""

    def row(self) -> list[str]:
        """The figures in the order of HEAD."""
        seconds = [f"{part(self.shorts, percent):.2f}" for percent in (50, 99)]
        steps = [f"{part(self.short_steps, percent):.0f}" for percent in (50, 99)]
        longs = [f"{each:.0f}" for each in (part(self.long_steps, 50), max(self.long_steps, default=float("nan")))]
        rates = (f"{self.per_step:.0f}", f"{self.rate:.0f}", f"{self.per_cpu:.0f}", f"{self.load:.1f}")
        return [*seconds, *steps, str(len(self.shorts)), *longs, *rates, str(self.refused)]


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
    """One cell of a measurement. ``steps``: how many the engine has done."""

    def __init__(self, port: int, crowd: Crowd, pids: Iterable[int], steps: Callable[[], int]) -> None:
        self.port, self.crowd, self.seen, self.pids, self.steps = port, crowd, Seen(), tuple(pids), steps
        self.counts = self.over = False
        self.turn = 0

    def body(self, prompt: int, answer: int, padding: int) -> dict[str, Any]:
        """A request whose prompt no other one shares a begin with: words, so that a tokenizer makes a token of about four letters."""
        self.turn += 1
        words = random.Random(self.turn).choices(WORDS, k=prompt // 5)
        text = " ".join((f"{self.turn} {time.monotonic():.3f}", *words))[:prompt]
        made = {"model": self.crowd.model, "prompt": text, "max_tokens": answer, "ignore_eos": True, "temperature": 0}
        return made | ({"user": "x" * padding} if padding else {})

    async def one(self, *, short: bool) -> None:
        """Sends one, and notes how long it took if it was sent in the counted time."""
        crowd, seen = self.crowd, self.seen
        shape = (crowd.short_prompt, crowd.short_answer, 0) if short else (crowd.long_prompt, crowd.long_answer, crowd.padding)
        key = crowd.short_key if short else crowd.long_key
        sent, step, inside = time.monotonic(), self.steps(), short or self.counts
        status, _ = await ask(self.port, crowd.route, key, self.body(*shape))
        if status == 200 and inside:
            (seen.shorts if short else seen.longs).append(time.monotonic() - sent)
            (seen.short_steps if short else seen.long_steps).append(self.steps() - step)
        elif status != 200:
            seen.refused += inside
            await asyncio.sleep(1.0 if status == 429 else 0.2)

    async def worker(self) -> None:
        """A client of long answers, until the last short request is answered."""
        while not self.over:
            await self.one(short=False)

    async def due(self, number: int, step: int, begin: float) -> None:
        """Waits until the next short request is due."""
        crowd = self.crowd
        await asyncio.sleep(0)  # the one before is sent first, also where this process was held up
        while crowd.workers and self.steps() < step + number * crowd.pause:
            await asyncio.sleep(0.005)
        if not crowd.workers:
            await asyncio.sleep(max(begin + number * crowd.pause - time.monotonic(), 0))

    async def go(self) -> Seen:
        """Runs the cell."""
        crowd, seen = self.crowd, self.seen
        workers = [asyncio.create_task(self.worker()) for _ in range(crowd.workers)]
        await asyncio.sleep(crowd.warm)
        begin, step, tokens, used = time.monotonic(), self.steps(), await counted(self.port), cpu(self.pids)
        self.counts, shorts = True, list[asyncio.Task[None]]()
        for number in range(1, crowd.shorts + 1):
            shorts.append(asyncio.create_task(self.one(short=True)))
            await self.due(number, step, begin)
        self.counts = False
        tokens, steps, passed = await counted(self.port) - tokens, self.steps() - step, time.monotonic() - begin
        seen.per_cpu, seen.load = tokens / max(cpu(self.pids) - used, 0.01), os.getloadavg()[0]
        seen.rate, seen.per_step = tokens / passed, tokens / max(steps, 1)
        await asyncio.gather(*shorts)
        self.over = True
        await asyncio.gather(*workers)
        return seen


def run(made: Container, crowd: Crowd) -> Seen:
    """Measures one cell on a container that serves."""
    return asyncio.run(Run(made.port, crowd, made.known, lambda: steps(made.pages())).go())


def steps(pages: Iterable[memoryview]) -> int:
    """Steps of all engine cores that reported on the board."""
    return sum(words[board.HEAD_WORDS + 2] for words in pages)
