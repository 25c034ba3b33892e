"""The rule that tells a hang from idling, from a long prompt, and from a slow client."""

from interlock.runtime import board


def silence(found: list[memoryview], at: int) -> float:
    """Seconds for which an engine core has not stepped although it has work; 0 when none is late. ``at`` is the time now.

    Two signs of work count, and nothing else. The core's own count of what it holds, while a request that was heard to its end
    is unanswered. And a request without a first byte of answer that no other core can account for. A client that does not read
    its answer, or that never ends its upload, shows nothing: the core has nothing to do for either.
    """
    cores: dict[int, list[int]] = {}  # engine: [latest beat, count held, when that count was taken]
    for words in found:
        for row in range(words[board.WORDS["rows"]]):
            engine, beat, _, held, held_at, asleep = words[board.HEAD_WORDS + row * board.ROW_WORDS :][: len(board.ROW)]
            known = cores.setdefault(engine, [0, 0, -1])
            known[0] = max(known[0], at if asleep else beat)
            if held_at > known[2]:  # several API servers hear of a core, and each step's count reaches only one of them
                known[1:] = held, held_at
    late = 0
    if board.total(found, "heard"):
        late = max((at - beat for beat, held, _ in cores.values() if held), default=0)
    pending = board.total(found, "pending")
    oldest = min((words[board.WORDS["oldest"]] for words in found if words[board.WORDS["pending"]]), default=0)
    others = sum(held for _, held, _ in cores.values())
    for beat, held, _ in sorted(cores.values()):
        others -= held
        if pending > others:
            late = max(late, at - max(beat, oldest))
            break
    return max(late, 0) / 1e9
