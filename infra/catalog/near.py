"""The nearest names that are known: for a GPU, a model or anything else that somebody misspelt."""

import difflib
from collections.abc import Iterable, Mapping

from interlock.infra.catalog.gpus import gpus, not_nvidia
from interlock.infra.catalog.models import names


def nearest(wanted: str, known: Mapping[str, str]) -> str:
    """`` (near: a, b)``, or nothing when no name comes near. ``known``: what is compared to what is shown."""
    near = difflib.get_close_matches(wanted, known, n=3, cutoff=0.5)
    return f" (near: {', '.join(known[name] for name in near)})" if near else ""


def near_gpus(wanted: str) -> str:
    """The nearest GPUs of the catalog, in brackets; none for another maker's."""
    if not_nvidia(wanted):
        return ""
    return nearest(wanted.lower(), {one.name.lower(): one.name for one in gpus()})


def near_models(wanted: str) -> str:
    """The nearest models of the catalog, in brackets; the organisation does not count."""
    return nearest(wanted.rsplit("/", 1)[-1].lower(), {name.rsplit("/", 1)[-1].lower(): name for name in names()})


def like(name: str, names: Iterable[str]) -> str:
    """The name that is nearest in letters, or nothing."""
    close = difflib.get_close_matches(name, list(names), 1, 0.8)
    return close[0] if close else ""
