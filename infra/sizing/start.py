"""How long an engine takes to start, step by step: one estimate for the plan's budgets, the rules about probes, and people who ask.

Every constant stands in ``infra/catalog/start_times.json`` with its source.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, lru_cache

from interlock.infra.catalog.tables import table
from interlock.infra.sizing.result import Estimate
from interlock.infra.values import gib

TABLE = "start_times.json"


class Reading(StrEnum):
    """What the weights are read from."""

    HUB = "hub"
    NETWORK = "network"
    DISK = "disk"
    OBJECT = "object"
    MEMORY = "memory"


class Step(StrEnum):
    """One step of a start, in the order in which they happen."""

    PROVISION = "provision"
    IMAGE = "image"
    NODES = "nodes"
    PROCESS = "process"
    JOIN = "join"
    READ = "read"
    WEIGHTS = "weights"
    PROFILE = "profile"
    COMPILE = "compile"
    GRAPHS = "graphs"


BEFORE = frozenset({Step.PROVISION, Step.IMAGE})
"""Steps before the engine's container starts: no probe runs yet, but a rollout waits for them."""
_WORDS = {
    Step.PROVISION: "a node is made",
    Step.IMAGE: "the image is pulled",
    Step.NODES: "the pods of the replica find each other",
    Step.PROCESS: "the processes start and import",
    Step.JOIN: "the ranks join",
    Step.READ: "the weights are read",
    Step.WEIGHTS: "the weights are laid out for the GPU",
    Step.PROFILE: "memory is profiled and the engine warmed up",
    Step.COMPILE: "the model is compiled",
    Step.GRAPHS: "CUDA graphs are captured",
}
_SOURCES = {"hub": "the hub", "network": "the network", "disk": "the node's disk", "object": "an object store"}


@dataclass(frozen=True, slots=True)
class Start:
    """What is started, and what is there already."""

    weights: float | None
    """Bytes that one node reads; None when not known, which counts as nothing to read."""
    reading: Reading = Reading.HUB
    """Where they are read from."""
    ranks: int = 1
    """GPUs of the replica."""
    nodes: int = 1
    """Pods of the replica, each on a node of its own."""
    provision: bool = False
    """Whether a node must be made first."""
    image: bool = False
    """Whether the image must be pulled first."""
    eager: bool = False
    """Neither compilation nor CUDA graphs (``--enforce-eager``)."""
    compiled: bool = False
    """Whether a compile cache holds the kernels of an earlier start."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StartStep:
    """One step with its time."""

    name: Step
    """Which step."""
    seconds: Estimate
    """Low, likely and high."""
    why: str
    """What happens, with the arithmetic where bytes are moved."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StartTime:
    """A whole start: its steps in order."""

    steps: tuple[StartStep, ...]
    """In the order in which they happen."""

    @property
    def total(self) -> Estimate:
        """Seconds from the pod's creation until it is ready."""
        return total(step.seconds for step in self.steps)

    @property
    def before(self) -> Estimate:
        """Seconds until the engine's container starts."""
        return total(step.seconds for step in self.steps if step.name in BEFORE)

    @property
    def container(self) -> Estimate:
        """Seconds from the container's start until it is ready: what a startup probe must allow."""
        return total(step.seconds for step in self.steps if step.name not in BEFORE)


def total(parts: Iterable[Estimate]) -> Estimate:
    """The sum of estimates, end by end: the high end is that of steps that are all slow at once."""
    found = tuple(parts)
    return Estimate(low=sum(each.low for each in found), likely=sum(each.likely for each in found), high=sum(each.high for each in found))


@lru_cache(maxsize=1024)
def start_time(start: Start) -> StartTime:
    """The steps of ``start``."""
    size, pulled = start.weights or 0.0, float(table(TABLE)["image_bytes"]["likely"]) if start.image else 0.0
    # By step: whether it happens, the name of its fixed time, and the bytes that it moves with the name of their rate.
    plan: dict[Step, tuple[bool, str, float, str]] = {
        Step.PROVISION: (start.provision, "provision", 0.0, ""),
        Step.IMAGE: (start.image, "", pulled, "image"),
        Step.NODES: (start.nodes > 1, "nodes", 0.0, ""),
        Step.PROCESS: (True, "process", 0.0, ""),
        Step.JOIN: (start.ranks > 1, "join", 0.0, ""),
        Step.READ: (size > 0, "", size, start.reading.value),
        Step.WEIGHTS: (size > 0, "weights", size * start.nodes / start.ranks, "rank"),
        Step.PROFILE: (True, "profile", 0.0, ""),
        Step.COMPILE: (not start.eager, "compile_cached" if start.compiled else "compile", 0.0, ""),
        Step.GRAPHS: (not start.eager, "graphs", 0.0, ""),
    }
    return StartTime(steps=tuple(_step(step, fixed, size, rate) for step, (happens, fixed, size, rate) in plan.items() if happens))


def _step(step: Step, fixed: str, size: float, rate: str) -> StartStep:
    parts = ([seconds_of(fixed)] if fixed else []) + ([transfer(rate, size)] if size else [])
    cached = " from the cache" if fixed == "compile_cached" else ""
    return StartStep(name=step, seconds=total(parts), why=_WORDS[step] + cached + (_moving(rate, size) if size else ""))


@cache
def seconds_of(name: str) -> Estimate:
    """A fixed step's seconds."""
    row = table(TABLE)["seconds"][name]
    return Estimate(low=row["low"], likely=row["likely"], high=row["high"])


@cache
def rate_of(name: str) -> Estimate:
    """Bytes per second of a kind of source: low is slow."""
    row = table(TABLE)["bytes_per_second"][name]
    return Estimate(low=row["slow"], likely=row["likely"], high=row["fast"])


def transfer(name: str, size: float) -> Estimate:
    """Seconds to move ``size`` bytes."""
    rate = rate_of(name)
    return Estimate(low=size / rate.high, likely=size / rate.likely, high=size / rate.low)


def _moving(name: str, size: float) -> str:
    rate = rate_of(name)
    source = {"memory": "from the page cache", "image": "from a registry", "rank": "to each GPU"}.get(name, f"from {_SOURCES.get(name)}")
    return f": {gib(int(size))} {source} at {rate.likely / 1e6:.0f} MB/s ({rate.low / 1e6:.0f} to {rate.high / 1e6:.0f})"
