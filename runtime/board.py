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


def mapped(path: str, size: int) -> memoryview:
    """A fresh file of zeros as writable words. Raises OSError, also without room: a sparse file would end its writer at the first write."""
    import mmap  # noqa: PLC0415 - the probe only reads

    part = f"{path}.new"
    file = os.open(part, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
    try:
        os.posix_fallocate(file, 0, size)
        words = memoryview(mmap.mmap(file, size)).cast("q")
        os.rename(part, path)
    except OSError:
        os.unlink(part)
        raise
    finally:
        os.close(file)
    return words


class Page:
    """This process's own page."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        self.words = mapped(os.path.join(folder(), f"{PAGE}{self.pid}"), SIZE)
        self.words[WORDS["birth"]] = now()
        self.words[WORDS["pid"]] = self.pid

    def row(self, engine: int) -> int:
        """Offset of a new row for an engine core, -1 when the page is full (that engine is then not watched)."""
        count = self.words[WORDS["rows"]]
        if count >= MOST_ROWS:
            return -1
        at = HEAD_WORDS + count * ROW_WORDS
        self.words[at] = engine
        self.words[WORDS["rows"]] = count + 1
        return at


_mine: list[Page] = []


def mine() -> Page:
    """The page of this process, made at its first use, and again after a fork."""
    if not _mine or _mine[0].pid != os.getpid():
        _mine[:] = [Page()]
    return _mine[0]


def control(at: str) -> memoryview | None:
    """The supervisor's words, read only; None when nobody supervises."""
    import mmap  # noqa: PLC0415

    try:
        file = os.open(os.path.join(at, CONTROL), os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        return memoryview(mmap.mmap(file, 16, access=mmap.ACCESS_READ)).cast("q")
    finally:
        os.close(file)


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


def silence(found: list[memoryview], at: int) -> float:
    """Seconds for which an engine core has not stepped although it has work; 0 when none is late. ``at`` is the time now.

    Two signs of work count, and nothing else. The core's own count of what it holds, while a request that was heard to its end
    is unanswered. And a request without a first byte of answer that no other core can account for. A client that does not read
    its answer, or that never ends its upload, is no sign: the core has nothing to do for either.
    """
    cores: dict[int, list[int]] = {}  # engine: [latest beat, count held, when that count was taken]
    for words in found:
        for row in range(words[WORDS["rows"]]):
            engine, beat, _, held, held_at, asleep = words[HEAD_WORDS + row * ROW_WORDS :][: len(ROW)]
            known = cores.setdefault(engine, [0, 0, -1])
            known[0] = max(known[0], at if asleep else beat)
            if held_at > known[2]:  # several API servers hear of a core, and each step's count reaches only one of them
                known[1:] = held, held_at
    late = 0
    if total(found, "heard"):
        late = max((at - beat for beat, held, _ in cores.values() if held), default=0)
    pending = total(found, "pending")
    oldest = min((words[WORDS["oldest"]] for words in found if words[WORDS["pending"]]), default=0)
    others = sum(held for _, held, _ in cores.values())
    for beat, held, _ in sorted(cores.values()):
        others -= held
        if pending > others:
            late = max(late, at - max(beat, oldest))
            break
    return max(late, 0) / 1e9
