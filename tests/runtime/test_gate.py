"""The classes in front of the engine, called as a server calls them."""

import asyncio
import hashlib
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import prometheus_client
import pytest

from interlock.runtime.gate import access, ticket, told, watched
from interlock.runtime.gate.account import Account
from interlock.runtime.gate.body import LONG, Asked, with_field
from interlock.runtime.gate.body import read as read_body
from interlock.runtime.gate.counters import Counters
from interlock.runtime.gate.governor import Governor, adjusted
from interlock.runtime.gate.keys import Keys
from interlock.runtime.gate.limits import Limits
from interlock.runtime.gate.operator import read_word
from interlock.runtime.gate.priority import Priority, deadline
from tools.runtime.ask import Reply, Request, ask
from tools.runtime.fake_routes import FakeVllm

HASH_KEY = bytes(range(32))
KEY, OTHER = "team-a-1.correct-horse", "team-b-1.battery-staple"
TENANTS: dict[str, Any] = {"team-a": {"class": "interactive"}, "team-b": {"models": ["chat"]}, "late": {"expires": 1000}}


def entry(tenant: str, key: str) -> dict[str, str]:
    return {"tenant": tenant, "hash": access.hashed(HASH_KEY, key.partition(".")[2].encode()).hex()}


def write(folder: Path, tenants: dict[str, Any] | None = None, **more: Any) -> None:
    """The two files, put into place as a kubelet does it."""
    keys = {key.partition(".")[0]: entry(name, key) for name, key in (("team-a", KEY), ("team-b", OTHER), ("late", "late-1.x"))}
    policy = {"model": "chat", "models": ["chat", "sql"], "tenants": TENANTS if tenants is None else tenants, **more}
    put(folder / watched.POLICY, json.dumps(policy))
    put(folder / watched.KEYS, json.dumps({"hash_key": HASH_KEY.hex(), "keys": keys}))


def put(path: Path, text: str) -> None:
    part = path.with_suffix(".new")
    part.write_text(text)
    part.rename(path)


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files, a board, and no file that another test left in memory."""
    monkeypatch.setenv("INTERLOCK_BOARD", str(tmp_path))
    monkeypatch.setattr(watched, "PERIOD_SECONDS", 0.0)
    monkeypatch.setattr(watched, "_folders", {})
    write(tmp_path)


class Gate:
    """All classes around an engine that pretends, in the order in which a server names them."""

    def __init__(self, folder: Path, engine: FakeVllm | None = None) -> None:
        self.engine, self.lines, self.registry = engine or FakeVllm(), list[dict[str, Any]](), prometheus_client.CollectorRegistry()
        self.clock = 0.0
        self.limits = Limits(self.engine, str(folder), clock=lambda: self.clock)
        self.app = Account(
            Keys(self.limits, str(folder)),
            str(folder),
            say=lambda line: self.lines.append(json.loads(line)),
            count=lambda: Counters(prometheus_client, self.registry),
        )

    def ask(self, **asked: Any) -> Reply:
        return asyncio.run(ask(self.app, Request(**{"key": KEY, **asked})))

    def series(self, name: str, **labels: str) -> float | None:
        return self.registry.get_sample_value(name, labels)


@pytest.fixture
def gate(tmp_path: Path) -> Gate:
    return Gate(tmp_path)


def refused(reply: Reply, status: int, code: str) -> None:
    """In OpenAI's form."""
    assert (reply.status, reply.body["error"]["code"]) == (status, code)
    assert set(reply.body["error"]) == {"message", "type", "param", "code"}


def test_a_key_opens_the_engine_and_its_tenant_stands_in_the_log(gate: Gate) -> None:
    assert gate.ask().status == 200
    assert (gate.lines[0]["tenant"], gate.lines[0]["model"], gate.lines[0]["status"]) == ("team-a", "chat", 200)


def test_the_header_of_anthropics_clients_carries_a_key_too(gate: Gate) -> None:
    assert gate.ask(path="/v1/messages", key="", headers={"x-api-key": KEY}).status == 200
    assert gate.ask(key="", headers={"authorization": "Basic Zm9v", "x-api-key": KEY}).status == 200
    refused(gate.ask(key="a.wrong", headers={"x-api-key": KEY}), 401, "invalid_api_key")


@pytest.mark.parametrize(
    ("key", "code"),
    [
        ("", "missing_api_key"),
        ("team-a-1.wrong", "invalid_api_key"),
        ("team-a-1", "invalid_api_key"),
        ("nobody.correct-horse", "invalid_api_key"),
        (".", "invalid_api_key"),
        ("team-a-1.correct-horse" + "x" * 1_000_000, "invalid_api_key"),
        ("late-1.x", "expired_api_key"),
    ],
)
def test_without_a_valid_key_the_engine_hears_nothing(gate: Gate, key: str, code: str) -> None:
    refused(gate.ask(key=key), 401, code)
    assert gate.engine.arrived == []
    assert gate.lines[0]["refused"] == code


@pytest.mark.parametrize("route", ["/health", "/metrics"])
def test_probes_and_prometheus_need_no_key(gate: Gate, route: str) -> None:
    assert gate.ask(path=route, method="GET", key="").status == 200
    assert gate.lines == []


@pytest.mark.parametrize("route", ["/invocations", "/v1/load_lora_adapter", "/sleep", "/new/route", "/v1/completions/", "/metricsx"])
def test_a_route_that_is_not_listed_is_closed_with_a_key_and_without_one(gate: Gate, route: str) -> None:
    refused(gate.ask(path=route), 403, "route_not_allowed")
    refused(gate.ask(path=route, key=""), 401, "missing_api_key")
    assert gate.engine.arrived == []


def test_a_route_that_the_file_names_is_open_and_no_header_chooses_its_model(gate: Gate, tmp_path: Path) -> None:
    write(tmp_path, routes=["/invocations"])
    assert gate.ask(path="/invocations", headers={"X-Amzn-SageMaker-Adapter-Identifier": "sql"}, key=OTHER).status == 200
    assert "x-amzn-sagemaker-adapter-identifier" not in gate.engine.arrived[0][1]


def test_a_prefix_that_a_proxy_keeps_is_no_part_of_the_route(gate: Gate) -> None:
    assert gate.ask(path="/chat/health", root_path="/chat", method="GET", key="").status == 404  # passed on: the fake knows no prefix
    refused(gate.ask(path="/chat/v1/completions", root_path="/other"), 403, "route_not_allowed")


@pytest.mark.parametrize("body", [{"model": "sql"}, {"model": ["chat"]}, b'{"model":"chat","model":"sql"}', b"no json", b""])
def test_a_tenant_reaches_only_its_models_however_they_are_written(gate: Gate, body: Any) -> None:
    refused(gate.ask(key=OTHER, body=body), 403, "model_not_allowed")
    assert gate.engine.arrived == []


@pytest.mark.parametrize("body", [{"model": "chat"}, {}, {"model": None}, {"model": ""}])
def test_a_request_without_a_model_gets_the_servers_own(gate: Gate, body: Any) -> None:
    assert gate.ask(key=OTHER, body=body).status == 200


def test_a_body_in_pieces_arrives_whole_and_unchanged(gate: Gate) -> None:
    gate.ask(body={"model": "chat", "prompt": "x" * 1000}, pieces=7)
    assert gate.engine.arrived[0][2] == {"model": "chat", "prompt": "x" * 1000}


@pytest.mark.parametrize("headers", [{}, {"content-length": "2000000"}])
def test_a_body_that_is_too_large_is_refused_with_and_without_a_length(gate: Gate, tmp_path: Path, headers: dict[str, str]) -> None:
    write(tmp_path, max_body_bytes=1000)
    for size in (1001, 2000):
        refused(gate.ask(body=b"x" * size, pieces=4, headers=headers), 413, "request_too_large")


def test_a_client_that_leaves_in_its_body_gets_no_answer_and_is_counted(gate: Gate) -> None:
    assert gate.ask(body=b"x" * 100, pieces=4, gone=True).status == 0
    assert (gate.lines[0]["status"], gate.engine.arrived) == (499, [])


def test_a_websocket_is_closed(gate: Gate) -> None:
    assert gate.ask(path="/v1/realtime", kind="websocket").closed == 1008


def test_a_browsers_question_needs_no_key_and_a_request_after_it_does(gate: Gate) -> None:
    assert gate.ask(method="OPTIONS", key="").status == 404
    refused(gate.ask(method="OPTIONS", key="", path="/sleep"), 401, "missing_api_key")


def test_a_command_inside_the_container_reaches_what_tenants_do_not(gate: Gate) -> None:
    reply = gate.ask(path="/v1/load_lora_adapter", key=read_word().decode(), body={"lora_name": "sql", "lora_path": "/x"})
    assert (reply.status, gate.lines[0]["tenant"]) == (200, "(operator)")


def test_new_files_hold_at_once_and_broken_ones_change_nothing(gate: Gate, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    whole = (tmp_path / watched.KEYS).read_text()
    for broken in (whole[: len(whole) // 2], "[]", whole.replace('"late-1"', '"team-a-1"'), ""):
        put(tmp_path / watched.KEYS, broken)
        assert gate.ask().status == 200, broken[:20]
    (tmp_path / watched.KEYS).unlink()
    assert gate.ask().status == 200
    put(tmp_path / watched.KEYS, whole.replace("team-a-1", "team-a-2"))
    refused(gate.ask(), 401, "invalid_api_key")
    assert gate.ask(key=KEY.replace("a-1", "a-2")).status == 200
    told_of = capfd.readouterr().err
    assert "stands there twice" in told_of
    assert entry("team-a", KEY)["hash"] not in told_of


def test_without_files_nobody_is_let_in(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    refused(Gate(tmp_path / "empty").ask(), 401, "invalid_api_key")


def test_thousands_of_tenants_cost_one_look_up(tmp_path: Path) -> None:
    names = [f"t{at}" for at in range(5000)]
    keys = {f"{name}-1": entry(name, f"{name}-1.s") for name in names}
    put(tmp_path / watched.POLICY, json.dumps({"model": "chat", "tenants": {name: {} for name in names}}))
    put(tmp_path / watched.KEYS, json.dumps({"hash_key": HASH_KEY.hex(), "keys": keys}))
    gate = Gate(tmp_path)
    assert [gate.ask(key=f"{name}-1.s").status for name in names[::1000]] == [200] * 5
    few = {"t4999-1": keys["t4999-1"]}
    many, one = (access.read_keys(json.dumps({"hash_key": HASH_KEY.hex(), "keys": each}).encode()) for each in (keys, few))
    # One after another, so that a busy machine slows both; a walk over all keys would take a thousand times as long.
    taken = [(looked_up(many), looked_up(one)) for _ in range(5)]
    assert min(first / second for first, second in taken) < 20


def looked_up(found: access.Keys) -> float:
    """Processor time of two hundred look-ups."""
    started = time.process_time()
    for _ in range(200):
        access.holder(found, b"t4999-1.s")
    return time.process_time() - started


def test_no_line_and_no_series_holds_a_key_or_a_word_of_a_prompt(gate: Gate, capfd: pytest.CaptureFixture[str]) -> None:
    gate.ask(body={"model": "chat", "prompt": "confidential"}, headers={"x-request-id": "mine"})
    gate.ask(key="team-a-1.confidential", path="/confidential")
    gate.ask(body={"model": "confidential"})
    shown = json.dumps(gate.lines) + prometheus_client.generate_latest(gate.registry).decode() + "".join(capfd.readouterr())
    assert "correct-horse" not in shown
    assert "confidential" not in shown
    assert hashlib.sha256(b"correct-horse").hexdigest() not in shown
    assert gate.lines[0]["client_id"] == "mine"


@pytest.mark.parametrize(
    ("path", "body", "counted"),
    [
        ("/v1/completions", {}, "usage"),
        ("/v1/messages", {}, "usage"),
        ("/v1/messages", {"stream": True}, "usage"),
        ("/v1/completions", {"stream": True}, "events"),
        ("/v1/chat/completions", {"stream": True}, "events"),
        ("/v1/chat/completions", {"stream": True, "stream_options": {"include_usage": True}}, "usage"),
    ],
)
def test_tokens_are_counted_and_a_stream_is_passed_on_as_it_is(tmp_path: Path, path: str, body: Any, counted: str) -> None:
    gate = Gate(tmp_path)
    seen = asyncio.run(ask(FakeVllm(), Request(path=path, body=body)))
    reply = gate.ask(path=path, body=body)
    assert reply.pieces == seen.pieces
    line = gate.lines[0]
    assert (line["completion_tokens"], line["counted"], line["prompt_tokens"]) == (3, counted, 5 if counted == "usage" else 0)
    assert gate.series("interlock_completion_tokens_total", tenant="team-a", model="chat") == 3
    assert gate.series("interlock_requests_total", tenant="team-a", model="chat", status="200") == 1
    assert reply.headers["x-request-id"] == line["id"]


def test_what_the_engine_counted_is_taken_before_what_the_answer_says(tmp_path: Path) -> None:
    class Finished:
        num_prompt_tokens, num_generation_tokens, queued_time = 7, 11, 0.5

        def __init__(self, request_id: str) -> None:
            self.request_id = request_id

    class Engine(FakeVllm):
        def answer(self, path: str, asked: dict[str, Any]) -> tuple[int, Any]:
            name = self.arrived[-1][1]["x-request-id"]
            told.note([Finished(f"cmpl-{name}-0"), Finished(f"cmpl-{name}-1"), Finished("cmpl-other"), Finished(""), object()])
            return super().answer(path, asked)

    gate = Gate(tmp_path, Engine())
    gate.ask(headers={"x-request-id": "chosen-by-the-client"})
    line = gate.lines[0]
    assert (line["prompt_tokens"], line["completion_tokens"], line["queue_seconds"], line["counted"]) == (14, 22, 0.5, "engine")
    assert not ticket.FINISHED
    assert not told.WAITING


@pytest.mark.parametrize(("path", "pieces"), [("/v1/completions", 4), ("/v1/chat/completions", 5), ("/v1/messages", 6)])
def test_a_client_that_leaves_is_charged_for_what_was_sent(tmp_path: Path, path: str, pieces: int) -> None:
    """Chats and messages begin with events in which nothing is written."""
    gate = Gate(tmp_path, FakeVllm(tokens=50))
    gate.ask(path=path, body={"stream": True}, leaves=pieces)
    assert (gate.lines[0]["completion_tokens"], gate.lines[0]["cut"], gate.engine.running) == (4, True, 0)


def limited(folder: Path, **limits: int) -> Gate:
    write(folder, {"team-a": limits, "team-b": {}})
    return Gate(folder)


def test_requests_per_minute_come_back_after_the_time_that_is_told(tmp_path: Path) -> None:
    gate = limited(tmp_path, requests_per_minute=6)
    assert [gate.ask().status for _ in range(6)] == [200] * 6
    reply = gate.ask()
    refused(reply, 429, "rate_limit_exceeded")
    assert gate.ask(key=OTHER).status == 200
    gate.clock += int(reply.headers["retry-after"]) - 1
    assert gate.ask().status == 429
    gate.clock += 1
    assert gate.ask().status == 200


def test_a_limit_that_is_set_later_counts_nothing_from_before(tmp_path: Path) -> None:
    gate = limited(tmp_path)
    gate.engine.tokens = 115
    assert {gate.ask().status for _ in range(20)} == {200}
    write(tmp_path, {"team-a": {"requests_per_minute": 2, "tokens_per_minute": 200}})
    assert [gate.ask().status for _ in range(3)] == [200, 200, 429]


def test_tokens_are_charged_by_what_was_used(tmp_path: Path) -> None:
    gate = limited(tmp_path, tokens_per_minute=60)
    gate.engine.tokens = 115  # with 5 of the prompt two minutes' worth
    assert [gate.ask().status, gate.ask().status] == [200, 429]
    gate.clock += 60
    assert gate.ask().status == 429
    gate.clock += 10
    assert gate.ask().status == 200


def test_a_prompt_above_the_whole_minute_waits_for_a_full_one_and_not_for_ever(tmp_path: Path) -> None:
    gate = limited(tmp_path, tokens_per_minute=60)
    assert gate.ask(body={"prompt": "x" * 4000}).status == 200
    reply = gate.ask(body={"prompt": "x" * 4000})
    assert (reply.status, int(reply.headers["retry-after"]) < 60) == (429, True)


def together(gate: Gate, *requests: Request) -> list[int]:
    async def all_of_them() -> list[Reply]:
        return await asyncio.gather(*(ask(gate.app, each) for each in requests))

    return [reply.status for reply in asyncio.run(all_of_them())]


def test_concurrency_is_given_back_also_when_clients_leave(tmp_path: Path) -> None:
    gate = limited(tmp_path, concurrency=2)
    gate.engine.pause = 0.001
    streams = [Request(key=KEY, body={"stream": True}, leaves=leaves) for leaves in (1, -1, -1)]
    assert together(gate, *streams) == [200, 200, 429]
    assert together(gate, *streams[1:]) == [200, 200]


def test_a_tenant_with_a_hundred_times_the_load_leaves_the_other_its_share(tmp_path: Path) -> None:
    write(tmp_path, capacity=8)
    gate = Gate(tmp_path)
    gate.engine.pause = 0.001
    flood = [Request(key=KEY, body={"stream": True})] * 100
    few = [Request(key=OTHER, body={"stream": True})] * 3
    assert together(gate, *flood).count(200) == 8  # alone it may have all
    assert together(gate, few[0], *flood, *few[:2])[-2:] == [200, 200]
    assert together(gate, few[0], *flood).count(200) == 1 + 4  # it lately had three: its half of the eight stays free
    gate.clock += 30
    assert together(gate, few[0], *flood).count(200) == 1 + 6  # one that is there, and one more that it may want


@pytest.mark.parametrize("text", [b"", b"{", b"[]", b'{"tenants": []}', b'{"tenants": {"a": 1}}', b'{"max_body_bytes": true}',
    b'{"tenants": {"a": {"class": "fast"}}}', b'{"tenants": {"a": {"concurrency": -1}}}', b'{"tenants": {"a": {"models": "chat"}}}',
    b'{"routes": [1]}', b"\xff\xfe", b"[" * 100_000])  # fmt: skip
def test_a_policy_that_is_not_one_is_refused_in_a_sentence(text: bytes) -> None:
    with pytest.raises(access.AccessError, match=r"is|must|stands"):
        access.read_policy(text)


def test_a_class_works_alone(tmp_path: Path) -> None:
    engine = FakeVllm()
    makers: list[Callable[[], Any]] = [lambda: Keys(engine, str(tmp_path)), lambda: Limits(engine, str(tmp_path))]
    makers.append(lambda: Account(engine, str(tmp_path), say=lambda line: None, count=lambda: None))
    for make in makers:
        assert asyncio.run(ask(make(), Request(key=KEY))).status == 200
    assert os.environ["INTERLOCK_BOARD"]


def test_a_client_cannot_choose_its_priority_and_the_patient_tenant_waits_longer(tmp_path: Path) -> None:
    write(tmp_path, {"team-a": {"class": "interactive"}, "team-b": {"class": "batch"}})
    engine = FakeVllm()
    app = Keys(Priority(engine, str(tmp_path), clock=lambda: 1000.0), str(tmp_path))
    body = {"prompt": "x" * 4000, "max_tokens": 10, "priority": -5}
    for key in (KEY, OTHER):
        asyncio.run(ask(app, Request(key=key, body=body, headers={"X-Vllm-Priority": "-9", "content-length": "9"})))
    (_, first_headers, first), (_, second_headers, second) = engine.arrived
    assert 1_000_000 < first["priority"] < second["priority"]
    assert [first_headers["x-vllm-priority"], second_headers["x-vllm-priority"]] == [str(first["priority"]), str(second["priority"])]
    assert {name: value for name, value in first.items() if name != "priority"} == {"prompt": "x" * 4000, "max_tokens": 10}


def test_of_a_route_without_priorities_nothing_is_read_and_no_header_is_left(tmp_path: Path) -> None:
    write(tmp_path, max_body_bytes=8)  # whoever reads a body here refuses it
    engine = FakeVllm()
    app = Keys(Priority(engine, str(tmp_path)), str(tmp_path))
    asyncio.run(ask(app, Request(path="/ping", body={"a": "x" * 40}, headers={"X-Vllm-Priority": "-9"})))
    ((path, headers, body),) = engine.arrived
    assert (path, "x-vllm-priority" in headers, body) == ("/ping", False, {"a": "x" * 40})


@pytest.mark.parametrize("body", [b"{}", b" { } \n", b'{"a": "}"}', b'{"priority": 3, "a": 1}', '{"a":"\u00fc"}'.encode("utf-16")])
def test_whatever_the_body_looks_like_the_field_is_what_is_set(body: bytes) -> None:
    asked = json.loads(body)
    assert json.loads(with_field(body, read_body(body) or Asked(), b"priority", 7)) == {**asked, "priority": 7}


def test_nobody_who_comes_after_a_deadline_goes_first() -> None:
    patient = deadline(0, "batch", 8000, 2000)
    assert deadline(patient / 1000 + 0.001, "interactive", 0, 0) > patient
    assert deadline(0, "interactive", 100, 10**12) == 32_768 + 100


def test_heat_lowers_admission_and_no_request_that_runs_is_dropped(tmp_path: Path) -> None:
    write(tmp_path, capacity=9)
    engine, state = FakeVllm(pause=0.001), {"now": 0.0, "heat": 60}
    app = Governor(engine, str(tmp_path), clock=lambda: state["now"], hottest=lambda: int(state["heat"]))

    def at(now: float, heat: int) -> int:
        state.update(now=now, heat=heat)

        async def many() -> list[Reply]:
            return await asyncio.gather(*(ask(app, Request(body={"stream": True})) for _ in range(12)))

        replies = asyncio.run(many())
        assert all(reply.pieces[-2:] == [b"data: [DONE]\n\n", b""] for reply in replies if reply.status == 200)
        return sum(reply.status == 200 for reply in replies)

    assert at(1, 60) == 9
    assert at(2, 90) == 1  # nothing ran when the heat was seen
    assert at(3, 82) == 1
    assert at(6, 70) == 4
    assert at(60, 70) == 9


@pytest.mark.parametrize("running", [0, 50, 200])
def test_the_limit_stays_between_one_and_what_the_engine_takes(running: int) -> None:
    limit = 100
    for heat in (90, 90, 84, 90, 70, 99, 99, 99, 99, 99):
        limit = adjusted(limit, running, heat, 100)
        assert 1 <= limit <= 100
    for _ in range(200):
        limit = adjusted(limit, running, 60, 100)
    assert limit == 100


def test_a_card_that_nobody_can_ask_lets_everybody_in(tmp_path: Path) -> None:
    app = Governor(FakeVllm(), str(tmp_path), hottest=lambda: None)
    assert asyncio.run(ask(app, Request())).status == 200


PAD = "x" * LONG
NESTED = [{"role": "user", "content": PAD, "metadata": {"model": "chat"}}]


@pytest.mark.parametrize(
    "body",
    [
        {"model": "sql", "messages": [PAD]},
        {"messages": [PAD], "model": "sql", "n": [1, {"a": 2}]},
        {"messages": NESTED},
        {"messages": NESTED, "model": "sql"},
        {"messages": [PAD, "model"], "n": 1},
        {"messages": [PAD], "user": "model"},
        {"messages": [PAD + '"model":"chat"'], "model": None},
        {"model": "sql", "messages": [PAD], 'a"model': "chat"},
        {"messages": [PAD], "n": 1},
        [PAD, {"model": "chat"}],
    ],
)
def test_of_a_long_body_the_same_is_read_as_by_a_whole_parse(body: Any) -> None:
    for text in (json.dumps(body), json.dumps(body, separators=(",", ":")), json.dumps(body).replace('"model"', '"\\u006dodel"', 1)):
        found = read_body(text.encode())
        assert (found.model if found else "none") == (json.loads(text).get("model") if isinstance(body, dict) else "none")


def test_a_model_that_stands_twice_in_a_long_body_is_the_last() -> None:
    found = read_body(f'{{"model":"chat","prompt":"{PAD}","model":"sql"}}'.encode())
    assert found == Asked("sql")


FORM = f'--b\r\nContent-Disposition: form-data; name="model"\r\n\r\nsql\r\n--b--\r\n{PAD}"model":"chat"}}'


@pytest.mark.parametrize("body", [FORM.encode(), b"{\0" + FORM.encode()])
def test_a_form_that_ends_like_an_object_names_no_model(gate: Gate, body: bytes) -> None:
    refused(gate.ask(key=OTHER, path="/v1/audio/transcriptions", body=body), 403, "model_not_allowed")
    assert gate.engine.arrived == []


def test_keys_that_are_not_ones_are_refused_without_a_word_of_them() -> None:
    for text in ({"hash_key": ["5ec2e7"]}, {"keys": ["5ec2e7"]}, {"keys": {"a": {"tenant": "a", "hash": ["5ec2e7"]}}}):
        with pytest.raises(access.AccessError) as caught:
            access.read_keys(json.dumps(text).encode())
        assert "5ec2e7" not in str(caught.value)
