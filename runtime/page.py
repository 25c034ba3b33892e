"""The page of this process on the board, and the supervisor's words. Apart from board.py, which is all that the probe reads."""

import mmap
import os

from interlock.runtime import board
from interlock.runtime.mapped import mapped


class Page:
    """This process's own page."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        self.words = mapped(os.path.join(board.folder(), f"{board.PAGE}{self.pid}"), board.SIZE)
        self.words[board.WORDS["birth"]] = board.now()
        self.words[board.WORDS["pid"]] = self.pid

    def row(self, engine: int) -> int:
        """Offset of a new row for an engine core, -1 when the page is full (that engine is then not watched)."""
        count = self.words[board.WORDS["rows"]]
        if count >= board.MOST_ROWS:
            return -1
        at = board.HEAD_WORDS + count * board.ROW_WORDS
        self.words[at] = engine
        self.words[board.WORDS["rows"]] = count + 1
        return at


_mine: list[Page] = []


def mine() -> Page:
    """The page of this process, made at its first use, and again after a fork."""
    if not _mine or _mine[0].pid != os.getpid():
        _mine[:] = [Page()]
    return _mine[0]


def control(at: str) -> memoryview | None:
    """The supervisor's words, read only; None when nobody supervises."""
    try:
        file = os.open(os.path.join(at, board.CONTROL), os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        return memoryview(mmap.mmap(file, 16, access=mmap.ACCESS_READ)).cast("q")
    finally:
        os.close(file)
