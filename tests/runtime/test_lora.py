"""Adapters of a running engine: loaded, refused, and kept equal to a list."""

import http.server
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from interlock.runtime import lora
from interlock.runtime.gate.operator import operator_word
from interlock.runtime.words import RefusedError

SERVE = ("vllm", "serve", "m", "--enable-lora", "--max-loras", "2")


class Server(http.server.ThreadingHTTPServer):
    """vLLM's adapter routes over HTTP; `closed`: they are not there."""

    word, closed = b"", False

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.adapters: dict[str, str] = {}


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


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("INTERLOCK_BOARD", str(tmp_path))
    made = Server()
    made.word = operator_word()
    threading.Thread(target=made.serve_forever, args=(0.01,), daemon=True).start()
    yield made
    made.shutdown()
    made.server_close()


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
