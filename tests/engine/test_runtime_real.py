"""The supervisor, the middleware, the heartbeat and the probe on the real vLLM (CPU, a tiny model)."""

import contextlib
import http.client
import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from interlock.infra.facts.supervisor import ARCHIVE
from interlock.infra.manifests import archive as packer
from interlock.infra.sizing.start import Reading, Start, start_time
from interlock.runtime import board
from interlock.runtime import silence as rule
from tools.engine_env import env
from tools.runtime.load import Tally
from tools.runtime.real import RealContainer, container
from tools.runtime.testing import until
from tools.starts.judged import Starts

LIMIT = 3.0
"""Seconds of silence that count as a hang here. The longest step of the tiny model takes some milliseconds."""


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The zipapp."""
    if not env.whole(env.folder()):
        pytest.skip("the engine environment is not built: python -m tools.engine_env")
    path = tmp_path_factory.mktemp("archive") / ARCHIVE
    path.write_bytes(packer.archive())
    return path


@pytest.fixture(scope="module")
def engine(archive: Path, tmp_path_factory: pytest.TempPathFactory, starts: Starts) -> Iterator[RealContainer]:
    """One engine for the tests that leave it running; the last of them drains it."""
    made, began = container(archive, tmp_path_factory.mktemp("engine")), time.monotonic()
    try:
        made.start().ready()
        size = sum(each.stat().st_size for each in env.model(env.folder(), "dense").iterdir())
        starts.add("supervised", time.monotonic() - began, start_time(Start(weights=size, reading=Reading.DISK, eager=True)).container)
        yield made
    finally:
        made.remove()


@pytest.fixture
def another(archive: Path, tmp_path: Path) -> Iterator[RealContainer]:
    """An engine of the test's own, not started yet."""
    made = container(archive, tmp_path, hang_seconds=LIMIT)
    yield made
    made.remove()


def beats(engine: RealContainer) -> int:
    """Steps that were reported so far."""
    return sum(words[board.HEAD_WORDS + 2] for words in engine.pages())


def silence(engine: RealContainer) -> float:
    """What the probe judges by."""
    return rule.silence(engine.pages(), board.now())


def asked(engine: RealContainer, tokens: int, prompt: str = "hi", **more: object) -> threading.Thread:
    """A completion in the background."""
    body = {"model": "tiny", "prompt": prompt, "max_tokens": tokens, "ignore_eos": True, "temperature": 0, **more}

    def ask() -> None:
        with contextlib.suppress(OSError, http.client.HTTPException):  # some tests end the engine under it
            engine.post("/v1/completions", body, 120)

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    return thread


def found_late(engine: RealContainer) -> float:
    """Seconds until a probe with a period of one second says that it hangs."""
    started = time.monotonic()
    while engine.live(LIMIT) == 0:
        assert time.monotonic() - started < 60, "the hang was not found"
        time.sleep(1.0)
    return time.monotonic() - started


def test_the_archive_loads_as_middleware_and_heartbeat(engine: RealContainer) -> None:
    before = beats(engine)
    asked(engine, 20).join(60)
    assert beats(engine) - before >= 20
    assert board.total(engine.pages(), "serving") == 1
    assert engine.live(LIMIT) == 0


def test_a_prompt_of_more_than_a_hundred_steps_is_no_hang(engine: RealContainer) -> None:
    before, worst = beats(engine), 0.0
    thread = asked(engine, 1, "a long prompt " * 65)
    while thread.is_alive():
        worst = max(worst, silence(engine))
        time.sleep(0.01)
    assert beats(engine) - before > 100
    assert worst < LIMIT


def test_an_idle_engine_is_no_hang_however_long_it_idles(engine: RealContainer) -> None:
    time.sleep(LIMIT + 0.5)
    assert engine.live(LIMIT) == 0


def test_clients_that_neither_read_nor_end_their_upload_and_one_that_leaves_are_no_hang(engine: RealContainer) -> None:
    answer = {"model": "tiny", "prompt": "hi", "max_tokens": 480, "n": 8, "ignore_eos": True, "stream": True}
    left = engine.raw("/v1/completions", json.dumps(answer | {"max_tokens": 900}).encode())
    until(lambda: any(words[board.HEAD_WORDS + 3] for words in engine.pages()), 60, "a step with requests")
    left.close()
    reads_nothing = engine.raw("/v1/completions", json.dumps(answer | {"stream_options": {"continuous_usage_stats": True}}).encode())
    uploading = engine.raw("/v1/completions", b"{", announced=1000)
    until(lambda: board.total(engine.pages(), "inflight") >= 1 and not any(w[board.HEAD_WORDS + 3] for w in engine.pages()), 60, "idling")
    time.sleep(LIMIT + 0.5)
    assert engine.live(LIMIT) == 0
    reads_nothing.close()
    uploading.close()


def test_full_load_is_no_hang(engine: RealContainer) -> None:
    """Five seconds here; docs/performance.md records a long run."""
    threads = [asked(engine, 150, f"worker {number}") for number in range(24)]
    worst, until_then = 0.0, time.monotonic() + 5
    while time.monotonic() < until_then and any(thread.is_alive() for thread in threads):
        worst = max(worst, silence(engine))
        time.sleep(0.01)
    for thread in threads:
        thread.join(120)
    assert worst < LIMIT


def test_a_core_that_stops_while_idle_is_found_within_two_periods_of_the_next_request(engine: RealContainer) -> None:
    os.kill(engine.core(), signal.SIGSTOP)
    try:
        time.sleep(1.0)
        thread = asked(engine, 5)
        assert engine.get("/health") == 200, "vLLM's own health sees nothing"
        assert LIMIT - 0.5 < found_late(engine) < LIMIT + 4
    finally:
        os.kill(engine.core(), signal.SIGCONT)
    thread.join(60)
    assert engine.live(LIMIT) == 0


def test_a_core_that_stops_in_the_middle_of_streams_is_found(engine: RealContainer) -> None:
    """That such an engine is ended with 5 is shown in tests/runtime."""
    threads = [asked(engine, 200, f"worker {number}") for number in range(8)]
    until(lambda: any(words[board.HEAD_WORDS + 3] for words in engine.pages()), 60, "a step with requests")
    os.kill(engine.core(), signal.SIGSTOP)
    try:
        assert found_late(engine) < LIMIT + 4
    finally:
        os.kill(engine.core(), signal.SIGCONT)
    for thread in threads:
        thread.join(120)
    assert engine.live(LIMIT) == 0


def test_a_drain_of_32_keep_alive_streams_loses_nothing(engine: RealContainer) -> None:
    def drain(_: Tally) -> None:
        until(lambda: board.total(engine.pages(), "inflight") >= 24, 60, "streams in flight")
        engine.process.send_signal(signal.SIGTERM)
        until(lambda: engine.get("/health") == 503, 30, "readiness off")

    tally = engine.drive(drain, workers=32, tokens=120, seconds=200, leaves=True)
    assert engine.wait(120) == 0
    assert tally.counts["ok"] >= 24
    assert tally.lost == 0, tally.counts
    assert "drained" in engine.message.read_text()


def test_a_killed_core_is_4_although_vllm_says_0(another: RealContainer) -> None:
    another.start().ready()
    os.kill(another.core(), signal.SIGKILL)
    assert another.wait(60) == 4
    assert "the engine ended by itself (exit code 0)" in another.message.read_text()


def test_arguments_that_vllm_does_not_know_are_3_with_its_own_words(another: RealContainer) -> None:
    another.arguments = ("--no-such-option",)
    assert another.start().wait(120) == 3
    assert "unrecognized arguments: --no-such-option" in another.message.read_text()


def test_the_installed_version_is_read_as_the_package_says_it(archive: Path) -> None:
    program = (
        "import sys; sys.path.insert(0, sys.argv[1]); from interlock.runtime.supervise.command import installed; print(installed(sys.path))"
    )
    python = env.python_of(env.folder())
    ours = subprocess.run([str(python), "-I", "-c", program, str(archive)], capture_output=True, text=True, check=True).stdout
    theirs = subprocess.run(
        [str(python), "-c", "from importlib.metadata import version; print(version('vllm'))"], capture_output=True, text=True, check=True
    )
    assert ours == theirs.stdout
