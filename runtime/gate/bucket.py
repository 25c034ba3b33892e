"""Pure arithmetic of limits, over stated time."""

from collections.abc import Mapping
from typing import NamedTuple

MINUTE = 60.0


class Bucket(NamedTuple):
    """What is left of an amount per minute: at most one minute's worth, and less than nothing when more was used than was asked."""

    level: float
    at: float
    """Seconds of a clock that never goes back."""


def full(per_minute: float, now: float) -> Bucket:
    """One that nobody used."""
    return Bucket(per_minute, now)


def refilled(bucket: Bucket, per_minute: float, now: float) -> Bucket:
    """The same at a later time; an earlier one changes nothing."""
    passed = max(now - bucket.at, 0.0)
    return Bucket(min(bucket.level + passed * per_minute / MINUTE, per_minute), max(now, bucket.at))


def wait(bucket: Bucket, per_minute: float, need: float) -> float:
    """Seconds until ``need`` may be taken: an amount above the whole minute's waits for a full bucket. 0 = now."""
    lacks = min(need, per_minute) - bucket.level
    return max(lacks, 0.0) * MINUTE / per_minute


def take(bucket: Bucket, amount: float) -> Bucket:
    """After a use; a negative amount gives back."""
    return Bucket(bucket.level - amount, bucket.at)


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
