"""What the engine's statistics say of finished requests, brought to the tickets by the id that both know."""

from collections.abc import Iterable
from typing import Any

from interlock.runtime.gate.ticket import FINISHED

WAITING: set[str] = set()
"""Ids of requests whose numbers somebody waits for."""


def note(finished: Iterable[Any]) -> None:
    """Adds up the numbers of each request; one may have several prompts: ``cmpl-ID-0``, ``cmpl-ID-1``, ``chatcmpl-ID-1a2b3c4d``."""
    for each in finished:
        stated = getattr(each, "request_id", None) or ""  # older versions do not say it
        name = next((part for part in stated.split("-") if part in WAITING), None)
        if name is None:
            continue
        total = FINISHED.setdefault(name, [0, 0, 0.0])
        total[0] += each.num_prompt_tokens
        total[1] += each.num_generation_tokens
        total[2] = max(total[2], each.queued_time)
