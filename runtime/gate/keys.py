"""Keys: ``--middleware interlock.runtime.gate.keys.Keys``. Who has no key of a tenant reaches no route of the engine."""

import hmac
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import replace

from interlock.runtime.asgi import App, Receive, Scope, Send
from interlock.runtime.gate import body, bucket, refusals, routes
from interlock.runtime.gate.access import Policy, Tenant, holder
from interlock.runtime.gate.operator import operator_word
from interlock.runtime.gate.refusals import Refusal, refuse, unread
from interlock.runtime.gate.ticket import Ticket, ticket_of
from interlock.runtime.gate.watched import files
from interlock.runtime.spec import load

CHOOSES = b"x-amzn-sagemaker-"
"""Headers by which a hosting layer of vLLM replaces the model of the body."""

RESPONSES = "/v1/responses"
WRONG_PER_MINUTE = 600
"""Requests without a valid key that get 401 and a line in the log; further ones are only counted."""

OPERATOR = "(operator)"
"""Stands for the tenant of a command inside the container: no tenant has brackets in its name."""


def presented(heads: Mapping[bytes, bytes]) -> bytes:
    """The key of a request: a bearer token, or the header of Anthropic's clients; empty without one."""
    scheme, _, key = heads.get(b"authorization", b"").partition(b" ")
    return key.strip() if scheme.lower() == b"bearer" else heads.get(b"x-api-key", b"")


def known(name: str, policy: Policy, now: float, shown: bool) -> Tenant | Refusal:
    """The tenant of that name, to whom the key belongs, or why it may not ask. ``now``: seconds since 1970; ``shown``: a key was sent."""
    tenant = policy.tenants.get(name)
    if tenant is None:
        return refusals.WRONG_KEY if shown else refusals.NO_KEY
    return refusals.EXPIRED if tenant.expires and now >= tenant.expires else tenant


def reaches(method: str, route: str, policy: Policy) -> bool:
    """Whether a tenant may ask there."""
    if route in policy.routes or (method, route) in routes.READ:
        return True
    return route in routes.ASKS and method in ("POST", "OPTIONS")


class Keys:
    """Finds the tenant, and refuses what it may not have."""

    def __init__(self, app: App, folder: str = "", clock: Callable[[], float] = time.monotonic) -> None:
        self.app, self.clock = app, clock
        self.files = files(folder or load(os.environ).access)
        self.operator = operator_word()
        self.wrong = bucket.full(WRONG_PER_MINUTE, clock())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Lets a request pass with its tenant on the ticket, or refuses it."""
        if scope["type"] not in ("http", "websocket"):
            return await self.app(scope, receive, send)
        ticket, method = ticket_of(scope), scope.get("method", "GET")
        if (method, ticket.route) in routes.OPEN:
            return await self.app(scope, receive, send)
        key = presented(ticket.heads)
        if self.operator and hmac.compare_digest(key, self.operator):
            ticket.tenant = OPERATOR
            return await self.app(scope, receive, send)
        policy = self.files.policy
        if method == "OPTIONS" and reaches(method, ticket.route, policy):
            return await self.app(scope, receive, send)  # a browser asks before it sends a key; the engine is not reached
        tenant = known(holder(self.files.keys, key), policy, time.time(), bool(key))
        refusal = self.slowed(tenant) if isinstance(tenant, Refusal) else await judge(ticket, scope, receive, tenant, policy)
        if refusal is None:
            return await self.app(scope, ticket.replay(receive), send)
        return await refuse(ticket, refusal, scope, receive, send)

    def slowed(self, refusal: Refusal) -> Refusal:
        """A wrong key's refusal; 429 when too many came. A right one never comes here, whatever others send."""
        self.wrong = bucket.refilled(self.wrong, WRONG_PER_MINUTE, self.clock())
        if bucket.wait(self.wrong, WRONG_PER_MINUTE, 1):
            return refusals.WRONG_KEYS
        self.wrong = bucket.take(self.wrong, 1)
        return refusal


async def judge(ticket: Ticket, scope: Scope, receive: Receive, tenant: Tenant, policy: Policy) -> Refusal | None:
    """Why a tenant may not have what it asks for; None = it may."""
    ticket.tenant, ticket.kind = tenant.name, tenant.kind
    method = scope.get("method", "")
    if scope["type"] != "http" or not reaches(method, ticket.route, policy):
        return refusals.CLOSED
    if CHOOSES in b"\n".join(ticket.heads):
        scope["headers"] = [each for each in scope["headers"] if not each[0].startswith(CHOOSES)]
    return None if method == "GET" else await judge_body(ticket, receive, tenant, policy)


async def judge_body(ticket: Ticket, receive: Receive, tenant: Tenant, policy: Policy) -> Refusal | None:
    """Why a tenant may not have what is asked of the engine; None = it may."""
    length = ticket.heads.get(b"content-length", b"0")
    if length.isdigit() and int(length[:20]) > policy.most_body:
        return refusals.TOO_LARGE
    if refusal := await unread(ticket, receive, policy.most_body):
        return refusal
    fields = (() if policy.transfers else body.INNER) + (body.STORED if ticket.route == RESPONSES else ())
    if fields and (field := body.named(ticket.body or b"", fields)):
        return replace(refusals.FIELD, text=f"{field} is not for tenants: remove it")
    asked = ticket.parse()
    if asked is None:
        ticket.model = policy.model
        return None if tenant.models is None else refusals.UNREAD_MODEL
    model = asked.model or policy.model
    ticket.model = model if isinstance(model, str) else policy.model
    return None if isinstance(model, str) and tenant.may_use(model) else refusals.NO_MODEL
