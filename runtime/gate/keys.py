"""Keys: ``--middleware interlock.runtime.gate.keys.Keys``. Who has no key of a tenant reaches no route of the engine."""

import hmac
import os
import time

from interlock.runtime.asgi import App, Receive, Scope, Send, header
from interlock.runtime.gate import refusals, routes
from interlock.runtime.gate.access import Policy, Tenant, holder
from interlock.runtime.gate.operator import operator_word
from interlock.runtime.gate.refusals import Refusal, refuse
from interlock.runtime.gate.ticket import GoneError, Ticket, TooLargeError, ticket_of
from interlock.runtime.gate.watched import files
from interlock.runtime.spec import load

CHOOSES = b"x-amzn-sagemaker-"
"""Headers by which a hosting layer of vLLM replaces the model of the body."""

OPERATOR = "(operator)"
"""Stands for the tenant of a command inside the container: no tenant has brackets in its name."""


def presented(scope: Scope) -> bytes:
    """The key of a request: a bearer token, or the header of Anthropic's clients; empty without one."""
    given = header(scope, b"authorization")
    scheme, _, key = (given or b"").partition(b" ")
    if scheme.lower() == b"bearer":
        return key.strip()
    return header(scope, b"x-api-key") or b""


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

    def __init__(self, app: App, folder: str = "") -> None:
        self.app = app
        self.files = files(folder or load(os.environ).access)
        self.operator = operator_word()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Lets a request pass with its tenant on the ticket, or refuses it."""
        if scope["type"] not in ("http", "websocket"):
            return await self.app(scope, receive, send)
        route, method = routes.route_of(scope), scope.get("method", "GET")
        if (method, route) in routes.OPEN:
            return await self.app(scope, receive, send)
        ticket = ticket_of(scope)
        key = presented(scope)
        if self.operator and hmac.compare_digest(key, self.operator):
            ticket.tenant = OPERATOR
            return await self.app(scope, receive, send)
        if method == "OPTIONS" and reaches(method, route, self.files.policy):
            return await self.app(scope, receive, send)  # a browser asks before it sends a key; the engine is not reached
        refusal = await self.judge(ticket, scope, receive, key)
        if refusal is None:
            return await self.app(scope, ticket.replay(receive), send)
        return await refuse(ticket, refusal, scope, receive, send)

    async def judge(self, ticket: Ticket, scope: Scope, receive: Receive, key: bytes) -> Refusal | None:
        """Why not; None = it may go on."""
        policy = self.files.policy
        tenant = known(holder(self.files.keys, key), policy, time.time(), bool(key))
        if isinstance(tenant, Refusal):
            return tenant
        ticket.tenant, ticket.kind = tenant.name, tenant.kind
        method = scope.get("method", "")
        if scope["type"] != "http" or not reaches(method, ticket.route, policy):
            return refusals.CLOSED
        scope["headers"] = [each for each in scope["headers"] if not each[0].startswith(CHOOSES)]
        return None if method == "GET" else await judge_body(ticket, scope, receive, tenant, policy)


async def judge_body(ticket: Ticket, scope: Scope, receive: Receive, tenant: Tenant, policy: Policy) -> Refusal | None:
    """Why a tenant may not have what is asked of the engine; None = it may."""
    length = header(scope, b"content-length") or b"0"
    if length.isdigit() and int(length[:20]) > policy.most_body:
        return refusals.TOO_LARGE
    try:
        await ticket.read(receive, policy.most_body)
    except TooLargeError:
        return refusals.TOO_LARGE
    except GoneError:
        return refusals.GONE
    asked = ticket.parse()
    if asked is None:
        ticket.model = policy.model
        return None if tenant.models is None else refusals.UNREAD_MODEL
    model = asked.model or policy.model
    ticket.model = model if isinstance(model, str) else policy.model
    return None if isinstance(model, str) and tenant.may_use(model) else refusals.NO_MODEL
