"""The engine's output: passed on as it comes, its end kept for the last words."""

import os
import threading
import time
from collections.abc import Callable

KEPT = 64 * 1024
"""Bytes of each stream's end that are kept."""
LONGEST = 1 << 20
"""Bytes of a line that has no end, before it is passed on as it is (structured output only)."""
OURS = b'{"interlock":'
"""How lines begin that are objects already: the access log."""
GENERIC = (b"See stack trace", b"See root cause above", b"Traceback (most recent call last)")
"""Lines that only say that something else failed."""


class Pump(threading.Thread):
    """Copies a pipe to a file without delay. A reader that is slow slows the engine, as without a supervisor; one that is gone does not."""

    def __init__(self, source: int, target: int, form: Callable[[bytes], bytes] | None = None) -> None:
        super().__init__(daemon=True)
        self.source, self.target, self.form = source, target, form
        self.tail = self.rest = b""
        self.start()

    def run(self) -> None:
        """Until every writer has closed its end."""
        while data := os.read(self.source, 65536):
            self.tail = (self.tail + data)[-KEPT:]
            self.put(self.formed(data) if self.form else data)
        if self.form and self.rest:
            self.put(self.form(self.rest))

    def formed(self, data: bytes) -> bytes:
        """Whole lines in their new form; what has no end yet waits."""
        *lines, self.rest = (self.rest + data).split(b"\n")
        if len(self.rest) > LONGEST:
            lines, self.rest = [*lines, self.rest], b""
        return b"".join(map(self.form, lines)) if self.form else b""

    def put(self, data: bytes) -> None:
        """Writes all of it, also to a file that does not block."""
        view = memoryview(data)
        while view:
            try:
                view = view[os.write(self.target, view) :]
            except BlockingIOError:
                time.sleep(0.005)
            except OSError:
                return


def as_json(stream: str) -> Callable[[bytes], bytes]:
    """Turns a line into a JSON object with the time, the stream, and what vLLM writes in front of its lines: process and level."""
    import json  # noqa: PLC0415
    import re  # noqa: PLC0415

    from interlock.runtime.words import stamp  # noqa: PLC0415

    front = re.compile(r"(?:\((?P<process>[^)]*)\) )?(?:(?P<level>DEBUG|INFO|WARNING|ERROR|CRITICAL):? +)?")

    def form(line: bytes) -> bytes:
        if line.startswith(OURS):
            return line + b"\n"
        text = line.decode("utf-8", "replace").rstrip("\r")
        found = front.match(text)
        said = {"time": stamp(), "source": "engine", "stream": stream}
        if found:
            said |= {name: value for name, value in found.groupdict().items() if value}
            text = text[found.end() :]
        return json.dumps(said | {"message": text}).encode() + b"\n"

    return form


def last_error(*tails: bytes) -> str:
    """The last line that tells of an error, of the first stream that has one; empty when none does."""
    import re  # noqa: PLC0415 - only at the end

    error = re.compile(
        rb"\w*(?:Error|Exception|Interrupt)\b: |\berror: |CRITICAL|(?:exited|died) unexpectedly|^Killed$|No space left", re.M
    )
    mild = re.compile(rb"(?:\([^)]*\) )?(?:DEBUG|INFO|WARNING)\b")
    for tail in tails:
        for line in reversed(tail.splitlines()):
            if error.search(line) and not mild.match(line) and not any(each in line for each in GENERIC):
                return line[-1500:].decode("utf-8", "replace").strip()
    return ""
