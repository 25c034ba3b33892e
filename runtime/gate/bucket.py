"""Pure arithmetic of limits, over stated time."""

import math
from collections.abc import Mapping

MINUTE = 60.0


Bucket = tuple[float, float]
"""(what is left of an amount per minute, seconds of a clock that never goes back): at most one minute's worth, and less than nothing when
more was used than was asked. A plain pair: every request makes several."""
NO_LIMIT: Bucket = (math.inf, 0.0)


def full(per_minute: float, now: float) -> Bucket:
    """One that nobody used."""
    return per_minute, now


def refilled(bucket: Bucket, per_minute: float, now: float) -> Bucket:
    """The same at a later time; an earlier one changes nothing."""
    level, at = bucket
    if now > at:
        level += (now - at) * per_minute / MINUTE
        at = now
    return (level, at) if level < per_minute else (per_minute, at)


def wait(bucket: Bucket, per_minute: float, need: float) -> float:
    """Seconds until ``need`` may be taken: an amount above the whole minute's waits for a full bucket. 0 = now."""
    lacks = (need if need < per_minute else per_minute) - bucket[0]
    return lacks * MINUTE / per_minute if lacks > 0 else 0.0


def take(bucket: Bucket, amount: float) -> Bucket:
    """After a use; a negative amount gives back."""
    return bucket[0] - amount, bucket[1]


def share(running: Mapping[str, int], wanted: Mapping[str, int], capacity: int, tenant: str) -> bool:
    """Whether ``tenant`` may have one request more of ``capacity`` that all use at the same time.

    Every tenant that is there has an equal share of the capacity, at least one. Above its own share a tenant may use what nobody wants: of
    the others' shares as much stays free as each lately had at most (``wanted``) and one more.
    """
    if capacity <= 0:
        return True
    there = {name for name, count in wanted.items() if count} | {name for name, count in running.items() if count} | {tenant}
    equal = max(capacity // len(there), 1)
    if running.get(tenant, 0) < equal:
        return True
    kept = sum(max(min(equal, wanted.get(name, 0) + 1) - running.get(name, 0), 0) for name in there - {tenant})
    return sum(running.values()) + kept < capacity
