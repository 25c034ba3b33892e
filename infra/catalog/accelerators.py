"""Accelerators by the names that Kubernetes hands them out under: extended resources of device plugins, device classes of DRA drivers."""

from fnmatch import fnmatchcase
from functools import lru_cache

from interlock.infra.catalog.tables import table


@lru_cache(maxsize=4096)
def accelerator(resource: str) -> tuple[str, str] | None:
    """Vendor and unit of a resource or device class (``nvidia.com/gpu``: nvidia, card); None for cpu, memory and the like.

    A unit is a card, slice, share, core or memory.
    """
    lowered = resource.lower()
    rows = table("accelerators.json")["resources"]
    return next(((row["vendor"], row["unit"]) for row in rows if fnmatchcase(lowered, row["pattern"])), None)
