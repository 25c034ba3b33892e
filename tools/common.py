"""What every tool shares: where things are kept, how an error ends a command, and a lock between processes."""

import fcntl
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TOOLCHAIN = ROOT / "tools" / "toolchain"


class ToolError(Exception):
    """A problem that a person can act on: one message, no traceback.

    ``code`` is the exit code: 2 for usage or a missing requirement, 1 for work that was tried and failed.
    """

    def __init__(self, message: str, code: int = 2) -> None:
        super().__init__(message)
        self.code = code


def home() -> Path:
    """The folder of everything that is kept between runs (``INTERLOCK_HOME``, else ``~/.cache/interlock``)."""
    chosen = os.environ.get("INTERLOCK_HOME")
    if chosen:
        return Path(chosen).expanduser().resolve()
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "interlock"


def say(message: str = "") -> None:
    """Prints a line at once, so that long steps show where they are also through a pipe."""
    print(message, flush=True)


@contextmanager
def locked(path: Path, busy: str) -> Iterator[None]:
    """Holds an exclusive lock on ``path``; prints ``busy`` once when another process holds it, and waits."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(busy)
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def run_main(main: Callable[[list[str]], int]) -> None:
    """Runs a command's ``main`` and turns ``ToolError`` and an interrupt into a message and an exit code."""
    # What was started must be put away also when this command is ended from outside.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        code = main(sys.argv[1:])
    except ToolError as error:
        print(f"error: {error}", file=sys.stderr, flush=True)
        code = error.code
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr, flush=True)
        code = 130
    raise SystemExit(code)
