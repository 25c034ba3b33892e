"""The weights program against a hub that breaks off, lies, redirects and forbids."""

import hashlib
import http.server
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from interlock.runtime import weights

REVISION = "0123456789abcdef"
PROGRAM = Path(weights.__file__)


@dataclass
class Hub:
    """A model hub on a socket: files by name, and what it does wrong."""

    files: dict[str, bytes]
    break_after: int | None = None
    listed_size: dict[str, int] = field(default_factory=dict)
    listed_hash: dict[str, str] = field(default_factory=dict)
    status: int = 200
    ranges: bool = True
    pause: float = 0
    redirect: str = ""
    asked: list[tuple[str, str, str]] = field(default_factory=list)
    url: str = ""

    def handler(hub) -> type[http.server.BaseHTTPRequestHandler]:
        class Handler(http.server.BaseHTTPRequestHandler):
            def log_message(self, *_: object) -> None: ...

            def do_GET(self) -> None:
                hub.asked.append((self.path, self.headers.get("Range", ""), self.headers.get("Authorization", "")))
                if hub.status != 200:
                    self.send_error(hub.status)
                elif self.path.startswith("/api/"):
                    self._send(200, json.dumps({"siblings": [hub.row(name) for name in hub.files]}).encode())
                elif hub.redirect:
                    self.send_response(302)
                    self.send_header("Location", hub.redirect + self.path)
                    self.end_headers()
                else:
                    self._file(hub.files[self.path.partition(f"/resolve/{REVISION}/")[2]])

            def _file(self, data: bytes) -> None:
                start = int(self.headers.get("Range", "bytes=0-")[6:-1]) if hub.ranges else 0
                status = 206 if start else 200
                self.send_response(status)
                self.send_header("Content-Length", str(len(data) - start))
                if start:
                    self.send_header("Content-Range", f"bytes {start}-{len(data) - 1}/{len(data)}")
                self.end_headers()
                rest = data[start:]
                if hub.break_after is not None:
                    self.wfile.write(rest[: hub.break_after])
                    self.wfile.flush()
                    self.connection.close()
                    return
                for at in range(0, len(rest), 4096):
                    self.wfile.write(rest[at : at + 4096])
                    self.wfile.flush()
                    time.sleep(hub.pause)

            def _send(self, status: int, body: bytes) -> None:
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        return Handler

    def row(self, name: str) -> dict[str, object]:
        data = self.files[name]
        digest = self.listed_hash.get(name, hashlib.sha256(data).hexdigest())
        return {"rfilename": name, "size": self.listed_size.get(name, len(data)), "lfs": {"sha256": digest}}


@pytest.fixture
def hub() -> Iterator[Hub]:
    served = Hub({"config.json": b"{}", "model-1.safetensors": bytes(range(256)) * 1024, "deep/tokenizer.json": b"[1]"})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), served.handler())
    served.url = f"http://127.0.0.1:{server.server_address[1]}"
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield served
    server.shutdown()


def fetch(hub: Hub, target: Path, *more: str) -> int:
    return weights.main(["fetch", "--endpoint", hub.url, "--model", "org/model", "--revision", REVISION, "--target", str(target), *more])


def test_a_revision_is_fetched_whole_and_marked(hub: Hub, tmp_path: Path) -> None:
    assert fetch(hub, tmp_path) == 0
    assert {name: (tmp_path / name).read_bytes() for name in hub.files} == hub.files
    assert json.loads((tmp_path / weights.MARKER).read_text())["revision"] == REVISION


def test_a_complete_revision_is_not_asked_for_again(hub: Hub, tmp_path: Path) -> None:
    fetch(hub, tmp_path)
    hub.asked.clear()
    assert fetch(hub, tmp_path) == 0
    assert hub.asked == []


def test_a_transfer_that_broke_off_goes_on_where_it_stopped(hub: Hub, tmp_path: Path) -> None:
    hub.break_after = 100_000
    assert fetch(hub, tmp_path) == weights.AGAIN
    assert not (tmp_path / weights.MARKER).exists()
    hub.break_after = None
    assert fetch(hub, tmp_path) == 0
    assert ("bytes=100000-") in [asked[1] for asked in hub.asked]
    assert (tmp_path / "model-1.safetensors").read_bytes() == hub.files["model-1.safetensors"]


def test_a_hub_without_ranges_is_started_over(hub: Hub, tmp_path: Path) -> None:
    hub.break_after = 100_000
    fetch(hub, tmp_path)
    hub.break_after, hub.ranges = None, False
    assert fetch(hub, tmp_path) == 0
    assert (tmp_path / "model-1.safetensors").read_bytes() == hub.files["model-1.safetensors"]


def test_wrong_content_is_thrown_away_and_never_marked(hub: Hub, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hub.listed_hash["config.json"] = "0" * 64
    assert fetch(hub, tmp_path) == weights.AGAIN
    assert "SHA-256" in capsys.readouterr().out
    assert not (tmp_path / "config.json").exists()
    assert not (tmp_path / weights.MARKER).exists()


@pytest.mark.parametrize(("status", "code"), [(404, weights.NEVER), (401, weights.NEVER), (503, weights.AGAIN)])
def test_only_what_a_retry_can_help_is_retried(hub: Hub, tmp_path: Path, status: int, code: int) -> None:
    hub.status = status
    assert fetch(hub, tmp_path) == code


def test_a_model_larger_than_the_volume_is_refused_with_the_sizes(hub: Hub, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hub.listed_size["config.json"] = 10**18
    assert fetch(hub, tmp_path) == weights.NEVER
    assert "GiB free" in capsys.readouterr().out


def test_a_file_name_that_leaves_the_folder_is_refused(hub: Hub, tmp_path: Path) -> None:
    hub.files["../outside"] = b"x"
    assert fetch(hub, tmp_path) == weights.NEVER
    assert not (tmp_path.parent / "outside").exists()


def test_ignored_patterns_are_not_fetched(hub: Hub, tmp_path: Path) -> None:
    assert fetch(hub, tmp_path, "--ignore", "deep/*") == 0
    assert not (tmp_path / "deep").exists()


def test_the_token_goes_to_the_hub_and_not_to_where_it_redirects(hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    store = Hub(hub.files)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), store.handler())
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    hub.redirect = f"http://127.0.0.1:{server.server_address[1]}"
    assert fetch(hub, tmp_path) == 0
    server.shutdown()
    assert {asked[2] for asked in hub.asked} == {"Bearer hf_secret"}
    assert {asked[2] for asked in store.asked} == {""}


def test_a_killed_writer_frees_the_lock_and_its_bytes_are_used(hub: Hub, tmp_path: Path) -> None:
    hub.pause = 0.02
    command = [sys.executable, str(PROGRAM), "fetch", "--endpoint", hub.url, "--model", "org/model"]
    command += ["--revision", REVISION, "--target", str(tmp_path)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    part = tmp_path / ("model-1.safetensors" + weights.PART)
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and not (part.exists() and part.stat().st_size):
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    kept = part.stat().st_size
    assert 0 < kept < len(hub.files["model-1.safetensors"])
    hub.pause = 0
    assert fetch(hub, tmp_path) == 0
    assert f"bytes={kept}-" in [asked[1] for asked in hub.asked]
    assert (tmp_path / "model-1.safetensors").read_bytes() == hub.files["model-1.safetensors"]


def test_a_second_writer_waits_for_the_first(tmp_path: Path) -> None:
    entered = threading.Event()
    order: list[str] = []

    def second() -> None:
        with weights.one_writer(tmp_path):
            order.append("second")
            entered.set()

    with weights.one_writer(tmp_path):
        other = threading.Thread(target=second)
        other.start()
        assert not entered.wait(0.2)
        order.append("first")
    other.join(10)
    assert order == ["first", "second"]


def test_a_folder_is_copied_to_a_node_once(hub: Hub, tmp_path: Path) -> None:
    source, target = tmp_path / "store", tmp_path / "node"
    fetch(hub, source)
    assert weights.main(["sync", "--source", str(source), "--target", str(target)]) == 0
    assert (target / "deep/tokenizer.json").read_bytes() == b"[1]"
    before = (target / "config.json").stat().st_mtime_ns
    assert weights.main(["sync", "--source", str(source), "--target", str(target)]) == 0
    assert (target / "config.json").stat().st_mtime_ns == before


def test_a_store_that_is_still_being_filled_is_not_copied(hub: Hub, tmp_path: Path) -> None:
    source, target = tmp_path / "store", tmp_path / "node"
    hub.break_after = 1
    fetch(hub, source)
    assert weights.main(["sync", "--source", str(source), "--target", str(target)]) == weights.AGAIN
    assert not target.exists()
