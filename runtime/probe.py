"""The liveness probe: tells an engine that hangs from one that idles, computes a long prompt or waits for a slow client."""

import os
import sys

from interlock.runtime import board
from interlock.runtime.silence import silence

USAGE = "live LIMIT: seconds without a step after which an engine that has work counts as hung, a number above 0"


def main(arguments: list[str]) -> int:
    """0 while the engine steps, has nothing to do, or cannot be judged; 1 when it hangs; 2 for a wrong call."""
    try:
        (limit,) = (float(each) for each in arguments)
    except ValueError:
        limit = 0.0
    if not 0 < limit < 1e9:
        sys.stderr.write(f"interlock: {USAGE}\n")
        return 2
    try:
        found = board.pages(board.folder())
    except OSError as error:  # never a reason to kill: the supervisor is not that far yet, or this is another user
        sys.stderr.write(f"interlock: not looked at: {board.folder()}: {os.strerror(error.errno or 0)}\n")
        return 0
    late = silence(found, board.now())
    if late <= limit:
        return 0
    work = f"{board.total(found, 'heard')} requests in work, {board.total(found, 'pending')} without a first byte"
    sys.stderr.write(f"interlock: no engine step for {late:.1f} s (limit {limit:g} s), {work}\n")
    return 1
