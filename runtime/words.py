"""How the runtime speaks: lines on stderr, as text or JSON, and the one line that `kubectl describe pod` shows."""

import os
import time

TERMINATION_LOG = "/dev/termination-log"
MOST = 2000
"""Bytes of a termination message: the kubelet keeps 4096 per container."""


class RefusedError(Exception):
    """Something that another try cannot help: configuration. One line, no traceback."""


def line_of(text: str) -> str:
    """The text as one line."""
    return " ".join(text.split())


def stamp() -> str:
    """The wall clock as RFC 3339 in UTC."""
    now = time.time()
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(now))}.{int(now % 1 * 1000):03d}Z"


def say(text: str, as_json: bool = False) -> None:
    """Writes one line on stderr; a closed or full stderr changes nothing."""
    if as_json:
        import json  # noqa: PLC0415 - text is the default

        said = json.dumps({"time": stamp(), "source": "interlock", "message": line_of(text)})
    else:
        said = f"interlock: {line_of(text)}"
    try:
        os.write(2, said.encode("utf-8", "backslashreplace") + b"\n")
    except OSError:
        return


def leave(text: str, path: str = TERMINATION_LOG) -> str:
    """Writes the termination message, where there is a file for it. Returns what went wrong, or nothing.

    The file is only there in a pod: none is made elsewhere.
    """
    try:
        file = os.open(path, os.O_WRONLY | os.O_TRUNC | os.O_CLOEXEC)
    except FileNotFoundError:
        return ""
    except OSError as error:
        return f"no termination message: {path}: {error.strerror}"
    try:
        os.write(file, line_of(text).encode("utf-8", "backslashreplace")[:MOST] + b"\n")
    except OSError as error:
        return f"no termination message: {path}: {error.strerror}"
    finally:
        os.close(file)
    return ""
