"""An event loop whose clock jumps to the next timer: hours of waiting in a moment, the same on any machine."""

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

Result = TypeVar("Result")


class _Jump(selectors.DefaultSelector):
    """Waits for nothing; tells how long would have been waited."""

    waited = 0.0

    def select(self, timeout: float | None = None) -> Any:
        self.waited += timeout or 0.0
        return super().select(0)


class VirtualLoop(asyncio.SelectorEventLoop):
    """``time()`` starts at 0 and passes only while everybody waits."""

    def __init__(self) -> None:
        self.jump = _Jump()
        super().__init__(self.jump)

    def time(self) -> float:
        return self.jump.waited


def run(main: Coroutine[Any, Any, Result]) -> Result:
    """Runs it to its end."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(main)
