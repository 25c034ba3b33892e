"""Hot adapters: ``--middleware interlock.runtime.adapters.Adapters``. A thread of the API server keeps them equal to a mounted list.

The pod is ready once all of them were there. Later changes of the list never take it out of service: one adapter that cannot be loaded
would end every replica at once.
"""

import os
import threading

from interlock.runtime import words
from interlock.runtime.asgi import App, Receive, Scope, Send, answer, error
from interlock.runtime.lora import PERIOD_SECONDS, Engine, engine_argv, follow
from interlock.runtime.words import RefusedError

LIST = "/etc/interlock/adapters/adapters.json"
VARIABLE = "INTERLOCK_ADAPTERS"
"""Environment variable with another path of the list."""
READY = "/health"
BEGIN_SECONDS = 0.5
"""Between two looks until the adapters are there."""


class Adapters:
    """Follows the list from the first request on: a readiness probe, in a pod."""

    def __init__(self, app: App) -> None:
        self.app = app
        self.path = os.environ.get(VARIABLE) or LIST
        self.trouble = "the adapters are not loaded yet"
        self.whole = False
        self.thread: threading.Thread | None = None
        self.ended = threading.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes a request on; a readiness probe is refused until the adapters are there."""
        if scope["type"] == "http" and self.thread is None:
            self.thread = threading.Thread(target=self.run, name="interlock-adapters", daemon=True)
            self.thread.start()
        if scope["type"] == "http" and not self.whole and scope["path"].endswith(READY) and scope["method"] == "GET":
            return await answer(send, 503, error(self.trouble, "unavailable", "adapters_missing"))
        return await self.app(scope, receive, send)

    def run(self) -> None:
        """Looks at the list as long as the server runs."""
        self.look()
        while not self.ended.wait(PERIOD_SECONDS if self.whole else BEGIN_SECONDS):
            self.look()

    def look(self) -> None:
        """One look; a trouble is said once."""
        try:
            troubles = follow(Engine(engine_argv()), self.path)
        except RefusedError as why:
            troubles = [str(why)]
        except Exception as why:  # the thread must not end while the server runs
            troubles = [f"{type(why).__name__}: {why}"]
        self.whole = self.whole or not troubles
        told = "; ".join(troubles)
        if told and told != self.trouble:
            words.say(f"adapters: {told}")
        self.trouble = told
