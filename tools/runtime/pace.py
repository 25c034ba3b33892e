"""Requests at a fixed rate over kept connections: how many were answered in time."""

import asyncio
import json
import time
from typing import Any

CLIENTS = 50


async def steady(port: int, key: str, body: dict[str, Any], rate: float, seconds: float) -> tuple[int, list[float]]:
    """(answers with status 200 within the time, seconds of each) of ``rate`` requests a second; one that waits holds up its own client."""
    data = json.dumps(body).encode()
    head = f"POST /v1/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {key}\r\ncontent-type: application/json\r\n"
    request = f"{head}content-length: {len(data)}\r\n\r\n".encode() + data
    begin, took, pause = time.monotonic() + 0.5, list[float](), CLIENTS / rate

    async def client(number: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        turn = 0
        while (due := begin + (turn + number / CLIENTS) * pause) < begin + seconds:
            await asyncio.sleep(due - time.monotonic())
            writer.write(request)
            answer = await reader.readuntil(b"\r\n\r\n")
            await reader.readuntil(b"0\r\n\r\n")
            if answer.split(b" ", 2)[1] == b"200" and time.monotonic() < begin + seconds + 1:
                took.append(time.monotonic() - due)
            turn += 1
        writer.close()

    await asyncio.gather(*(client(number) for number in range(CLIENTS)))
    return len(took), took
