"""Limits per tenant and API server: ``--middleware interlock.runtime.gate.limits.Limits``. Requests and tokens per minute, requests at the
same time, and a fair share of a full server. Nobody is made to wait here: who may not ask now is told when to come back.
"""

import math
import os
import time
from collections.abc import Callable

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


class Account:
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
        self.accounts: dict[str, Account] = {}
        self.busy: dict[str, Account] = {}  # those that lately had a request
        self.running = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Lets a tenant's request pass, counted, or refuses it. What has no tenant is not limited here: Keys refuses it."""
        ticket = ticket_of(scope) if scope["type"] == "http" else None
        tenant = self.files.policy.tenants.get(ticket.tenant) if ticket else None
        if ticket is None or tenant is None or scope["method"] != "POST":
            return await self.app(scope, receive, send)
        policy, now = self.files.policy, self.clock()
        account = self.account(tenant, now)
        asked = estimate(len(ticket.body or b""))
        refusal = self.judge(account, tenant, policy, asked)
        if refusal is not None:
            return await refuse(ticket, refusal, scope, receive, send)
        self.busy[tenant.name] = account
        self.begin(account, asked)
        try:
            return await self.app(scope, receive, ticket.watch(send))
        finally:
            self.end(account, ticket, asked)

    def account(self, tenant: Tenant, now: float) -> Account:
        """The tenant's account at this moment. A limit that was changed holds from now on."""
        found = self.accounts.get(tenant.name)
        if found is None:
            found = self.accounts[tenant.name] = Account(tenant, now)
        found.requests = self.level(found.requests, tenant.requests_per_minute, now)
        found.tokens = self.level(found.tokens, tenant.tokens_per_minute, now)
        return found

    @staticmethod
    def level(held: bucket.Bucket, per_minute: int, now: float) -> bucket.Bucket:
        """What is left now; without a limit nothing is ever used up, so that one which is set later begins with a full minute."""
        return bucket.refilled(held, per_minute, now) if per_minute else bucket.full(math.inf, now)

    def judge(self, account: Account, tenant: Tenant, policy: Policy, tokens: int) -> Refusal | None:
        """Why not now; None = it may."""
        if tenant.concurrency and account.running >= tenant.concurrency:
            return refusals.CONCURRENCY
        for per_minute, held, need, refusal in (
            (tenant.requests_per_minute, account.requests, 1, refusals.REQUESTS),
            (tenant.tokens_per_minute, account.tokens, tokens, refusals.TOKENS),
        ):
            seconds = bucket.wait(held, per_minute, need) if per_minute else 0.0
            if seconds:
                return Refusal(refusal.status, refusal.kind, refusal.code, refusal.text, seconds)
        return None if self.fair(tenant.name, policy.capacity) else refusals.SHARE

    def fair(self, name: str, capacity: int) -> bool:
        """Whether the tenant's share of a full server has room. One that is not half full is nobody's to divide."""
        if self.running * 2 < capacity or not capacity:
            return True
        now = self.clock()
        wanted = {each: account.wanted(now) for each, account in self.busy.items()}
        for each in [each for each, count in wanted.items() if not count]:
            del self.busy[each], wanted[each]
        return bucket.share({each: account.running for each, account in self.busy.items()}, wanted, capacity, name)

    def begin(self, account: Account, asked: int) -> None:
        """Takes what one request needs, tokens by an estimate."""
        account.requests, account.tokens = bucket.take(account.requests, 1), bucket.take(account.tokens, asked)
        account.running += 1
        self.running += 1
        account.peak = max(account.peak, account.running)

    def end(self, account: Account, ticket: Ticket, asked: int) -> None:
        """Settles it by what was used."""
        account.running -= 1
        self.running -= 1
        used = ticket.used()
        account.tokens = bucket.take(account.tokens, (used.prompt or asked) + used.completion - asked)
