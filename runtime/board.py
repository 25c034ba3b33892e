"""The board: what the API servers know, in words that other processes of the container read without asking them.

One file ("page") per API server process, mapped by its only writer. Every field is one aligned 8-byte word, so a reader
never sees half of one. Times are CLOCK_MONOTONIC nanoseconds: no clock jump moves them, and all processes of a node share them.
A page has one head and one row per engine core of which the process hears.
"""

import os
import time

DEFAULT = "/dev/shm/interlock"
CONTROL = "control"
PAGE = "page."
HEAD = ("pid", "birth", "serving", "inflight", "served", "refused", "heard", "pending", "oldest", "rows")
ROW = ("engine", "beat", "beats", "held", "held_at", "asleep")
HEAD_WORDS, ROW_WORDS, MOST_ROWS = 16, 8, 256
SIZE = 8 * (HEAD_WORDS + MOST_ROWS * ROW_WORDS)
WORDS = {name: at for at, name in enumerate(HEAD)}
DRAINING, SUPERVISOR = 0, 1
now = time.monotonic_ns


def folder() -> str:
    """Where the board lies; the supervisor sets the variable for the engine."""
    return os.environ.get("INTERLOCK_BOARD") or DEFAULT


def pages(at: str, dead: bool = False) -> list[memoryview]:
    """The pages of the processes that live; with ``dead`` those that ended too. Raises OSError when the folder cannot be read."""
    found = []
    for name in os.listdir(at):
        if not name.startswith(PAGE) or name.endswith(".new"):
            continue
        try:
            with open(os.path.join(at, name), "rb", buffering=0) as file:
                words = memoryview(file.read(SIZE)).cast("q")
        except (FileNotFoundError, TypeError):  # removed meanwhile, or not whole words
            continue
        if len(words) * 8 == SIZE and words[WORDS["pid"]] and (dead or alive(words[WORDS["pid"]])):
            found.append(words)
    return found


def total(found: list[memoryview], field: str) -> int:
    """The sum of one field of the head over pages."""
    at = WORDS[field]
    return sum(words[at] for words in found)


def alive(pid: int) -> bool:
    """Whether a process runs; a zombie does not."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0] not in (b"Z", b"X")
    except OSError:
        return False
