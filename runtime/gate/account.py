"""Accounting and the access log: ``--middleware interlock.runtime.gate.account.Account``, outermost, so that refusals are counted too.

One line of JSON per request on stdout, without a word of prompt, answer or key; counters per tenant and model on the engine's own /metrics.
"""

import json
import os
import time
from collections.abc import Callable
from functools import lru_cache

from interlock.runtime.asgi import App, Receive, Scope, Send
from interlock.runtime.gate import routes, told
from interlock.runtime.gate.counters import Counters, counters
from interlock.runtime.gate.refusals import WRONG_KEYS
from interlock.runtime.gate.ticket import FINISHED, Ticket, ticket_of
from interlock.runtime.gate.usage import Usage
from interlock.runtime.gate.watched import files
from interlock.runtime.spec import load
from interlock.runtime.words import stamp

OTHER = "other"
"""Label of models that the server does not have, and of strangers: whatever they send makes no new series."""
LEFT = 499
"""Status of a request whose client was gone before an answer began."""


def write(line: bytes) -> None:
    """One line on stdout; a closed one changes nothing."""
    try:
        os.write(1, line)
    except OSError:
        return


@lru_cache(4096)
def beginning(tenant: str, model: str, route: str) -> str:
    """How the line of such a request begins, as the begin of a JSON object."""
    return json.dumps({"interlock": "access", "tenant": tenant, "model": model, "route": route}, separators=(",", ":"))[:-1]


class Account:
    """Writes what every request was, when it is over, however it ended."""

    def __init__(
        self, app: App, folder: str = "", say: Callable[[bytes], None] = write, count: Callable[[], Counters | None] = counters
    ) -> None:
        self.app, self.say = app, say
        self.files = files(folder or load(os.environ).access)
        self.counters = count()
        self.second, self.stamped = -1.0, ""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes a request on, and looks at its answer."""
        if scope["type"] not in ("http", "websocket"):
            return await self.app(scope, receive, send)
        ticket = ticket_of(scope)
        if (scope.get("method", "GET"), ticket.route) in routes.OPEN:
            return await self.app(scope, receive, send)
        told.WAITING.add(ticket.id)
        try:
            return await self.app(scope, receive, ticket.watch(send))
        finally:
            used = ticket.used()
            told.WAITING.discard(ticket.id)
            FINISHED.pop(ticket.id, None)
            self.note(ticket, used)

    def stamp(self) -> str:
        """The wall clock to the second, written once for each."""
        if (second := time.monotonic() // 1) != self.second:
            self.second, self.stamped = second, stamp()
        return self.stamped

    def note(self, ticket: Ticket, used: Usage) -> None:
        """Log and counters."""
        answer, policy = ticket.answer, self.files.policy
        status = answer.status if answer and answer.status else LEFT
        first, queued = (answer.first if answer else -1.0), ticket.queued
        tenant = ticket.tenant if ticket.tenant in policy.tenants or ticket.tenant.startswith("(") else OTHER
        model = ticket.model if ticket.model in policy.models else OTHER if ticket.model else ""
        if self.counters:
            self.counters.note((tenant, model), status, used, first, queued)
        if ticket.refused == WRONG_KEYS.code:
            return
        named = ticket.route if ticket.route in routes.NAMED or ticket.route in policy.routes else OTHER
        more = f',"first_seconds":{first:.4f}' if first >= 0 else ""
        if queued >= 0:
            more += f',"queue_seconds":{queued:.4f}'
        if used.counted:
            more += f',"counted":"{used.counted}"'
        if ticket.refused:
            more += f',"refused":"{ticket.refused}"'
        if ticket.client_id:
            more += f',"client_id":{json.dumps(ticket.client_id)}'
        if answer and answer.status and not answer.ended:
            more += ',"cut":true'
        seconds = time.monotonic() - ticket.began
        self.say(
            f'{beginning(ticket.tenant, model, named)},"time":"{self.stamp()}","id":"{ticket.id}","status":{status},'
            f'"prompt_tokens":{used.prompt},"completion_tokens":{used.completion},"seconds":{seconds:.4f}{more}}}\n'.encode()
        )
