"""The supervisor around an engine that behaves, hangs, dies, ignores signals and leaves children."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from interlock.runtime import board
from interlock.runtime.supervise import leftovers
from tools.runtime.load import Tally
from tools.runtime.testing import Container, until


def working(count: int, container: Container) -> None:
    """Waits until that many requests are in flight."""
    until(lambda: board.total(container.pages(), "inflight") >= count, what=f"{count} requests in flight")


def test_an_engine_that_is_asked_to_end_ends_with_0_and_leaves_nothing(container: Container) -> None:
    container.wrong = "family"
    container.start().ready()
    assert len(container.left()) >= 5
    assert container.end() == 0
    assert "drained" in container.message.read_text()
    assert "ready" in container.out


def test_a_drain_loses_no_request_and_cuts_no_stream(container: Container) -> None:
    container.start().ready()

    def drain(_: Tally) -> None:
        working(8, container)
        container.process.send_signal(signal.SIGTERM)
        until(lambda: container.get("/health") == 503, 5, "readiness off")
        assert container.get("/metrics") == 200

    tally = container.drive(drain)
    assert container.wait() == 0
    assert tally.counts["ok"] >= 8
    assert tally.lost == 0, tally.counts


def test_what_comes_in_a_drain_gets_503_to_come_back_on_another_connection(container: Container) -> None:
    container.spec = {"settle_seconds": 3}
    container.start().ready()
    container.process.send_signal(signal.SIGTERM)
    until(lambda: container.get("/health") == 503, 5, "readiness off")
    status, headers, body = container.post("/v1/completions", {"max_tokens": 1})
    assert (status, headers["retry-after"], headers["connection"]) == (503, "1", "close")
    assert json.loads(body)["error"]["code"] == 503
    assert container.wait() == 0


def test_a_large_body_is_read_before_it_is_refused_so_that_the_client_sees_the_answer(container: Container) -> None:
    container.spec = {"settle_seconds": 3}
    container.start().ready()
    container.process.send_signal(signal.SIGTERM)
    until(lambda: container.get("/health") == 503, 5, "readiness off")
    assert container.post("/v1/completions", {"prompt": "x" * (12 << 20)})[0] == 503
    assert container.wait() == 0


def test_a_budget_that_ends_gives_the_engine_its_teardown_and_says_what_was_cut(container: Container) -> None:
    container.spec = {"drain_seconds": 0.6, "teardown_seconds": 0.4}
    container.wrong = "ignores_term,step=0.05"
    container.start().ready()

    def drain(_: Tally) -> None:
        working(4, container)
        container.process.send_signal(signal.SIGTERM)

    tally = container.drive(drain, workers=4, tokens=200, seconds=6)
    assert container.wait() == 1
    assert tally.counts["cut"] == 4
    assert "the drain budget is over: 4 requests were still in flight" in container.message.read_text()


def test_a_second_signal_ends_the_drain_at_once(container: Container) -> None:
    container.wrong = "step=0.05"
    container.start().ready()

    def twice(_: Tally) -> None:
        working(2, container)
        container.process.send_signal(signal.SIGTERM)
        until(lambda: container.get("/health") == 503, 5, "readiness off")
        container.process.send_signal(signal.SIGTERM)

    container.drive(twice, workers=2, tokens=200, seconds=4)
    assert container.wait() == 1
    assert "second signal" in container.message.read_text()


def test_a_drain_that_is_asked_for_by_the_command_is_the_same_drain_and_a_signal_then_cuts_nothing(container: Container) -> None:
    container.start().ready()

    def drain(_: Tally) -> None:
        working(4, container)
        for _time in range(3):
            assert container.ask("drain") == 0
        container.process.send_signal(signal.SIGTERM)

    tally = container.drive(drain, workers=4)
    assert container.wait() == 0
    assert tally.lost == 0, tally.counts
    assert container.ask("drain") == 1


def test_a_signal_while_the_engine_loads_ends_it_within_seconds_also_when_it_does_not_heed_it(container: Container) -> None:
    container.wrong = "loads=600,ignores_term"
    container.start()
    until(lambda: container.found("serve"), what="the engine's process")
    time.sleep(0.3)  # it has set its handler
    started = time.monotonic()
    assert container.end() == 0
    assert time.monotonic() - started < 6
    assert "still loading" in container.message.read_text()


def test_a_signal_before_the_engine_is_there_is_not_lost(container: Container) -> None:
    container.wrong = "loads=600"
    container.start()
    time.sleep(0.03)
    assert container.end() in (0, -signal.SIGTERM)  # the second: Python itself was still starting, nothing had been started


def test_a_start_that_fails_is_3_with_the_engines_own_words(container: Container) -> None:
    container.wrong = "fails=No available memory for the cache blocks"
    assert container.start().wait() == 3
    said = container.message.read_text()
    assert "ended before it served (exit code 1)" in said
    assert "ValueError: No available memory for the cache blocks" in said
    assert said.count("\n") == 1


def test_a_killed_core_is_4_although_the_engine_says_0(container: Container) -> None:
    container.start().ready()
    os.kill(container.named("core"), signal.SIGKILL)
    assert container.wait() == 4
    assert "engine core exited unexpectedly" in container.message.read_text()


def test_a_killed_engine_takes_its_core_and_children_with_it(container: Container) -> None:
    container.wrong = "family"
    container.start().ready()
    os.kill(container.named("serve"), signal.SIGKILL)
    assert container.wait() == 4
    assert "signal 9" in container.message.read_text()


def test_a_killed_supervisor_takes_the_engine_with_it(container: Container) -> None:
    container.wrong = "family"
    container.start().ready()
    os.kill(container.process.pid, signal.SIGKILL)
    assert container.wait() == -signal.SIGKILL


def test_a_killed_guard_harms_nothing(container: Container) -> None:
    container.start().ready()
    os.kill(container.named("guard"), signal.SIGKILL)
    time.sleep(0.1)
    assert container.get("/health") == 200
    assert container.end() == 0


def test_a_hung_engine_is_seen_by_the_probe_and_ended_without_a_drain(container: Container) -> None:
    container.spec = {"hang_seconds": 1, "drain_seconds": 60}
    container.start().ready()

    def hang(_: Tally) -> None:
        working(4, container)
        assert container.live(1) == 0
        core = container.named("core")
        os.kill(core, signal.SIGSTOP)
        assert container.get("/health") == 200
        until(lambda: container.live(1) == 1, 5, "the hang in the probe")
        started = time.monotonic()
        assert container.end() == 5
        assert time.monotonic() - started < 3

    container.drive(hang, workers=4, tokens=2000)
    assert "hung" in container.message.read_text()


def test_a_core_that_stops_while_idle_is_found_by_the_next_request(container: Container) -> None:
    container.spec = {"hang_seconds": 1}
    container.start().ready()
    os.kill(container.named("core"), signal.SIGSTOP)
    time.sleep(1.3)
    assert container.live(1) == 0

    def ask(_: Tally) -> None:
        until(lambda: container.live(1) == 1, 5, "the hang in the probe")
        assert container.end() == 5

    container.drive(ask, workers=1)


def test_slow_clients_are_no_hang(container: Container) -> None:
    container.start().ready()
    reading = container.raw("/v1/completions", json.dumps({"max_tokens": 60000}).encode())
    uploading = container.raw("/v1/completions", b"{", announced=1000)
    until(lambda: board.total(container.pages(), "inflight") == 2, what="both clients")
    reading.close()
    time.sleep(0.5)
    until(lambda: board.total(container.pages(), "heard") == 0, 10, "the end of the first")
    time.sleep(1.2)
    assert container.live(1) == 0
    uploading.close()
    assert container.end() == 0


def test_an_operation_that_takes_long_without_a_step_is_no_hang(container: Container) -> None:
    container.wrong = "slow_adapter=2"
    container.start().ready()
    loading = container.raw("/v1/load_lora_adapter", b'{"lora_name": "a"}')
    until(lambda: board.total(container.pages(), "inflight") == 1, what="the operation")
    time.sleep(1.3)
    assert container.live(1) == 0
    loading.close()
    assert container.end() == 0


def test_readiness_waits_for_the_planned_adapters(container: Container) -> None:
    container.spec = {"adapters": ["sql", "law"]}
    container.start()
    until(lambda: container.get("/health") == 503, what="an answer")
    container.post("/v1/load_lora_adapter", {"lora_name": "sql"})
    assert container.get("/health") == 503
    container.post("/v1/load_lora_adapter", {"lora_name": "law"})
    assert container.get("/health") == 200
    assert container.end() == 0


def test_the_engines_output_comes_through_unchanged(container: Container) -> None:
    program = "import sys\nfor n in range(50000): print('line', n)\nprint('done', file=sys.stderr)"
    container.start(sys.executable, "-c", program)
    assert container.wait() == 3
    assert container.out == "".join(f"line {number}\n" for number in range(50000))
    assert container.err.startswith("done\n")


def test_output_as_json_keeps_process_and_level(container: Container) -> None:
    container.spec = {"log": "json"}
    container.start("sh", "-c", "echo '(APIServer pid=7) INFO 12-01 [a.py:1] it runs'; printf 'no end' >&2; exit 1")
    container.wait()
    said = json.loads(container.out)
    assert (said["process"], said["level"], said["message"], said["stream"]) == (
        "APIServer pid=7",
        "INFO",
        "12-01 [a.py:1] it runs",
        "stdout",
    )
    lines = [json.loads(line) for line in container.err.splitlines()]
    assert [line["source"] for line in lines] == ["engine", "interlock"]


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (None, "INTERLOCK_RUNTIME is missing"),
        ('{"drain_seconds": 1', "not valid JSON"),
        ('{"drain_second": 1}', "drain_second is not known"),
        ('{"drain_seconds": "1"}', "must be a number of seconds"),
        ('{"vllm": "0.33.0"}', "the plan is for vLLM 0.33.0, but the image has 0.32.0+cpu"),
        ('{"drain_seconds": 600, "grace_seconds": 30}', "grace_seconds 30 is less than"),
    ],
)
def test_a_bad_spec_is_one_line_and_2(container: Container, spec: str | None, message: str) -> None:
    container.extra = {"INTERLOCK_RUNTIME": spec} if spec is not None else {}
    if spec is None:
        container.dropped = ("INTERLOCK_RUNTIME",)
    assert container.start().wait() == 2
    assert message in container.err
    assert "Traceback" not in container.err


@pytest.mark.parametrize(
    ("command", "extra", "message"),
    [
        (("vllm", "serve", "m"), {}, "--middleware interlock.runtime.front.Front is missing"),
        (
            ("vllm", "serve", "m", "--middleware", "interlock.runtime.front.Front", "--disable-log-stats", "--api_server_count=2"),
            {},
            "log-stats",
        ),
        (
            ("python3", "-m", "vllm.entrypoints.openai.api_server", "--model", "m"),
            {},
            "--middleware interlock.runtime.front.Front is missing",
        ),
        (("vllm", "serve", "m", "--middleware=interlock.runtime.front.Front"), {"VLLM_USE_RUST_FRONTEND": "1"}, "VLLM_USE_RUST_FRONTEND"),
        (("no-such-program",), {}, "cannot start no-such-program: No such file or directory"),
        (("/etc/passwd",), {}, "Permission denied"),
    ],
)
def test_an_engine_that_could_not_be_watched_is_refused(
    container: Container, command: tuple[str, ...], extra: dict[str, str], message: str
) -> None:
    container.extra = extra
    assert container.start(*command).wait() == 2
    assert message in container.err
    assert message in container.message.read_text()
    assert "Traceback" not in container.err


def test_a_board_that_cannot_be_made_is_2(container: Container, tmp_path: Path) -> None:
    (tmp_path / "board").write_text("a file")
    assert container.start().wait() == 2
    assert "the board cannot be made" in container.err


def test_a_full_disk_below_the_board_is_2_and_not_a_crash(container: Container, tmp_path: Path) -> None:
    """A file system of 4 KiB, in a mount namespace of its own."""
    (tmp_path / "board").mkdir()
    inside = f'mount -t tmpfs -o size=4k none {tmp_path}/board && head -c 4096 /dev/zero >{tmp_path}/board/full; exec "$@"'
    container.around = ("unshare", "--mount", "sh", "-c", inside, "-")
    if subprocess.run(["unshare", "--mount", "true"], capture_output=True, check=False).returncode:
        pytest.skip("no mount namespaces here")
    assert container.start().wait() == 2
    assert "No space left on device" in container.err


def test_an_unwritable_termination_message_is_said_and_changes_no_code(container: Container, tmp_path: Path) -> None:
    container.spec = {"termination_log": str(tmp_path)}
    container.wrong = "fails=x"
    assert container.start().wait() == 3
    assert "no termination message" in container.err


def test_a_plugin_list_that_leaves_ours_out_gets_it(container: Container) -> None:
    container.extra = {"VLLM_PLUGINS": "other"}
    container.start().ready()
    assert container.pages()[0][board.WORDS["rows"]] == 1
    assert container.end() == 0


def test_shared_memory_of_an_earlier_engine_is_removed_unless_it_is_in_use(tmp_path: Path) -> None:
    for name in ("psm_0a1b2c3d", "sem.mp-x7_8abc", "psm_used", "model.bin", "psm_beef01"):
        (tmp_path / name).write_bytes(b"x")
    program = (
        f"import mmap, time; file = open('{tmp_path}/psm_beef01', 'r+b'); kept = mmap.mmap(file.fileno(), 1)\n"
        "print(1, flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as user:
        assert user.stdout
        user.stdout.readline()
        assert sorted(leftovers.remove(str(tmp_path))) == ["psm_0a1b2c3d", "sem.mp-x7_8abc"]
        user.kill()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model.bin", "psm_beef01", "psm_used"]


def test_as_pid_1_it_reaps_orphans_and_ends_everything(container: Container) -> None:
    if subprocess.run(["unshare", "--pid", "--fork", "true"], capture_output=True, check=False).returncode:
        pytest.skip("no process namespaces here")
    container.wrong = "family"
    container.around = ("unshare", "--pid", "--fork", "--mount-proc", "--kill-child")
    container.start()
    until(lambda: container.get("/health") == 200, what="readiness")
    (supervisor,) = container.children(container.process.pid)
    time.sleep(0.5)  # the orphan has ended by now
    zombies = [pid for pid in container.children(supervisor) if not board.alive(pid)]
    assert zombies == []
    os.kill(supervisor, signal.SIGTERM)
    assert container.wait() == 0
