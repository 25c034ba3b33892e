"""Heat: ``--middleware interlock.runtime.gate.governor.Governor``. The hotter the cards, the fewer requests are let in; what runs goes on.

Additive increase and multiplicative decrease, as networks do it: above 85 degrees the limit falls by a third every second, below 80 it
grows by one, up to the engine's own; between them it stays.
"""

import os
import time
from collections.abc import Callable

from interlock.runtime import words
from interlock.runtime.asgi import App, Receive, Scope, Send
from interlock.runtime.gate import refusals, routes
from interlock.runtime.gate.refusals import refuse
from interlock.runtime.gate.ticket import ticket_of
from interlock.runtime.gate.watched import files
from interlock.runtime.preflight import cards
from interlock.runtime.spec import load

HOT, COOL = 85, 80
"""Degrees Celsius."""
PERIOD_SECONDS = 1.0
USUAL_CAPACITY = 256
"""Requests at the same time where the policy states none."""


def adjusted(limit: int, running: int, celsius: int, most: int) -> int:
    """The limit after one period, from one to ``most``: a fall begins at what runs, so that a limit which nobody reached cools at once."""
    if celsius > HOT:
        return max(min(limit, max(running, 1)) * 2 // 3, 1)
    return min(limit + 1, most) if celsius < COOL else min(limit, most)


class Governor:
    """Refuses with 503 and Retry-After above the limit."""

    def __init__(
        self,
        app: App,
        folder: str = "",
        clock: Callable[[], float] = time.monotonic,
        hottest: Callable[[], int | None] = cards.hottest,
    ) -> None:
        self.app, self.clock, self.hottest = app, clock, hottest
        self.files = files(folder or load(os.environ).access)
        self.limit, self.running, self.looked = self.most(), 0, clock()

    def most(self) -> int:
        """Requests at the same time when it is cool."""
        return self.files.policy.capacity or USUAL_CAPACITY

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Lets a request in, counted, or refuses it."""
        if scope["type"] != "http" or scope["method"] != "POST" or (scope["method"], routes.route_of(scope)) in routes.OPEN:
            return await self.app(scope, receive, send)
        self.look()
        if self.running >= self.limit:
            return await refuse(ticket_of(scope), refusals.HOT, scope, receive, send)
        self.running += 1
        try:
            return await self.app(scope, receive, send)
        finally:
            self.running -= 1

    def look(self) -> None:
        """Follows the temperature, one step for each period that passed."""
        periods = int((self.clock() - self.looked) / PERIOD_SECONDS)
        if periods <= 0:
            return
        self.looked += periods * PERIOD_SECONDS
        celsius, before = self.hottest(), self.limit
        if celsius is None:  # nobody can say: heat is then the hardware's own business
            self.limit = self.most()
            return
        for _ in range(min(periods, self.most())):
            self.limit = adjusted(self.limit, self.running, celsius, self.most())
        if (before == self.most()) != (self.limit == self.most()):
            words.say(f"the hottest card has {celsius} degrees: at most {self.limit} requests at the same time")
