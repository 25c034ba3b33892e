"""The classes in the packed archive, loaded by an engine as the planner names them, under the supervisor."""

import http.client
import json
from pathlib import Path
from typing import Any

from interlock.infra.facts.supervisor import ACCOUNT, KEYS, LIMITS, MIDDLEWARE, PRIORITY
from tools.runtime import contract
from tools.runtime.testing import Container, until


def asked(container: Container, key: str, body: Any) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", container.port, timeout=10)
    try:
        connection.request("POST", "/v1/completions", json.dumps(body), {"authorization": f"bearer {key}"} if key else {})
        answer = connection.getresponse()
        answer.read()
        return answer.status
    finally:
        connection.close()


def test_keys_hold_in_the_archive_and_each_request_is_one_line_beside_the_engines_own(container: Container, tmp_path: Path) -> None:
    folder = tmp_path / "access"
    folder.mkdir()
    contract.files(folder)
    container.spec, container.patience = {"access": str(folder), "log": "json"}, 60
    names = [word for name in (MIDDLEWARE, PRIORITY, LIMITS, KEYS, ACCOUNT) for word in ("--middleware", name)]
    container.serve = lambda: ("vllm", "serve", "tiny", "--port", str(container.port), *names)  # type: ignore[method-assign]
    container.start().ready()
    body = {"model": "chat", "prompt": "hi", "max_tokens": 3}
    assert [asked(container, key, body) for key in ("", contract.KEY, "a-1.wrong")] == [401, 200, 401]
    assert container.end() == 0
    until(lambda: container.out.count('"interlock"') == 3, 5, "the log")
    lines = [json.loads(line) for line in container.out.splitlines()]
    access = [line for line in lines if line.get("interlock") == "access"]
    assert [(line["status"], line["tenant"], line.get("refused", "")) for line in access] == [
        (401, "", "missing_api_key"),
        (200, "a", ""),
        (401, "", "invalid_api_key"),
    ]
    assert contract.KEY.partition(".")[2] not in container.out + container.err
