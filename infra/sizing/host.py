"""What a replica needs of its node: memory to load through. The plan decides by it and rules judge by it."""

from dataclasses import dataclass

from interlock.infra.values import GIB

_SERVER, _WORKER = 4 * GIB, 2 * GIB
_LEAST_READING, _MOST_READING = 8 * GIB, 16 * GIB
_FAR, _TIGHT = 0.3, 0.6
# What the processes cannot do without, of what they usually hold: much of that is libraries, which can be reclaimed.
_LEAST_PROCESSES, _USUAL_PROCESSES = 1 / 3, 2 / 3


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
        far=max(min(far * size, processes + min(size, _LEAST_READING)), processes * _LEAST_PROCESSES),
        tight=max(min(tight * size, processes + min(size, _MOST_READING)), processes * _USUAL_PROCESSES),
        ample=processes + int(min(size, _MOST_READING)),
    )
