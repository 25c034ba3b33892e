"""A file of the board as words that its writer holds."""

import mmap
import os


def mapped(path: str, size: int) -> memoryview:
    """A fresh file of zeros as writable words. Raises OSError, also without room: a sparse file would end its writer at the first write."""
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
