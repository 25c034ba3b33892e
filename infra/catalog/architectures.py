"""Which architectures vLLM serves, from its registry (architectures.json)."""

from functools import cache

from interlock.infra.catalog.tables import table

_FILE = "architectures.json"


@cache
def without_pipeline() -> frozenset[str]:
    """Architectures whose classes cannot be cut into pipeline stages."""
    return frozenset(table(_FILE)["no_pipeline"])


@cache
def known() -> frozenset[str]:
    """Architectures that some version from 0.26 to 0.33 serves with a class of its own, or once did, and those that a family names."""
    named = (name for row in table("families.json")["families"].values() for name in row.get("serves", ()))
    return frozenset(named) | frozenset(table(_FILE)["known"]) | frozenset(table(_FILE)["removed"]) | frozenset(table(_FILE)["plugins"])


def last_version(architecture: str) -> str | None:
    """The last version with a class for an architecture that was removed; None for one that was not."""
    found = table(_FILE)["removed"].get(architecture)
    return str(found) if found else None


def plugin(architecture: str) -> str | None:
    """The plug-in that serves an architecture which vLLM itself does not."""
    found = table(_FILE)["plugins"].get(architecture)
    return str(found) if found else None
