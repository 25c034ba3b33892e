"""The operator's word: a secret of this container's life, on the board, by which commands inside it reach routes that tenants may not."""

import contextlib
import os

from interlock.runtime import board

FILE = "operator"


def operator_word(at: str = "") -> bytes:
    """The word, made by the first who asks; empty where no board can be written (no command reaches those routes then)."""
    folder = at or board.folder()
    part = os.path.join(folder, f"{FILE}.{os.getpid()}")
    try:
        with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600), "wb") as file:
            file.write(os.urandom(32).hex().encode())
        with contextlib.suppress(FileExistsError):
            os.link(part, os.path.join(folder, FILE))
        os.unlink(part)
    except OSError:
        return b""
    return read_word(folder)


def read_word(at: str = "") -> bytes:
    """The word as it stands on the board; empty where there is none."""
    try:
        with open(os.path.join(at or board.folder(), FILE), "rb") as file:
            return file.read(128)
    except OSError:
        return b""
