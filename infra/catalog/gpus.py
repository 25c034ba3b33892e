"""GPUs and their MIG geometry: memory as CUDA reports it (not the nameplate), compute capability, number formats, NVLink."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache

from interlock.infra.catalog.tables import rows, table


@dataclass(frozen=True, slots=True)
class MemoryGib:
    """Total device memory in GiB as ``cudaMemGetInfo`` reports it, over the logs and boards seen."""

    low: float
    """Smallest total seen (or estimated)."""
    likely: float
    """What most boards report."""
    high: float
    """Largest total seen."""


@dataclass(frozen=True, slots=True)
class MigProfile:
    """One kind of MIG slice."""

    name: str
    """As nvidia-smi and the device plugin spell it: ``3g.40gb``."""
    compute: int
    """Compute slices it takes."""
    memory: int
    """Memory slices it takes."""
    max_count: int
    """How many fit on one card when nothing else does."""
    memory_gib: float
    """Memory of one slice in GiB."""


@dataclass(frozen=True, slots=True)
class MigGeometry:
    """How a card can be cut."""

    name: str
    """Key that GPUs refer to."""
    compute_slices: int
    """Compute slices of the card."""
    memory_slices: int
    """Memory slices of the card."""
    profiles: tuple[MigProfile, ...]
    """The slices on offer."""
    source: str
    """Where it was read."""
    date: str
    """When."""

    def profile(self, name: str) -> MigProfile | None:
        """The profile of that name (``mig-3g.40gb``, ``nvidia.com/mig-3g.40gb`` and ``3g.40gb`` are the same), or None."""
        wanted = name.rsplit("/", 1)[-1].removeprefix("mig-").lower()
        return next((p for p in self.profiles if p.name == wanted), None)

    def problem(self, layout: Mapping[str, int]) -> str | None:
        """Why a layout (profile name to count) cannot exist on one card, or None when it can.

        Compute and memory slices must both suffice and each profile has its own largest count; placement on the
        memory axis is not simulated, so a layout that passes here can still be refused by the driver.
        """
        compute = memory = 0
        for name, count in layout.items():
            profile = self.profile(name)
            if profile is None:
                return f"{name} is not a profile of this card (it has {', '.join(p.name for p in self.profiles)})"
            if count > profile.max_count:
                return f"{count} x {profile.name}: at most {profile.max_count} fit on one card"
            compute += count * profile.compute
            memory += count * profile.memory
        if compute > self.compute_slices:
            return f"{compute} compute slices asked, the card has {self.compute_slices}"
        if memory > self.memory_slices:
            return f"{memory} memory slices asked, the card has {self.memory_slices}"
        return None


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU model."""

    name: str
    """Canonical name."""
    aliases: tuple[str, ...]
    """Other spellings, lower case."""
    nameplate_gb: int | None
    """What the data sheet says, in GB."""
    memory_gib: MemoryGib
    """What CUDA reports."""
    compute_capability: float
    """8.0, 8.6, 8.9, 9.0, 10.0, 10.3, 12.0, ..."""
    bf16: bool
    """bfloat16 in hardware (8.0 and later)."""
    fp8: bool
    """FP8 matrix units (8.9 and later); older cards run FP8 checkpoints weight-only."""
    fp4: bool
    """FP4 matrix units (10.0 and later)."""
    nvlink: bool
    """The board can have NVLink to its neighbours."""
    unified_memory: bool
    """CPU and GPU share the memory (free memory then comes from the operating system)."""
    mig: str | None
    """Key of its MIG geometry; None when it has no MIG."""
    source: str
    """Where the memory figure comes from."""
    date: str
    """When it was read."""

    @property
    def pooled(self) -> bool:
        """A card of nodes: one that GPU feature discovery was seen to label."""
        return any(row["gpu"] == self.name for row in table("gpu_labels.json")["cards"])

    @property
    def geometry(self) -> MigGeometry | None:
        """How it can be cut into MIG slices, or None."""
        return mig_geometries().get(self.mig) if self.mig else None


@cache
def gpus() -> tuple[Gpu, ...]:
    """All GPUs of the catalog."""
    return tuple(
        Gpu(**{**row, "aliases": tuple(row["aliases"]), "memory_gib": MemoryGib(**row["memory_gib"])}) for row in rows("gpus.json")
    )


@cache
def mig_geometries() -> Mapping[str, MigGeometry]:
    """MIG geometry by key."""
    found = (MigGeometry(**{**row, "profiles": tuple(MigProfile(**each) for each in row["profiles"])}) for row in rows("mig.json"))
    return {each.name: each for each in found}


def _plain(name: str) -> str:
    """A name without vendor words, brackets and punctuation: ``NVIDIA A100-SXM4-80GB (x)`` -> ``a100 sxm4 80gb``."""
    text = re.sub(r"\(.*?\)", " ", name.lower())
    text = re.sub(r"\b(nvidia|tesla|geforce|hbm3e?|hbm2e?|gpu|graphics card)\b", " ", text)
    text = re.sub(r"(\d+)(?:\.0+)?[\s-]*(gb|gib)\b", r" \1gb ", text)
    return " ".join(re.split(r"[\s_\-/]+", text)).strip()


@cache
def _index() -> Mapping[str, Gpu]:
    return {_plain(key): row for row in gpus() for key in (*row.aliases, row.name)}


# Words of a name that make it another card; a card is never found by leaving one out.
_TELLING = frozenset({"laptop", "mobile", "notebook", "max", "ti", "super", "d", "ada"})
_SAME = {"mobile": "laptop", "notebook": "laptop"}
_SIZE = re.compile(r"(\d+)gb")
# Of the size that a name states, what CUDA reports: 0.962 to 0.988 on the cards seen without error correction.
_REPORTED = MemoryGib(low=0.955, likely=0.982, high=1.0)


@cache
def gpu(name: str) -> Gpu | None:
    """The GPU of that name or alias (``H100``, ``nvidia-h100-80gb-hbm3``, ``A100-SXM4-80GB``, ...), or None.

    Extra words at the end are dropped one by one, so that ``L40S G6e`` still finds the L40S; words that make another card (``Laptop``,
    ``Ti``) are not. A size in the name that is not the found card's own is the memory: ``RTX 4090 48GB`` has 48.
    """
    words = [_SAME.get(word, word) for word in _plain(name).split()]
    sizes = [int(told.group(1)) for word in words if (told := _SIZE.fullmatch(word))]
    plain = [word for word in words if not _SIZE.fullmatch(word)]
    if not sizes:
        return _longest(plain, [])
    exact = _index().get(" ".join(words)) or _longest(plain, [f"{sizes[0]}gb"])
    found = exact or _longest(plain, [])
    return found if exact or found is None else _resized(found, sizes[0])


def _longest(plain: list[str], size: list[str]) -> Gpu | None:
    """The card of the most words of a name, with its size behind them."""
    rest = list(plain)
    while rest:
        found = _index().get(" ".join([*rest, *size]))
        if found is not None:
            return found
        if rest.pop() in _TELLING:
            return None
    return None


def _resized(found: Gpu, size: int) -> Gpu:
    """The card with the memory that its name states, where that is neither its nameplate nor what it reports."""
    own = found.nameplate_gb
    if own is None or size == own or size - 1 <= found.memory_gib.likely <= size + 1:
        return found
    stated = MemoryGib(low=size * _REPORTED.low, likely=size * _REPORTED.likely, high=size * _REPORTED.high)
    name = re.sub(r" \d+GB$", "", found.name)
    return replace(found, name=f"{name} {size}GB", nameplate_gb=size, memory_gib=stated, mig=None)


_COUNTED = re.compile(r"^\s*(\d{1,2})\s*(?:x|\*|×)\s*(.+)$", re.IGNORECASE)


def counted(name: str) -> tuple[int, str]:
    """(how many, which) of ``2x A6000``; a plain name is one."""
    found = _COUNTED.match(name)
    return (int(found.group(1)), found.group(2)) if found and int(found.group(1)) else (1, name)


_CLASS = re.compile(r"^\s*~?(\d{1,3})(?:\.0+)?\s*gi?b([\s-]*class)?\b", re.IGNORECASE)


def memory_of_class(name: str) -> MemoryGib | None:
    """Memory of ``24GB-class`` and of a name that begins with a size: 0.92 (error correction on) to 1.0 of it."""
    found = _CLASS.match(name)
    size = float(found.group(1)) if found else 0.0
    return MemoryGib(low=0.92 * size, likely=0.97 * size, high=size) if size else None


_FOREIGN = re.compile(
    r"\b(amd|instinct|radeon|mi[123]\d{2}[a-z]*|mi[56]0|rx[\s-]?\d{4}|w7[89]00|gfx\d+|intel|gaudi\s?\d?|hpu|arc|max[\s-]1[15]50|"
    r"tpu|v[456][ep]|trillium|ironwood|trainium\s?\d?|inferentia\s?\d?|neuron|ascend|910[abc]|mlu\d*|apple|m[1234]\s(pro|max|ultra))\b",
    re.IGNORECASE,
)


def not_nvidia(name: str) -> bool:
    """Whether a name is of another maker's accelerator, which no figure of the catalog is of."""
    return _FOREIGN.search(name) is not None and "nvidia" not in name.lower()


OLDEST_CAPABILITY = 7.0
"""Lowest compute capability that any release of vLLM has had kernels for."""
