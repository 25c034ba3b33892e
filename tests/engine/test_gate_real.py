"""The classes in front of the real vLLM (CPU, a tiny model), loaded by ``--middleware`` in the order in which the plan names them."""

import asyncio
import http.client
import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from interlock.infra.facts.supervisor import ACCOUNT, ARCHIVE, GOVERNOR, KEYS, LIMITS, PRIORITY, WATCH
from interlock.infra.manifests import archive as packer
from interlock.runtime import board, lora
from interlock.runtime.adapters import VARIABLE
from interlock.runtime.gate import routes
from interlock.runtime.gate.operator import read_word
from interlock.runtime.words import RefusedError
from tools.engine_env import env
from tools.runtime import contract, fake_routes
from tools.runtime import routes as source
from tools.runtime.adapter import write_adapter
from tools.runtime.ask import Reply, Request, ask, ask_server
from tools.runtime.real import RealContainer, container
from tools.runtime.testing import until

CLASSES = (WATCH, PRIORITY, GOVERNOR, LIMITS, KEYS, ACCOUNT)
ONE_AT_A_TIME = ("--max-num-batched-tokens", "64", "--max-num-seqs", "1", "--scheduling-policy", "priority")
LIST = "adapters.json"
ADAPTERS = ("--enable-lora", "--max-loras", "1", "--max-lora-rank", "8")


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealContainer]:
    """One engine for all tests."""
    if not env.whole(env.folder()):
        pytest.skip("the engine environment is not built: python -m tools.engine_env")
    folder = tmp_path_factory.mktemp("gate")
    (folder / ARCHIVE).write_bytes(packer.archive())
    contract.files(folder)
    made = container(folder / ARCHIVE, folder, access=str(folder))
    (folder / LIST).write_text("{}")
    made.served = "chat"
    made.extra = {"VLLM_ALLOW_RUNTIME_LORA_UPDATING": "1", VARIABLE: str(folder / LIST)}
    made.arguments = (*ONE_AT_A_TIME, *ADAPTERS, *(word for name in CLASSES for word in ("--middleware", name)))
    try:
        yield made.start().ready()  # type: ignore[misc]
    finally:
        made.remove()


def asked(engine: RealContainer, **request: Any) -> Reply:
    return ask_server(engine.port, Request(**{"key": contract.KEY, "body": contract.PROMPT, **request}))


def log(engine: RealContainer) -> list[dict[str, Any]]:
    """The access log."""
    return [json.loads(line) for line in engine.out.splitlines() if line.startswith('{"interlock":"access"')]


def line_of(engine: RealContainer, reply: Reply) -> dict[str, Any]:
    """What the access log says of a request."""

    def found() -> list[dict[str, Any]]:
        return [line for line in log(engine) if line["id"] == reply.headers["x-request-id"]]

    until(found, 10, "the line of the request")
    return found()[0]


def operator(engine: RealContainer) -> str:
    return read_word(str(engine.folder / "board")).decode()


def test_every_case_of_the_contract_is_answered_as_by_the_engine_that_pretends(engine: RealContainer) -> None:
    assert contract.faults(lambda request: ask_server(engine.port, request)) == []


def test_every_route_that_no_table_opens_is_closed_to_a_tenant(engine: RealContainer) -> None:
    served = source.routes(env.site_packages(env.folder()))
    opened = routes.OPEN | routes.READ | {("POST", path) for path in routes.ASKS}
    closed = sorted((method, path) for method, path in served - opened if method != "WEBSOCKET")
    assert len(closed) > 50
    answers = {each: asked(engine, method=each[0], path=each[1]).status for each in closed}
    assert set(answers.values()) == {403}, {each: status for each, status in answers.items() if status != 403}


BODIES: dict[str, dict[str, Any]] = {
    "/v1/chat/completions": contract.CHAT,
    "/v1/messages": contract.CHAT,
    "/v1/load_lora_adapter": {"lora_name": "held", "lora_path": "sql"},
    "/v1/unload_lora_adapter": {"lora_name": "held"},
}
OTHER_TASKS = {"/v1/embeddings"}
"""Routes that an engine for texts does not serve."""
KINDS = ("/v1/completions", "/v1/chat/completions", "/v1/messages")


def test_the_engine_that_pretends_answers_as_the_real_one(engine: RealContainer) -> None:
    adapter, fake = write_adapter(engine.folder / "held", rank=8), fake_routes.FakeVllm()
    (engine.folder / LIST).write_text("{")  # a list that cannot be read changes no adapter
    wanted = [Request(path=path, method=method) for method, path in sorted(fake_routes.ROUTES) if path not in OTHER_TASKS]
    wanted += [Request(path="/nowhere"), *(Request(path=path, body={"stream": True}) for path in KINDS)]
    for each in wanted:
        body = BODIES.get(each.path, contract.PROMPT) | (each.body or {})
        each.body = body | ({"lora_path": adapter} if "lora_path" in body else {})
        pretended = asyncio.run(ask(fake, each))
        each.key = operator(engine)
        real = ask_server(engine.port, each)
        if each.path != "/metrics":
            assert form(pretended) <= form(real), (each.path, form(pretended), form(real))
    (engine.folder / LIST).write_text("{}")


def form(reply: Reply) -> set[str]:
    """What readers of an answer depend on: status, kind, and fields of the outermost object; of a stream those of every event."""
    kind, text = reply.headers.get("content-type", ""), b"".join(reply.pieces).decode()
    found = {f"status {reply.status}", f"kind {kind}"}
    if kind == "application/json":
        return found | set(json.loads(text))
    events = [line.partition(": ") for line in text.splitlines() if line]
    shown = [(name, value) for name, _, value in events if kind]
    for name, value in shown:
        found |= {value} if name == "event" or not value.startswith("{") else {f"data {each}" for each in json.loads(value)}
    return found


@pytest.mark.parametrize("more", [{}, {"stream": True}], ids=["whole", "stream"])
def test_the_log_and_the_counters_tell_what_the_engine_itself_counted(engine: RealContainer, more: dict[str, Any]) -> None:
    def series(name: str) -> float:
        text = b"".join(asked(engine, path="/metrics", method="GET").pieces).decode()
        lines = [line for line in text.splitlines() if line.startswith(f'{name}{{model="chat",') and 'tenant="a"' in line]
        return sum(float(line.rpartition(" ")[2]) for line in lines)

    names = ("interlock_completion_tokens_total", "interlock_prompt_tokens_total", "interlock_requests_total")
    before = [series(name) for name in names]
    reply = asked(engine, body=contract.PROMPT | {"max_tokens": 7, "ignore_eos": True, **more}, headers={"x-request-id": "mine"})
    line = line_of(engine, reply)
    assert (line["prompt_tokens"], line["completion_tokens"], line["counted"]) == (2, 7, "engine")
    assert (line["tenant"], line["model"], line["status"], line["client_id"]) == ("a", "chat", 200, "mine")
    assert 0 <= line["queue_seconds"] <= line["first_seconds"] <= line["seconds"]
    assert [series(name) - was for name, was in zip(names, before, strict=True)] == [7, 2, 1]


def test_a_client_that_leaves_its_stream_is_charged_for_what_was_sent_and_the_engine_ends_it(engine: RealContainer) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", engine.port, timeout=60)
    body = json.dumps(contract.PROMPT | {"max_tokens": 900, "ignore_eos": True, "stream": True})
    connection.request("POST", "/v1/completions", body, {"authorization": f"Bearer {contract.KEY}", "content-type": "application/json"})
    answer = connection.getresponse()
    seen = sum(answer.readline().startswith(b"data: {") for _ in range(12))
    reply = Reply(answer.status, {name.lower(): value for name, value in answer.getheaders()})
    answer.close()
    connection.close()
    line = line_of(engine, reply)
    assert line["cut"]
    assert seen <= line["completion_tokens"] < 900
    until(lambda: not any(words[board.HEAD_WORDS + 3] for words in engine.pages()), 20, "an idle engine")


def test_no_client_chooses_its_place_in_the_queue(engine: RealContainer) -> None:
    """Four patient requests that claim to be first, one at a time; the impatient one comes when three are there, and is not behind them."""
    order, lock = list[str](), threading.Lock()

    def one(name: str, key: str, tokens: int) -> None:
        body = contract.PROMPT | {"max_tokens": tokens, "ignore_eos": True, "priority": -(10**12)}
        assert asked(engine, key=key, body=body, headers={"x-vllm-priority": str(-(10**12))}).status == 200
        with lock:
            order.append(name)

    threads = [threading.Thread(target=one, args=(f"patient {at}", contract.KEY, 300)) for at in range(4)]
    for thread in threads:
        thread.start()
    until(lambda: sum(words[board.HEAD_WORDS + 3] for words in engine.pages()) >= 3, 60, "three requests in the engine")
    threads.append(threading.Thread(target=one, args=("impatient", contract.FIRST, 5)))
    threads[-1].start()
    for thread in threads:
        thread.join(120)
    assert order.index("impatient") <= 2, order


@pytest.mark.parametrize("size", [1000, 1_000_000])
def test_a_key_of_any_length_is_refused_and_the_server_serves_on(engine: RealContainer, size: int) -> None:
    try:
        status = asked(engine, key=f"a-1.{'x' * size}").status
    except OSError:  # the server closes while the header is still sent
        status = 0
    assert status in ((401,) if size == 1000 else (0, 400, 401, 431))
    assert asked(engine).status == 200


def test_a_websocket_without_a_key_is_refused(engine: RealContainer) -> None:
    own = {"sec-websocket-version": "13", "sec-websocket-key": "AAAAAAAAAAAAAAAAAAAAAA=="}
    upgrade = {"connection": "upgrade", "upgrade": "websocket", **own}
    for key in ("", contract.KEY):
        assert asked(engine, path="/v1/realtime", method="GET", key=key, headers=upgrade).status == 403

    def refused() -> list[int]:
        return [line["status"] for line in log(engine) if line["route"] == "/v1/realtime" and line["tenant"] == "a"]

    until(refused, 10, "the line of the refusal")
    assert refused() == [403]


def test_the_engines_adapters_follow_the_mounted_list_and_what_does_not_fit_is_refused(engine: RealContainer) -> None:
    inside = lora.Engine(lora.engine_argv(at := str(engine.folder / "board")), at)
    path = write_adapter(engine.folder / "sql", rank=8)
    (engine.folder / LIST).write_text(json.dumps({"sql": path}))
    until(lambda: inside.adapters() == {"sql": path}, 60, "the adapter of the list")
    assert asked(engine, body=contract.PROMPT | {"model": "sql"}).status == 200
    with pytest.raises(RefusedError, match="2 adapters need as many slots, and the engine has 1"):
        inside.load("more", path)
    (engine.folder / LIST).write_text("{}")
    until(lambda: not inside.adapters(), 60, "the end of the adapter")
    assert asked(engine, body=contract.PROMPT | {"model": "sql"}).status == 404
    with pytest.raises(RefusedError, match=r"rank 16 is more than 8"):
        inside.load("large", write_adapter(engine.folder / "large", rank=16))


def test_no_key_and_no_prompt_is_in_any_output_of_the_engine(engine: RealContainer) -> None:
    asked(engine, body=contract.PROMPT | {"prompt": "confidential"})
    secrets = [key.partition(".")[2] for key in (contract.KEY, contract.LIMITED)]
    shown = engine.out + engine.err
    assert not [each for each in ("confidential", operator(engine), *(f".{each}" for each in secrets)) if each in shown]
