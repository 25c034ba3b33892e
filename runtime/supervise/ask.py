"""``drain``: asks the running supervisor to drain and end, as a preStop hook or a person does. Asking again changes nothing."""

import os
import sys

from interlock.runtime import board, page
from interlock.runtime.supervise.begin import DRAIN
from interlock.runtime.supervise.processes import send


def main(_: list[str]) -> int:
    """0 when the supervisor was told; 1 when none runs here."""
    control = page.control(board.folder())
    pid = control[board.SUPERVISOR] if control is not None else 0
    if pid and board.alive(pid) and send(pid, DRAIN):
        return 0
    sys.stderr.write(f"interlock: no supervisor runs here ({os.path.join(board.folder(), board.CONTROL)})\n")
    return 1
