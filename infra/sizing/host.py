"""What a replica needs of its node: memory to load through, and the time to load. The plan decides by it and rules judge by it."""

from dataclasses import dataclass

from interlock.infra.sizing.result import Estimate
from interlock.infra.values import GIB

# Process start, compilation and graph capture: 20 to 55 s were measured on an H200 for vLLM 0.26 to 0.33 with a cold cache.
_START_SECONDS = Estimate(low=20.0, likely=60.0, high=100.0)
# Placeholders until start-up is measured per storage: one gigabyte a second from a disk or share, 75 MB a second from a hub.
_BYTES_PER_SECOND = Estimate(low=75e6, likely=1e9, high=1e9)
_SERVER, _WORKER = 4 * GIB, 2 * GIB
_LEAST_READING, _MOST_READING = 8 * GIB, 16 * GIB
_FAR, _TIGHT = 0.3, 0.6


def load_seconds(weights: float | None) -> Estimate:
    """Seconds from container start to ready for ``weights`` bytes; unknown weights count as nothing to read."""
    size, start, rate = weights or 0.0, _START_SECONDS, _BYTES_PER_SECOND
    return Estimate(low=start.low + size / rate.high, likely=start.likely + size / rate.likely, high=start.high + size / rate.low)


@dataclass(frozen=True, slots=True)
class LoadingMemory:
    """Host memory of one pod in bytes, without /dev/shm and offloaded weights."""

    processes: int
    """The API server and engine core (4 GiB), and 2 GiB for each worker: resident sizes seen for vLLM 0.2x to 0.3x on one GPU."""
    reading: int
    """Page cache to read the weights through."""
    far: float
    """Less than this is killed, or pages until a probe gives up."""
    tight: float
    """Less than this is slow."""
    ample: int
    """Enough for any checkpoint."""

    @property
    def decided(self) -> int:
        """What a plan gives: never below what is tight."""
        return max(self.processes + self.reading, int(self.tight) + 1)


def loading_memory(weights: float | None, ranks: int, *, far: float = _FAR, tight: float = _TIGHT) -> LoadingMemory:
    """Memory to load ``weights`` bytes (None: not known, so as much as any needs) by ``ranks`` workers in one pod.

    Page cache can be reclaimed, so large weights need no memory of their own size: the processes and some gigabytes suffice.
    """
    processes, size = _SERVER + _WORKER * ranks, float("inf") if weights is None else weights
    return LoadingMemory(
        processes=processes,
        reading=int(min(size, _MOST_READING if weights is None else _LEAST_READING)),
        far=min(far * size, processes + min(size, _LEAST_READING)),
        tight=min(tight * size, processes + min(size, _MOST_READING)),
        ample=processes + int(min(size, _MOST_READING)),
    )
