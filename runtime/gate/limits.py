"""Limits per tenant and API server: ``--middleware interlock.runtime.gate.limits.Limits``. Requests and tokens per minute, requests at the
same time, and a fair share of a full server. Nobody is made to wait here: who may not ask now is told when to come back.
"""

import math
import os
import time
from collections.abc import Callable
from dataclasses import replace

from interlock.runtime.asgi import App, Receive, Scope, Send
from interlock.runtime.gate import bucket, refusals
from interlock.runtime.gate.access import Policy, Tenant
from interlock.runtime.gate.refusals import Refusal, refuse
from interlock.runtime.gate.ticket import Ticket, ticket_of
from interlock.runtime.gate.usage import estimate
from interlock.runtime.gate.watched import files
from interlock.runtime.spec import load

WINDOW_SECONDS = 10.0
"""A tenant's most requests at a time in this window and the one before keep room free for it."""


class Use:
    """What one tenant uses at the moment."""

    __slots__ = ("before", "peak", "requests", "running", "since", "tokens")

    def __init__(self, tenant: Tenant, now: float) -> None:
        self.requests = bucket.full(tenant.requests_per_minute or math.inf, now)
        self.tokens = bucket.full(tenant.tokens_per_minute or math.inf, now)
        self.running = self.peak = self.before = 0
        self.since = now

    def wanted(self, now: float) -> int:
        """Requests at a time that it lately had at most."""
        windows = int((now - self.since) / WINDOW_SECONDS)
        if windows:
            self.before, self.peak = (self.peak if windows == 1 else self.running), self.running
            self.since += windows * WINDOW_SECONDS
        return max(self.peak, self.before)


class Limits:
    """Counts, and refuses with 429 and Retry-After."""

    def __init__(self, app: App, folder: str = "", clock: Callable[[], float] = time.monotonic) -> None:
        self.app, self.clock = app, clock
        self.files = files(folder or load(os.environ).access)
        self.uses: dict[str, Use] = {}
        self.busy: dict[str, Use] = {}  # of those that lately had a request
        self.running = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Lets a tenant's request pass, counted, or refuses it. What has no tenant is not limited here: Keys refuses it."""
        if scope["type"] != "http" or scope["method"] != "POST":
            return await self.app(scope, receive, send)
        ticket, policy = ticket_of(scope), self.files.policy
        tenant = policy.tenants.get(ticket.tenant)
        if tenant is None:
            return await self.app(scope, receive, send)
        use, asked = self.use(tenant, self.clock()), estimate(len(ticket.body or b""))
        refusal = self.judge(use, tenant, policy, asked)
        if refusal is not None:
            return await refuse(ticket, refusal, scope, receive, send)
        self.busy[tenant.name] = use
        self.begin(use, asked)
        try:
            return await self.app(scope, receive, ticket.watch(send))
        finally:
            self.end(use, ticket, asked)

    def use(self, tenant: Tenant, now: float) -> Use:
        """What the tenant uses at this moment. A limit that was changed holds from now on; without one nothing is ever used up, so that
        one which is set later begins with a full minute."""
        found = self.uses.get(tenant.name)
        if found is None:
            found = self.uses[tenant.name] = Use(tenant, now)
        requests, tokens = tenant.requests_per_minute, tenant.tokens_per_minute
        found.requests = bucket.refilled(found.requests, requests, now) if requests else bucket.NO_LIMIT
        found.tokens = bucket.refilled(found.tokens, tokens, now) if tokens else bucket.NO_LIMIT
        return found

    def judge(self, use: Use, tenant: Tenant, policy: Policy, tokens: int) -> Refusal | None:
        """Why not now; None = it may."""
        if tenant.concurrency and use.running >= tenant.concurrency:
            return refusals.CONCURRENCY
        if tenant.requests_per_minute and (seconds := bucket.wait(use.requests, tenant.requests_per_minute, 1)):
            return replace(refusals.REQUESTS, wait=seconds)
        if tenant.tokens_per_minute and (seconds := bucket.wait(use.tokens, tenant.tokens_per_minute, tokens)):
            return replace(refusals.TOKENS, wait=seconds)
        return None if self.fair(tenant.name, policy.capacity) else refusals.SHARE

    def fair(self, name: str, capacity: int) -> bool:
        """Whether the tenant's share of a full server has room. One that is not half full is nobody's to divide."""
        if self.running * 2 < capacity or not capacity:
            return True
        now = self.clock()
        wanted = {each: use.wanted(now) for each, use in self.busy.items()}
        for each in [each for each, count in wanted.items() if not count]:
            del self.busy[each], wanted[each]
        return bucket.share({each: use.running for each, use in self.busy.items()}, wanted, capacity, name)

    def begin(self, use: Use, asked: int) -> None:
        """Takes what one request needs, tokens by an estimate."""
        use.requests, use.tokens = bucket.take(use.requests, 1), bucket.take(use.tokens, asked)
        use.running += 1
        self.running += 1
        use.peak = max(use.peak, use.running)

    def end(self, use: Use, ticket: Ticket, asked: int) -> None:
        """Settles it by what was used."""
        use.running -= 1
        self.running -= 1
        used = ticket.used()
        use.tokens = bucket.take(use.tokens, (used.prompt or asked) + used.completion - asked)
