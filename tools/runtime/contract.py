"""What every host of the gate must show: one list of requests with their answers, for vLLM's kind of server and for plain ASGI.

usage: python -m tools.runtime.contract FOLDER      in a Python that has FastAPI: the classes as vLLM adds them to its application
"""

import asyncio
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from interlock.runtime.asgi import App
from interlock.runtime.gate import watched
from interlock.runtime.gate.access import hashed
from interlock.runtime.gate.account import Account
from interlock.runtime.gate.keys import Keys
from interlock.runtime.gate.limits import Limits
from interlock.runtime.gate.priority import Priority
from tools.runtime.ask import Reply, Request, ask

HASH_KEY = bytes(32)
KEY, LIMITED, EXPIRED, FEW, FIRST = "a-1.one", "b-1.two", "c-1.three", "d-1.four", "e-1.five"
PROMPT = {"model": "chat", "prompt": "hi", "max_tokens": 3}
CHAT = {"model": "chat", "messages": [{"role": "user", "content": "hi"}], "max_tokens": 3}
"""Bodies that the real vLLM takes."""


@dataclass(frozen=True)
class Case:
    """A request, and the status and the code of the refusal that it gets; the code is empty for an answer of the application.

    ``header``: one that the answer has.
    """

    name: str
    request: Request
    status: int
    code: str = ""
    header: str = "x-request-id"


CASES = (
    Case("a key opens", Request(key=KEY, body=PROMPT), 200),
    Case("no key", Request(body=PROMPT), 401, "missing_api_key", "www-authenticate"),
    Case("wrong key", Request(key="a-1.two", body=PROMPT), 401, "invalid_api_key"),
    Case("expired key", Request(key=EXPIRED, body=PROMPT), 401, "expired_api_key"),
    Case("another header", Request(path="/v1/messages", headers={"x-api-key": KEY}, body=CHAT), 200),
    Case("closed route", Request(path="/v1/load_lora_adapter", key=KEY, body={}), 403, "route_not_allowed"),
    Case("unknown route", Request(path="/nowhere", key=KEY), 403, "route_not_allowed"),
    Case("another model", Request(key=LIMITED, body=PROMPT | {"model": "sql"}), 403, "model_not_allowed"),
    Case("a model twice", Request(key=LIMITED, body=b'{"model":"chat","prompt":"hi","model":"sql"}'), 403, "model_not_allowed"),
    Case("too large", Request(key=KEY, body=b"x" * 5000, pieces=3), 413, "request_too_large"),
    Case("the one request of a minute", Request(key=FEW, body=PROMPT), 200),
    Case("one too many", Request(key=FEW, body=PROMPT), 429, "rate_limit_exceeded", "retry-after"),
    Case("a stream", Request(key=KEY, body=PROMPT | {"stream": True}), 200),
    Case("probe", Request(path="/health", method="GET"), 200, header=""),
    Case("own priority", Request(key=KEY, body=PROMPT | {"priority": -7}, headers={"x-vllm-priority": "-7"}), 200),
)
ANSWERED = sum(case.status == 200 and case.request.method == "POST" for case in CASES)
"""Requests that reach the application."""


def files(folder: Path) -> None:
    """Tenants: a patient one, one with a model, one whose time is over, one with a request a minute, an impatient one."""
    own: dict[str, Any] = {"b": {"models": ["chat"]}, "c": {"expires": 1}, "d": {"requests_per_minute": 1}}
    tenants = {"a": {"class": "batch"}, **own, "e": {"class": "interactive"}}
    keys = {
        key.partition(".")[0]: {"tenant": key[0], "hash": hashed(HASH_KEY, key.partition(".")[2].encode()).hex()}
        for key in (KEY, LIMITED, EXPIRED, FEW, FIRST)
    }
    (folder / watched.POLICY).write_text(json.dumps({"model": "chat", "models": ["chat"], "max_body_bytes": 4000, "tenants": tenants}))
    (folder / watched.KEYS).write_text(json.dumps({"hash_key": HASH_KEY.hex(), "keys": keys}))


def faults(asked: Callable[[Request], Reply]) -> list[str]:
    """The cases that a host answers otherwise."""
    found = []
    for case in CASES:
        reply = asked(case.request)
        code = reply.body["error"]["code"] if reply.status >= 400 else ""
        if (reply.status, code) != (case.status, case.code) or (case.header and case.header not in reply.headers):
            told = f"{reply.status} {code or b''.join(reply.pieces)[:80]!r} {sorted(reply.headers)}"
            found.append(f"{case.name}: {told}, wanted {case.status} {case.code} {case.header}")
    return found


def in_process(app: App) -> Callable[[Request], Reply]:
    """Asks an application without a socket."""
    return lambda request: asyncio.run(ask(app, request))


def as_vllm_adds_them(folder: str, seen: Callable[[Any, Any], None]) -> Any:
    """A FastAPI application with vLLM's kind of routes, and the classes added as vllm/entrypoints/serve/middleware/register.py does it."""
    from fastapi import FastAPI
    from fastapi import Request as Asked
    from starlette.responses import StreamingResponse

    made: Any = FastAPI()

    async def completions(request: Asked) -> Any:
        body = await request.json()
        seen(body, request.headers)
        if body.get("stream"):

            async def events() -> Any:
                yield b'data: {"choices":[{"text":"a"}]}\n\n'
                yield b"data: [DONE]\n\n"

            return StreamingResponse(events(), media_type="text/event-stream")
        return {"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 3}}

    completions.__annotations__["request"] = Asked
    for path in ("/v1/completions", "/v1/messages"):
        made.post(path)(completions)
    made.get("/health")(lambda: {})
    for each in (Priority, Limits, Keys, Account):  # the last one is the outermost
        made.add_middleware(each, folder=folder)
    return made


def main(arguments: list[str]) -> int:
    """Runs the cases against FastAPI; says what is wrong."""
    folder = Path(arguments[0])
    files(folder)
    seen = list[tuple[int, str]]()
    app = as_vllm_adds_them(str(folder), lambda body, headers: seen.append((body.get("priority"), headers.get("x-vllm-priority"))))
    found = faults(in_process(app))
    found += [f"a priority of its own: {body}, {text}" for body, text in seen if not text or int(text) <= 0 or str(body or text) != text]
    sys.stdout.write("\n".join(found) + ("\n" if found else "") + f"{len(CASES)} cases, {len(seen)} reached the application\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
