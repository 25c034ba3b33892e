"""Where MIG instances may lie on a card, and whether a layout has a place for each."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from interlock.infra.catalog.gpus import MigGeometry, MigProfile
from interlock.infra.catalog.tables import table


@dataclass(frozen=True, slots=True)
class Placement:
    """One instance on the card's memory axis."""

    profile: str
    """Profile name such as ``3g.40gb``."""
    start: int
    """First memory slice."""
    size: int
    """Memory slices."""


@cache
def _starts() -> Mapping[tuple[int, int, int], tuple[int, ...]]:
    """Start slices by (memory slices of the card, compute slices, memory slices of the profile)."""
    cards = table("mig_placements.json")["cards"]
    return {(card["memory_slices"], row["compute"], row["memory"]): tuple(row["starts"]) for card in cards for row in card["profiles"]}


def starts(geometry: MigGeometry, profile: MigProfile) -> tuple[int, ...]:
    """Memory slices at which an instance of ``profile`` may begin; empty when none is known."""
    return _starts().get((geometry.memory_slices, profile.compute, profile.memory), ())


def place(geometry: MigGeometry, layout: Mapping[str, int]) -> tuple[Placement, ...] | None:
    """Places for a layout (profile name to count) on one card, or None when there are none.

    A layout that ``geometry.problem`` refuses has none either. The search is complete: largest instances first, every start tried.
    """
    if geometry.problem(layout) is not None:
        return None
    wanted = [profile for name, count in layout.items() if (profile := geometry.profile(name)) for _ in range(count)]
    return _search(geometry, sorted(wanted, key=lambda each: (-each.memory, -each.compute)), 0)


def _search(geometry: MigGeometry, wanted: list[MigProfile], taken: int) -> tuple[Placement, ...] | None:
    """``taken`` is a bit mask of used memory slices."""
    if not wanted:
        return ()
    profile, *rest = wanted
    span = (1 << profile.memory) - 1
    for start in starts(geometry, profile):
        if taken & (span << start):
            continue
        found = _search(geometry, rest, taken | (span << start))
        if found is not None:
            return (Placement(profile.name, start, profile.memory), *found)
    return None


def layout_problem(geometry: MigGeometry, layout: Mapping[str, int]) -> str | None:
    """Why a layout cannot lie on one card, or None: the slices first, then the places NVIDIA lists."""
    problem = geometry.problem(layout)
    if problem is None and place(geometry, layout) is None:
        asked = ", ".join(f"{count} x {name}" for name, count in layout.items())
        return f"{asked}: the slices suffice, but no placement that NVIDIA lists holds all of them"
    return problem
