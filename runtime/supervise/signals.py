"""Signals before the engine starts: Python's own module first makes an enum of each number, half the time of an empty Python."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
else:
    import _signal as signal

__all__ = ["signal"]
