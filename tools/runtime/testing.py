"""A container without a container: a supervisor around an engine, and what is left of it."""

import asyncio
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from interlock.runtime import board
from interlock.runtime.supervise.processes import descendants
from tools.runtime.load import Load, Tally, drive

MIDDLEWARE = "interlock.runtime.front.Front"
LOGGERS = """
class AggregateStatLoggerBase:
    pass
"""


def pretend(root: Path) -> Path:
    """What the image has: the command `vllm`, the metadata of a version, the module that a statistics logger derives from."""
    (root / "bin").mkdir()
    script = root / "bin" / "vllm"
    program = Path(__file__).with_name("fake_engine.py")
    script.write_text(f"#!{sys.executable}\nimport runpy\nrunpy.run_path({str(program)!r}, run_name='__main__')\n")
    script.chmod(0o755)
    (root / "site" / "vllm-0.32.0+cpu.dist-info").mkdir(parents=True)
    metrics = root / "site" / "vllm" / "v1" / "metrics"
    metrics.mkdir(parents=True)
    for package in (metrics, metrics.parent, metrics.parent.parent):
        (package / "__init__.py").touch()
    (metrics / "loggers.py").write_text(LOGGERS)
    return root


def until(true: Callable[[], Any], seconds: float = 20, what: str = "it") -> None:
    """Waits until something holds."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, f"{what} did not come within {seconds} s"
        time.sleep(0.01)


@dataclass
class Container:
    """One run of the supervisor, and what is left of it."""

    archive: Path
    image: Path
    folder: Path
    spec: dict[str, Any] = field(default_factory=dict)
    wrong: str = ""
    extra: dict[str, str] = field(default_factory=dict)
    dropped: tuple[str, ...] = ()
    around: tuple[str, ...] = ()
    port: int = 0
    python: tuple[str, ...] = (sys.executable,)
    patience: float = 20
    known: tuple[int, ...] = ()
    arguments: tuple[str, ...] = ()
    """Further ones of the engine."""
    process: "subprocess.Popen[bytes]" = None  # type: ignore[assignment]

    def start(self, *command: str) -> "Container":
        """Starts it; without a command the engine with our middleware."""
        self.port = free_port()
        self.message.touch()
        argv = command or self.serve()
        environment = os.environ | {
            **self.inside(),
            "INTERLOCK_RUNTIME": json.dumps(
                {"drain_seconds": 10, "settle_seconds": 0.3, "quiet_seconds": 0.3, "teardown_seconds": 5, **self.base}
            ),
            "INTERLOCK_BOARD": str(self.folder / "board"),
            **self.extra,
        }
        for name in self.dropped:
            del environment[name]
        with (self.folder / "out").open("wb") as out, (self.folder / "err").open("wb") as err:
            self.process = subprocess.Popen(
                [*self.around, *self.python, str(self.archive), "run", "--", *argv],
                env=environment,
                stdout=out,
                stderr=err,
                start_new_session=True,
            )
        return self

    def serve(self) -> tuple[str, ...]:
        """The engine's command."""
        return ("vllm", "serve", "tiny", "--port", str(self.port), "--middleware", MIDDLEWARE, *self.arguments)

    def inside(self) -> dict[str, str]:
        """The environment of the container."""
        path = f"{self.image / 'bin'}{os.pathsep}{os.environ['PATH']}"
        return {"PATH": path, "PYTHONPATH": str(self.image / "site"), "FAKE_ENGINE": self.wrong, "VLLM_HTTP_TIMEOUT_KEEP_ALIVE": "0"}

    @property
    def base(self) -> dict[str, Any]:
        return {"board": str(self.folder / "board"), "termination_log": str(self.message), **self.spec}

    @property
    def message(self) -> Path:
        return self.folder / "termination-log"

    @property
    def out(self) -> str:
        return (self.folder / "out").read_text()

    @property
    def err(self) -> str:
        return (self.folder / "err").read_text()

    def ready(self) -> "Container":
        """Waits until the engine answers."""
        until(lambda: self.process.poll() is not None or self.get("/health") == 200, self.patience, "readiness")
        assert self.process.poll() is None, self.out[-2000:] + self.err[-2000:]
        self.known = tuple(descendants(self.process.pid))
        return self

    def get(self, path: str) -> int:
        """The status of a GET; 0 when nobody answers."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
        try:
            connection.request("GET", path)
            return connection.getresponse().status
        except OSError:
            return 0
        finally:
            connection.close()

    def post(self, path: str, body: dict[str, Any], seconds: float = 10) -> tuple[int, dict[str, str], bytes]:
        """Status, headers (lower case) and body of a POST."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=seconds)
        try:
            connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
            answer = connection.getresponse()
            return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
        finally:
            connection.close()

    def raw(self, path: str, body: bytes, announced: int = 0) -> socket.socket:
        """A client that sends this, and neither reads nor sends more."""
        client = socket.create_connection(("127.0.0.1", self.port))
        head = f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {announced or len(body)}\r\n\r\n"
        client.sendall(head.encode() + body)
        return client

    def ask(self, command: str) -> int:
        """The exit code of another command of the archive, in the same container."""
        environment = {"INTERLOCK_BOARD": str(self.folder / "board")}
        return subprocess.run(
            [sys.executable, "-I", str(self.archive), command], env=environment, capture_output=True, check=False
        ).returncode

    def children(self, parent: int) -> list[int]:
        """The direct children of a process, zombies too."""
        found = []
        for pid in map(int, filter(str.isdigit, os.listdir("/proc"))):
            try:
                words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            found += [pid] if int(words[1]) == parent else []
        return found

    def end(self, number: int = signal.SIGTERM) -> int:
        """Sends a signal to the supervisor and returns its exit code."""
        self.process.send_signal(number)
        return self.wait()

    def wait(self, seconds: float = 30) -> int:
        """The exit code; nothing may be left behind."""
        code = self.process.wait(seconds)
        until(lambda: not self.left(), 3, "the end of every process")
        return code

    def left(self) -> list[int]:
        """Processes of this run that live."""
        wanted = f"INTERLOCK_BOARD={self.folder / 'board'}".encode()
        there = list(map(int, filter(str.isdigit, os.listdir("/proc"))))
        # An engine core writes its title over its environment: it is known by its session.
        marked = {pid for pid in there if wanted in environ(pid) or (self.process and session(pid) == self.process.pid)}
        return sorted(pid for pid in marked | set(self.known) if board.alive(pid))

    def named(self, word: str) -> int:
        """The pid of the process of this run with that word in its command line; the supervisor is only found as `run`."""
        pid = self.found(word)
        assert pid, f"no process {word}"
        return pid

    def found(self, word: str) -> int:
        """The same; 0 when there is none."""
        for pid in self.left():
            try:
                words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if word.encode() in words and (word == "run" or b"run" not in words):
                return pid
        return 0

    def live(self, limit: float) -> int:
        """The probe's exit code, called as the kubelet calls it."""
        command = [self.python[0], "-I", "-S", str(self.archive), "live", str(limit)]
        environment = {"INTERLOCK_BOARD": str(self.folder / "board")}
        return subprocess.run(command, env=environment, capture_output=True, check=False).returncode

    def pages(self) -> list[memoryview]:
        """The board."""
        return board.pages(str(self.folder / "board"))

    def drive(self, during: Callable[[Tally], Any], workers: int = 8, tokens: int = 60, seconds: float = 20, leaves: bool = False) -> Tally:
        """Runs clients until the supervisor ends, and something in a thread beside them; returns what became of the requests."""
        tally = Tally()

        async def both() -> None:
            load = Load(self.port, workers, tokens, seconds, stagger=0.005, patience=max(10.0, self.patience / 4), leaves=leaves)
            clients = asyncio.create_task(drive(load, tally, lambda: self.process.poll() is not None))
            await asyncio.to_thread(during, tally)
            await clients

        asyncio.run(both())
        return tally

    def remove(self) -> None:
        """Ends what is left."""
        for pid in self.left():
            os.kill(pid, signal.SIGKILL)
        if self.process:
            self.process.kill()
            self.process.wait(10)


def environ(pid: int) -> bytes:
    """What a process was started with; empty when it is gone."""
    try:
        return Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return b""


def session(pid: int) -> int:
    """The session of a process; 0 when it is gone."""
    try:
        return os.getsid(pid)
    except OSError:
        return 0


def free_port() -> int:
    """A port that nobody has."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])
