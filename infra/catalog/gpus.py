"""GPUs and their MIG geometry: memory as CUDA reports it (not the nameplate), compute capability, number formats, NVLink."""

import re
from collections.abc import Mapping
from functools import cache

from pydantic import BaseModel, ConfigDict

from interlock.infra.catalog.tables import rows

_FROZEN = ConfigDict(frozen=True, extra="forbid")


class MemoryGib(BaseModel):
    """Total device memory in GiB as ``cudaMemGetInfo`` reports it, over the logs and boards seen."""

    model_config = _FROZEN
    low: float
    """Smallest total seen (or estimated)."""
    likely: float
    """What most boards report."""
    high: float
    """Largest total seen."""


class MigProfile(BaseModel):
    """One kind of MIG slice."""

    model_config = _FROZEN
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


class MigGeometry(BaseModel):
    """How a card can be cut."""

    model_config = _FROZEN
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


class Gpu(BaseModel):
    """One GPU model."""

    model_config = _FROZEN
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
    def geometry(self) -> MigGeometry | None:
        """How it can be cut into MIG slices, or None."""
        return mig_geometries().get(self.mig) if self.mig else None


@cache
def gpus() -> tuple[Gpu, ...]:
    """All GPUs of the catalog."""
    return tuple(Gpu.model_validate(row) for row in rows("gpus.json"))


@cache
def mig_geometries() -> Mapping[str, MigGeometry]:
    """MIG geometry by key."""
    return {row["name"]: MigGeometry.model_validate(row) for row in rows("mig.json")}


def _plain(name: str) -> str:
    """A name without vendor words, brackets and punctuation: ``NVIDIA A100-SXM4-80GB (x)`` -> ``a100 sxm4 80gb``."""
    text = re.sub(r"\(.*?\)", " ", name.lower())
    text = re.sub(r"\b(nvidia|tesla|geforce|hbm3e?|hbm2e?)\b", " ", text)
    text = re.sub(r"(\d+)\s*(gb|gib)\b", r"\1gb", text)
    return " ".join(re.split(r"[\s_\-/]+", text)).strip()


@cache
def _index() -> Mapping[str, Gpu]:
    return {_plain(key): row for row in gpus() for key in (*row.aliases, row.name)}


@cache
def gpu(name: str) -> Gpu | None:
    """The GPU of that name or alias (``H100``, ``nvidia-h100-80gb-hbm3``, ``A100-SXM4-80GB``, ...), or None.

    Extra words at the end are dropped one by one, so that ``L40S G6e`` still finds the L40S.
    """
    words = _plain(name).split()
    while words:
        found = _index().get(" ".join(words))
        if found is not None:
            return found
        words.pop()
    return None
