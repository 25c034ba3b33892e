"""What the runtime in the container costs, and what a rollout loses with it and without it.

usage: python -m tools.bench.runtime [costs] [drain] [ends] [hang] [soak[=SECONDS]]     (default: costs, drain, hang)

All but `costs` start the real vLLM on the CPU (python -m tools.engine_env builds it).
"""

import asyncio
import contextlib
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from interlock.infra.facts.supervisor import ARCHIVE
from interlock.infra.manifests import archive as packer
from interlock.runtime import board
from interlock.runtime.silence import silence
from interlock.runtime.supervise import leftovers
from tools.bench.projects import table
from tools.common import ToolError, run_main, say
from tools.engine_env import env
from tools.runtime.load import Load, Tally, drive
from tools.runtime.real import SHM, SMALL_STEPS, RealContainer, container
from tools.runtime.testing import free_port, until

TIMES = 40
STREAMS, TOKENS = 32, 900
LARGE_STEPS = ("--max-num-seqs", "32")
LIMIT = 5.0


def spent(command: list[str], environment: dict[str, str]) -> tuple[float, float]:
    """(wall, CPU) milliseconds of a command, medians."""
    walls, cpus = [], []
    for _ in range(TIMES):
        started = time.perf_counter()
        pid = os.posix_spawnp(command[0], command, environment, file_actions=[(os.POSIX_SPAWN_OPEN, 2, "/dev/null", os.O_WRONLY, 0)])
        _, _, used = os.wait4(pid, 0)
        walls.append(time.perf_counter() - started)
        cpus.append(used.ru_utime + used.ru_stime)
    return statistics.median(walls) * 1000, statistics.median(cpus) * 1000


def python() -> str:
    """The image's Python minor where the engine environment is there, else this one."""
    return str(env.python_of(env.folder()).resolve()) if env.whole(env.folder()) else sys.executable


def costs(archive: Path, folder: Path) -> None:
    """Size, probe, start, memory."""
    own = python()
    environment = {
        "PATH": os.environ["PATH"],
        "INTERLOCK_BOARD": str(folder / "board"),
        "INTERLOCK_RUNTIME": f'{{"board": "{folder}/board"}}',
    }
    (folder / "board").mkdir()
    nothing = spent([own, "-I", "-S", "-c", "pass"], environment)
    probe = spent([own, "-I", "-S", str(archive), "live", "60"], environment)
    alone = spent(["true"], environment)
    around = spent([own, "-I", str(archive), "run", "--", "true"], environment)
    rows: list[list[object]] = [
        ["python -I -S -c pass", *nothing],
        ["live 60", *probe],
        ["true", *alone],
        ["run -- true", *around],
    ]
    say(table("Costs", ("command", "wall, ms", "CPU, ms"), rows))
    say(f"the probe costs {probe[1] / nothing[1]:.1f} times an empty Python; the supervisor adds {around[0] - alone[0]:.0f} ms")
    say(f"archive: {archive.stat().st_size} bytes; at rest: {resident(own, archive, environment):.1f} MB resident")


def resident(own: str, archive: Path, environment: dict[str, str]) -> float:
    """Megabytes of the supervisor while its engine runs."""
    process = subprocess.Popen([own, "-I", str(archive), "run", "--", "sleep", "60"], env=environment, stderr=subprocess.DEVNULL)
    try:
        time.sleep(1)
        status = Path(f"/proc/{process.pid}/status").read_text()
        return int(status.partition("VmRSS:")[2].split()[0]) / 1000
    finally:
        process.terminate()
        process.wait(30)


def naive(made: RealContainer, *options: str) -> Tally:
    """vLLM by itself, told to end in the middle of streams."""
    made.watched, made.arguments = False, (*LARGE_STEPS, *options)
    made.port, made.others = free_port(), tuple(leftovers.there(SHM))
    process = subprocess.Popen(
        made.serve(), env=os.environ | made.inside(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    made.process = process
    try:
        made.ready()
        return ended(made, lambda: process.send_signal(signal.SIGTERM))
    finally:
        with contextlib.suppress(ProcessLookupError):  # it has ended, as it was told
            os.killpg(process.pid, signal.SIGKILL)
        made.remove()


def ended(made: RealContainer, end: Callable[[], None]) -> Tally:
    """Streams in flight, then the end; what became of the requests."""
    tally = Tally()

    async def both() -> None:
        load = Load(made.port, STREAMS, TOKENS, 60, stagger=0.03, patience=40, leaves=True)
        clients = asyncio.create_task(drive(load, tally, lambda: made.process.poll() is not None))
        while len(tally.firsts) < STREAMS:
            await asyncio.sleep(0.05)
        await asyncio.sleep(0.5)
        say(f"{tally.working} streams in flight")
        end()
        await clients

    asyncio.run(both())
    return tally


def drain(archive: Path, folder: Path) -> None:
    """The same clients, three ways to end."""
    rows: list[list[object]] = []
    for name, options in (("vLLM alone, default", ()), ("vLLM alone, --shutdown-timeout 60", ("--shutdown-timeout", "60"))):
        made = container(archive, fresh(folder, name))
        rows.append([name, *told(naive(made, "--shutdown-timeout", "0") if not options else naive(made, *options))])
    made = container(archive, fresh(folder, "ours"))
    made.arguments = LARGE_STEPS
    made.start().ready()
    tally = ended(made, lambda: made.process.send_signal(signal.SIGTERM))
    code = made.wait(120)
    rows.append([f"supervised (exit code {code})", *told(tally)])
    say(
        table(
            "An end in the middle of streams", ("way", "answered", "cut", "no answer", "no end", "HTTP 500", "HTTP 503 (come back)"), rows
        )
    )


def ends(archive: Path, folder: Path) -> None:
    """Drains that are cut short: by the end of their budget, by a second signal."""
    rows: list[list[object]] = []
    for name, spec, signals in (("budget of 3 s", {"drain_seconds": 3, "teardown_seconds": 4}, 1), ("second SIGTERM", {}, 2)):
        made = container(archive, fresh(folder, name), **spec)
        made.arguments, at = LARGE_STEPS, [0.0]

        def end(made: RealContainer = made, signals: int = signals, at: list[float] = at) -> None:
            for _ in range(signals):
                at[0] = time.monotonic()
                made.process.send_signal(signal.SIGTERM)
                time.sleep(0.3)  # two at once are one

        try:
            made.start().ready()
            tally = ended(made, end)
            code = made.wait(60)
            rows.append([name, code, f"{time.monotonic() - at[0]:.1f}", *told(tally)])
            say(made.message.read_text().strip())
        finally:
            made.remove()
    columns = ("way", "exit code", "ended after, s", "answered", "cut", "no answer", "no end", "HTTP 500", "HTTP 503 (come back)")
    say(table("A drain that is cut short", columns, rows))


def fresh(folder: Path, name: str) -> Path:
    """A folder of its own."""
    path = folder / name.replace(" ", "-").replace(",", "")
    path.mkdir()
    return path


def told(tally: Tally) -> list[object]:
    """Counts in the order of the table."""
    return [tally.counts[name] for name in ("ok", "cut", "lost", "silent", "http 500", "http 503")]


def hang(archive: Path, folder: Path) -> None:
    """From the stop of the engine core to the end of the container, with a probe every second."""
    made = container(archive, fresh(folder, "hang"), hang_seconds=LIMIT)
    made.arguments = LARGE_STEPS
    made.start().ready()
    tally = Tally()

    async def both() -> None:
        clients = asyncio.create_task(drive(Load(made.port, 8, TOKENS, 60, patience=30), tally, lambda: made.process.poll() is not None))
        await asyncio.sleep(2)
        os.kill(made.core(), signal.SIGSTOP)
        started = time.monotonic()
        while await asyncio.to_thread(made.live, LIMIT) == 0:
            await asyncio.sleep(1)
        noticed = time.monotonic() - started
        made.process.send_signal(signal.SIGTERM)
        code = await asyncio.to_thread(made.wait, 60)
        gone = time.monotonic() - started
        say(f"limit {LIMIT:g} s, period 1 s: noticed after {noticed:.1f} s, ended after {gone:.1f} s, exit code {code}")
        await clients

    try:
        asyncio.run(both())
    finally:
        made.remove()


def soak(archive: Path, folder: Path, seconds: float = 180) -> None:
    """Full load; the longest silence that the probe would have seen, looked at every 50 ms."""
    made = container(archive, fresh(folder, "soak"))
    made.arguments = SMALL_STEPS
    made.start().ready()
    tally, worst = Tally(), 0.0

    async def both() -> None:
        nonlocal worst
        clients = asyncio.create_task(drive(Load(made.port, 24, TOKENS, seconds, patience=120), tally))
        while not clients.done():
            worst = max(worst, silence(made.pages(), board.now()))
            await asyncio.sleep(0.05)

    try:
        asyncio.run(both())
        until(lambda: board.total(made.pages(), "inflight") == 0, 30, "the end of the load")
        fates = f"{dict(tally.counts)} {dict(tally.notes) or ''}".strip()
        say(f"{seconds:g} s at full load: {fates}; longest silence with work {worst:.2f} s; exit code {made.end()}")
    finally:
        made.remove()


def main(arguments: list[str]) -> int:
    known: dict[str, Callable[..., None]] = {"costs": costs, "drain": drain, "ends": ends, "hang": hang, "soak": soak}
    chosen = [each.partition("=") for each in arguments or ["costs", "drain", "hang"]]
    for name, _, _ in chosen:
        if name not in known:
            raise ToolError(f"{name}: there is no such measurement; there are {', '.join(known)}")
    with tempfile.TemporaryDirectory(prefix="interlock-bench-") as folder:
        archive = Path(folder) / ARCHIVE
        archive.write_bytes(packer.archive())
        for name, _, value in chosen:
            if name != "costs" and not env.whole(env.folder()):
                say(f"{name}: passed over, the engine environment is not built (python -m tools.engine_env)")
                continue
            known[name](archive, Path(folder), *([float(value)] if value else []))
    return 0


if __name__ == "__main__":
    run_main(main)
