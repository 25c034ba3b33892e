"""What the classes in front of the engine close: inner fields, wrong keys without end, files that are gone, WebSockets."""

import asyncio
import json
from pathlib import Path
from typing import Any

import prometheus_client
import pytest

from interlock.runtime.gate import bucket, keys, watched
from interlock.runtime.gate.account import Account
from interlock.runtime.gate.counters import Counters
from interlock.runtime.gate.keys import Keys
from interlock.runtime.gate.priority import Priority
from tools.runtime import contract
from tools.runtime.ask import Reply, Request, ask
from tools.runtime.fake_routes import FakeVllm


class Door:
    """Log, keys and order around an engine that pretends."""

    def __init__(self, folder: Path) -> None:
        contract.files(folder)
        self.engine, self.lines, self.registry = FakeVllm(), list[dict[str, Any]](), prometheus_client.CollectorRegistry()
        self.clock = 0.0
        self.keys = Keys(Priority(self.engine, str(folder)), str(folder), clock=lambda: self.clock)
        self.app = Account(
            self.keys,
            str(folder),
            say=lambda line: self.lines.append(json.loads(line)),
            count=lambda: Counters(prometheus_client, self.registry),
        )

    def ask(self, body: Any = None, key: str = contract.KEY, **asked: Any) -> Reply:
        return asyncio.run(ask(self.app, Request(key=key, body=contract.PROMPT if body is None else body, **asked)))

    def counted(self, status: int, tenant: str = "other") -> float | None:
        labels = {"tenant": tenant, "model": "", "status": str(status)}
        return self.registry.get_sample_value("interlock_requests_total", labels)


@pytest.fixture
def door(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Door:
    monkeypatch.setenv("INTERLOCK_BOARD", str(tmp_path))
    monkeypatch.setattr(watched, "PERIOD_SECONDS", 0.0)
    monkeypatch.setattr(watched, "_folders", {})
    return Door(tmp_path)


def code(reply: Reply) -> str:
    return str(reply.body["error"]["code"]) if reply.status >= 400 else ""


FROM = {"do_remote_prefill": True, "remote_host": "10.0.0.1"}
LONG = "x" * 1500


@pytest.mark.parametrize(
    "body",
    [
        {"kv_transfer_params": FROM},
        {"prompt": LONG, "kv_transfer_params": FROM, "user": LONG},
        {"ec_transfer_params": FROM},
        {"vllm_xargs": {"kv_transfer_params": "x"}},
        b'{"prompt":"hi","\\u006bv_transfer_params":{"a":1}}',
        '{"kv_transfer_params":{"a":1}}'.encode("utf-16"),
        b'{"kv_transfer_params":null,"kv_transfer_params":{"a":1}}',
        b'--b\r\nContent-Disposition: form-data; name="vllm_xargs"\r\n\r\n{"kv_transfer_params":"x"}\r\n--b--\r\n',
    ],
)
def test_where_another_engine_keeps_blocks_is_no_tenants_to_say(door: Door, body: Any) -> None:
    if isinstance(body, dict):
        body = contract.PROMPT | body
    assert (door.ask(body).status, code(door.ask(body))) == (403, "field_not_allowed")
    assert door.engine.arrived == []


@pytest.mark.parametrize(
    "body",
    [
        {"kv_transfer_params": None},
        {"prompt": 'say "kv_transfer_params" and "previous_response_id"'},
        {"prompt": "Stra\u00dfe \u4e00"},
        {"metadata": {"kv_transfer_params": 1}},
        {"vllm_xargs": {"a": 1}},
        {"request_id": "mine"},
    ],
)
def test_what_only_looks_like_it_passes_unchanged(door: Door, body: dict[str, Any]) -> None:
    assert door.ask(contract.PROMPT | body).status == 200
    assert {**door.engine.arrived[0][2], "priority": 0} == {**contract.PROMPT, **body, "priority": 0}


def test_a_router_before_a_pair_may_write_it(door: Door, tmp_path: Path) -> None:
    policy = json.loads((tmp_path / watched.POLICY).read_text())
    (tmp_path / watched.POLICY).write_text(json.dumps({**policy, "transfers": True}))
    assert door.ask(contract.PROMPT | {"kv_transfer_params": FROM}).status == 200


@pytest.mark.parametrize("field", ["previous_response_id", "request_id"])
def test_a_response_that_the_engine_stored_is_nobodys_to_take_up_or_to_overwrite(door: Door, field: str) -> None:
    body = {"model": "chat", "input": "hi", field: "resp_of_another"}
    assert code(door.ask(body, path="/v1/responses")) == "field_not_allowed"
    assert door.ask({**body, field: None}, path="/v1/responses").status == 404  # passed on: the fake does not know the route


def test_wrong_keys_without_end_are_slowed_counted_and_not_logged_and_a_right_one_is_served(
    door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keys, "WRONG_PER_MINUTE", 60)
    door.keys.wrong = bucket.full(60, 0.0)
    replies = [door.ask(key="a-1.wrong") for _ in range(70)]
    assert [reply.status for reply in replies] == [401] * 60 + [429] * 10
    assert (code(replies[-1]), replies[-1].headers["retry-after"]) == ("too_many_wrong_keys", "1")
    assert len(door.lines) == 60
    assert (door.counted(401), door.counted(429)) == (60, 10)
    assert door.ask().status == 200
    door.clock += 2
    assert door.ask(key="a-1.wrong").status == 401


def test_a_file_that_is_gone_stays_in_force_for_minutes_and_then_nobody_is_let_in(
    door: Door, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    text = (tmp_path / watched.KEYS).read_text()
    (tmp_path / watched.KEYS).unlink()
    assert door.ask().status == 200
    monkeypatch.setattr(watched, "KEPT_SECONDS", 0.0)
    assert code(door.ask()) == "invalid_api_key"
    assert code(door.ask()) == "invalid_api_key"
    (tmp_path / watched.KEYS).write_text(text)
    assert door.ask().status == 200
    said = capfd.readouterr().err
    assert said.count("stays in force for 300 s") == 1
    assert said.count("nobody is let in until it is there again") == 1


def test_a_websocket_is_counted_and_logged(door: Door) -> None:
    assert door.ask(path="/v1/realtime", kind="websocket").closed == 1008
    assert [(line["route"], line["status"], line["tenant"], "cut" in line) for line in door.lines] == [("/v1/realtime", 403, "a", False)]
    assert door.counted(403, "a") == 1


def test_after_its_body_an_application_hears_what_the_client_does(door: Door) -> None:
    heard = list[str]()

    class Listens(FakeVllm):
        async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
            heard.append((await receive())["type"])
            asyncio.get_running_loop().call_later(0.05, lambda: heard.append("waits"))
            await asyncio.wait([asyncio.ensure_future(receive())], timeout=0.1)
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b"{}"})

    door.keys.app.app = Listens()  # type: ignore[attr-defined]
    door.ask()
    assert heard == ["http.request", "waits"]
