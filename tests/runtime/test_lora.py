"""Adapters of a running engine: loaded, refused, and kept equal to a list."""

import asyncio
import contextlib
import http.server
import json
import ssl
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from interlock.runtime import adapters, lora
from interlock.runtime.gate.operator import operator_word
from interlock.runtime.lora_argv import static, with_file
from interlock.runtime.words import RefusedError
from tools.runtime.ask import Request, ask
from tools.runtime.fake_routes import FakeVllm
from tools.runtime.testing import until

SERVE = ("vllm", "serve", "m", "--enable-lora", "--max-loras", "2")


class Server(http.server.ThreadingHTTPServer):
    """vLLM's adapter routes over HTTP; `closed`: they are not there."""

    word, closed = b"", False

    def __init__(self, certificate: Path | None = None) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.adapters: dict[str, str] = {}
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate / "cert", certificate / "key")
            self.socket = context.wrap_socket(self.socket, server_side=True)


class Handler(http.server.BaseHTTPRequestHandler):
    server: Server

    def log_message(self, format: str, *args: Any) -> None: ...

    def answer(self, status: int, data: Any) -> None:
        text = json.dumps(data).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def do_GET(self) -> None:
        cards = [{"id": name, "root": path, "parent": "m"} for name, path in self.server.adapters.items()]
        self.answer(200, {"data": [{"id": "m", "root": "m"}, *cards]})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.headers["Authorization"] != f"Bearer {self.server.word.decode()}":
            self.answer(403, {"error": {"message": "this route is not for tenants"}})
        elif self.server.closed:
            self.answer(404, {"detail": "Not Found"})
        elif self.path.endswith("unload_lora_adapter"):
            known = self.server.adapters.pop(body["lora_name"], None)
            self.answer(200 if known else 404, "ok" if known else {"error": {"message": "cannot be found"}})
        else:
            self.server.adapters[body["lora_name"]] = body["lora_path"]
            self.answer(200, "ok")


@contextlib.contextmanager
def serving(made: Server) -> Iterator[Server]:
    made.word = operator_word()
    threading.Thread(target=made.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield made
    finally:
        made.shutdown()
        made.server_close()


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("INTERLOCK_BOARD", str(tmp_path))
    with serving(Server()) as made:
        yield made


@pytest.fixture
def engine(server: Server) -> lora.Engine:
    return lora.Engine([*SERVE, "--port", str(server.server_port)])


def adapter(folder: Path, name: str, rank: int = 8) -> str:
    path = folder / name
    path.mkdir()
    (path / "adapter_config.json").write_text(json.dumps({"r": rank}))
    return str(path)


def test_an_adapter_is_loaded_listed_and_unloaded(engine: lora.Engine, tmp_path: Path) -> None:
    path = adapter(tmp_path, "sql")
    engine.load("sql", path)
    assert engine.adapters() == {"sql": path}
    engine.unload("sql")
    assert engine.adapters() == {}
    with pytest.raises(RefusedError, match=r"sql: the engine answers 404: cannot be found"):
        engine.unload("sql")


@pytest.mark.parametrize(
    ("argv", "there", "rank", "words"),
    [
        (SERVE, (), 8, ""),
        (SERVE, ("a",), 16, ""),
        (SERVE, ("a", "new"), 16, ""),  # loaded again
        (SERVE, ("a", "b"), 8, "3 adapters need as many slots, and the engine has 2"),
        ((*SERVE, "--max-cpu-loras", "3"), ("a", "b"), 8, ""),
        (SERVE, (), 32, "rank 32 is more than 16"),
        ((*SERVE, "--max_lora_rank=64"), (), 64, ""),
        (SERVE[:3], (), 8, "without --enable-lora"),
        ((*SERVE, "--data-parallel-size", "4"), (), 8, "4 API servers"),
        ((*SERVE, "--data-parallel-size", "4", "--api-server-count", "1"), (), None, ""),
    ],
)
def test_what_does_not_fit_the_plan_is_refused_with_its_number(argv: tuple[str, ...], there: Any, rank: int | None, words: str) -> None:
    found = lora.refusal(argv, there, "new", rank)
    assert words in found
    assert bool(found) == bool(words)


def test_an_engine_that_changes_no_adapters_says_which_variable_lets_it(server: Server, engine: lora.Engine, tmp_path: Path) -> None:
    server.closed = True
    with pytest.raises(RefusedError, match="VLLM_ALLOW_RUNTIME_LORA_UPDATING"):
        engine.load("sql", adapter(tmp_path, "sql"))


def test_the_set_becomes_equal_to_the_list_and_one_that_fails_holds_up_no_other(
    engine: lora.Engine, server: Server, tmp_path: Path
) -> None:
    wanted = tmp_path / "adapters.json"
    paths = {name: adapter(tmp_path, name) for name in ("a", "b")}
    wanted.write_text(json.dumps({"gone": "/nowhere", **paths}))
    assert [each for each in lora.follow(engine, str(wanted)) if "adapter_config.json" in each]
    assert server.adapters == paths
    moved = {"b": adapter(tmp_path, "b2"), "c": adapter(tmp_path, "c")}
    wanted.write_text(json.dumps(moved))
    assert lora.follow(engine, str(wanted)) == []
    assert server.adapters == moved
    assert lora.follow(engine, str(wanted)) == []
    wanted.write_text("{")
    assert lora.follow(engine, str(wanted)) == [f"{wanted}: is not whole JSON"]
    assert server.adapters == moved


@pytest.mark.parametrize("text", ["[]", '{"a": 1}', '{"": "/x"}'])
def test_a_list_that_is_none_changes_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / "list").write_text(text)
    with pytest.raises(RefusedError, match="must be an object of paths"):
        lora.wanted_of(str(tmp_path / "list"))


@pytest.mark.parametrize("arguments", [[], ["load", "a"], ["other"], ["list", "x"]])
def test_a_command_that_is_none_tells_the_usage(arguments: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    assert lora.main(arguments) == 2
    assert "lora load NAME PATH" in capfd.readouterr().err


def test_without_a_supervisor_the_command_says_where_it_belongs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("INTERLOCK_BOARD", str(tmp_path))
    assert lora.main(["list"]) == 1
    assert "belongs into the engine's container" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("words", "names"),
    [
        ((), set()),
        (("--lora-modules", "a=/a", "b=/b", "--port", "1"), {"a", "b"}),
        (("--lora_modules=a=/a", "--enable-lora"), {"a"}),
        (("--lora-modules", '{"name": "c", "path": "/c"}', "--lora-modules", "d=/d"), {"c", "d"}),
        (("--lora-modules", "{broken"), set()),
    ],
)
def test_adapters_of_the_command_line_are_known(words: tuple[str, ...], names: set[str]) -> None:
    assert static((*SERVE, *words)) == names


def test_adapters_of_the_command_line_are_neither_unloaded_nor_moved_by_the_list(server: Server, tmp_path: Path) -> None:
    fixed = lora.Engine([*SERVE, "--lora-modules", "fixed=/fixed", "--port", str(server.server_port)])
    server.adapters["fixed"] = "/fixed"
    wanted = tmp_path / "list"
    for text in ("{}", '{"fixed": "/another"}'):
        wanted.write_text(text)
        assert lora.follow(fixed, str(wanted)) == []
        assert server.adapters == {"fixed": "/fixed"}
    with pytest.raises(RefusedError, match=r"fixed: stands in the engine's arguments"):
        fixed.unload("fixed")


def test_an_engine_with_a_certificate_and_a_key_of_its_own_is_asked_by_both(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INTERLOCK_BOARD", str(tmp_path))
    new = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=chat.example.org", "-days", "2"]
    subprocess.run([*new, "-keyout", tmp_path / "key", "-out", tmp_path / "cert"], check=True, capture_output=True)
    with serving(Server(tmp_path)) as made:
        tls = ["--ssl-certfile", str(tmp_path / "cert"), "--ssl-keyfile", str(tmp_path / "key"), "--port", str(made.server_port)]
        lora.Engine([*SERVE, *tls]).load("sql", adapter(tmp_path, "sql"))
        made.word = b"own"
        lora.Engine([*SERVE, *tls, "--api-key", "own"]).unload("sql")
        with pytest.raises(RefusedError, match="does not answer"):
            lora.Engine([*SERVE, *tls[4:]]).adapters()
    with pytest.raises(RefusedError, match=r"nowhere: No such file"):
        lora.Engine([*SERVE, "--ssl-certfile", "nowhere"]).adapters()


def test_arguments_of_a_file_count_and_those_beside_it_before_them(tmp_path: Path) -> None:
    file = tmp_path / "serve.yaml"
    file.write_text("port: 9000\nenable-lora: true\nmax-loras: 3\nlora-modules: [a=/a]\nenforce-eager: false\n")
    engine = lora.Engine(["vllm", "serve", "m", "--config", str(file), "--port", "9001"])
    assert (engine.port, sorted(engine.static)) == (9001, ["a"])
    assert lora.refusal(engine.argv, ("a", "b"), "c", 8) == ""
    assert "--enforce-eager" not in engine.argv
    for text, words in (("a: [", "is not YAML"), (None, "No such file")):
        file.unlink() if text is None else file.write_text(text)
        with pytest.raises(RefusedError, match=words):
            with_file(["--config", str(file)])


def test_a_pod_is_ready_once_the_adapters_of_the_list_are_there_and_stays_so(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    wanted = tmp_path / "list"
    wanted.write_text(json.dumps({"sql": str(tmp_path / "sql")}))
    monkeypatch.setenv(adapters.VARIABLE, str(wanted))
    monkeypatch.setattr(adapters, "engine_argv", lambda: [*SERVE, "--port", str(server.server_port)])
    monkeypatch.setattr(adapters, "BEGIN_SECONDS", 0.01)
    monkeypatch.setattr(adapters, "PERIOD_SECONDS", 0.01)
    app = adapters.Adapters(FakeVllm())

    def health() -> int:
        return asyncio.run(ask(app, Request(path="/health", method="GET"))).status

    assert health() == 503
    until(lambda: "adapter_config.json" in app.trouble, 10, "the trouble")
    assert health() == 503
    assert asyncio.run(ask(app, Request())).status == 200
    adapter(tmp_path, "sql")
    until(lambda: health() == 200, 10, "readiness")
    assert server.adapters == {"sql": str(tmp_path / "sql")}
    wanted.write_text(json.dumps({"sql": str(tmp_path / "sql"), "new": "/nowhere"}))
    until(lambda: "/nowhere" in app.trouble, 10, "the trouble of the new one")
    assert health() == 200
    app.ended.set()
    assert app.thread
    app.thread.join(10)
    assert capfd.readouterr().err.count("/nowhere") == 1
