"""How a request is refused: the status and the words of OpenAI's API."""

import math
from dataclasses import dataclass

from interlock.runtime.asgi import Header, Receive, Scope, Send, answer, discard, error
from interlock.runtime.gate.ticket import GoneError, Ticket, TooLargeError

MOST_UNREAD = 1 << 20
"""Bytes of a refused body that are read, so that a client which sends first sees the answer."""
POLICY_VIOLATION = 1008


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why not. ``wait``: seconds after which it may go; 0 = another time does not help."""

    status: int
    kind: str
    code: str
    text: str
    wait: float = 0


NO_KEY = Refusal(401, "invalid_request_error", "missing_api_key", "no key: send `Authorization: Bearer ID.SECRET`")
WRONG_KEYS = Refusal(429, "requests", "too_many_wrong_keys", "many wrong keys came in the last minute", 1)
WRONG_KEY = Refusal(401, "invalid_request_error", "invalid_api_key", "the key is not known")
EXPIRED = Refusal(401, "invalid_request_error", "expired_api_key", "the key has expired")
CLOSED = Refusal(403, "permission_error", "route_not_allowed", "this route is not for tenants")
NO_MODEL = Refusal(403, "permission_error", "model_not_allowed", "this key may not use the model that was asked for")
UNREAD_MODEL = Refusal(
    403, "permission_error", "model_not_allowed", "this key is limited to models, and the body is not JSON that names one"
)
FIELD = Refusal(403, "permission_error", "field_not_allowed", "a field is not for tenants")
TOO_LARGE = Refusal(413, "invalid_request_error", "request_too_large", "the body is larger than this server takes")
GONE = Refusal(499, "invalid_request_error", "client_gone", "the client left before its request was whole")
REQUESTS = Refusal(429, "requests", "rate_limit_exceeded", "requests per minute are used up")
TOKENS = Refusal(429, "tokens", "rate_limit_exceeded", "tokens per minute are used up")
CONCURRENCY = Refusal(429, "requests", "concurrency_exceeded", "as many requests as the tenant may have are being answered", 1)
SHARE = Refusal(429, "requests", "share_exceeded", "the server is full, and the tenant has its share of it", 1)
HOT = Refusal(503, "server_error", "cooling_down", "the accelerator is hot, and admission is lowered", 2)


async def unread(ticket: Ticket, receive: Receive, most: int) -> Refusal | None:
    """Reads the body onto the ticket; why it cannot be had, None when it is there."""
    try:
        await ticket.read(receive, most)
    except TooLargeError:
        return TOO_LARGE
    except GoneError:
        return GONE
    return None


async def refuse(ticket: Ticket, refusal: Refusal, scope: Scope, receive: Receive, send: Send) -> None:
    """Answers with it; the connection closes when a part of the body may be left."""
    ticket.refused = refusal.code
    if scope["type"] == "websocket":
        return await send({"type": "websocket.close", "code": POLICY_VIOLATION})
    if not ticket.heard and not await discard(receive, MOST_UNREAD):
        return None
    headers: list[Header] = [] if ticket.heard else [(b"connection", b"close")]
    if refusal.wait:
        headers.append((b"retry-after", str(math.ceil(refusal.wait)).encode()))
    if refusal.status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    return await answer(send, refusal.status, error(refusal.text, refusal.kind, refusal.code), headers)
